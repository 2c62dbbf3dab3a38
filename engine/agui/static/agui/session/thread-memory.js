// @ts-check
/**
 * What the browser keeps for one user at one endpoint: which thread is open, remembered where
 * data-thread-memory says
 * ("session", "url" or "none"), what is being written, and what is on its way to the server.
 */

const PREFIX = "agui-chat:";
/** Drafts that outlive their tab: so many, and none that is longer. */
const MAX_DRAFTS = 20;
const MAX_DRAFT_CHARS = 50_000;
const SIDEBAR = "agui-chat:sidebar";

export class ThreadMemory {
  #host;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.#host = host;
  }

  get #where() {
    return this.#host.dataset.threadMemory;
  }

  /** The prefix of all keys in both storages. */
  get key() {
    return `${this.#endpointKey}${encodeURIComponent(this.#host.getAttribute("user-key") ?? "")}:`;
  }

  get #endpointKey() {
    return `${PREFIX}${encodeURIComponent(this.#host.getAttribute("endpoint") ?? "")}:`;
  }

  get isOff() {
    return this.#where === "none";
  }

  /** @returns {string | null} */
  read() {
    return this.#where === "url"
      ? new URL(location.href).searchParams.get("thread")
      : this.#get("thread");
  }

  /**
   * @param {string | null} threadId
   * @param {{ anew?: boolean }} [options] anew: without a way back to what was there
   */
  write(threadId, { anew = false } = {}) {
    if (this.isOff) return;
    if (this.#where !== "url") return this.#set("thread", threadId);
    const url = new URL(location.href);
    if (threadId) url.searchParams.set("thread", threadId);
    else url.searchParams.delete("thread");
    // The thread takes the place of a step that was for what covered the chat (back.js).
    const replaces = anew || history.state?.aguiLayer;
    if (url.href !== location.href) history[replaces ? "replaceState" : "pushState"](null, "", url);
  }

  /** Return the address of a thread; null if it has none. @param {string} threadId */
  hrefOf(threadId) {
    if (this.#where !== "url") return null;
    const url = new URL(location.href);
    url.searchParams.set("thread", threadId);
    return url.href;
  }

  /**
   * Return the draft of a thread, or of a new one: the one of this tab, or the newest of any tab.
   * @param {string | null} threadId
   */
  draft(threadId) {
    const id = threadId ?? "";
    return this.#get(`draft:${id}`) ?? this.#drafts.find(([key]) => key === id)?.[1] ?? "";
  }

  /** @param {string | null} threadId @param {string} text */
  keepDraft(threadId, text) {
    const id = threadId ?? "";
    const kept = text.length > MAX_DRAFT_CHARS ? "" : text;
    const others = this.#drafts.filter(([key]) => key !== id);
    const drafts = (kept ? [[id, kept], ...others] : others).slice(0, MAX_DRAFTS);
    this.#set(`draft:${id}`, kept);
    this.note("drafts", drafts.length ? JSON.stringify(drafts) : "");
  }

  /** The newest first. @returns {[string, string][]} */
  get #drafts() {
    try {
      return JSON.parse(this.noted("drafts") ?? "[]");
    } catch {
      return [];
    }
  }

  /**
   * What the browser keeps for the user, by default after the tab is closed, too.
   * @param {string} name
   */
  noted(name, storage = localStorage) {
    return this.#get(name, storage);
  }

  /** @param {string} name @param {string} value */
  note(name, value, storage = localStorage) {
    this.#set(name, value, storage);
  }

  /** Whether the list of conversations stays beside the chat, for all users of this device. */
  get sidebar() {
    try {
      return localStorage.getItem(SIDEBAR) === "open";
    } catch {
      return false;
    }
  }

  set sidebar(open) {
    try {
      localStorage.setItem(SIDEBAR, open ? "open" : "closed");
    } catch {
      // The browser allows no storage, so keep it until the page closes.
    }
  }

  /**
   * Return what this tab has to finish in a thread (session.js).
   * @param {string} threadId @returns {import("../types.d.ts").Unfinished | null}
   */
  unfinished(threadId) {
    return JSON.parse(this.#get(`unfinished:${threadId}`) ?? "null");
  }

  /** @param {string | null} threadId @param {object | null} work */
  finishLater(threadId, work) {
    if (threadId) this.#set(`unfinished:${threadId}`, work && JSON.stringify(work));
  }

  /**
   * Remove what the browser keeps of all users, or of all others.
   * @param {{ butMine?: boolean }} [options]
   */
  forget({ butMine = false } = {}) {
    for (const storage of [sessionStorage, localStorage]) {
      for (const key of Object.keys(storage)) {
        if (key.startsWith(this.#endpointKey) && !(butMine && key.startsWith(this.key)))
          storage.removeItem(key);
      }
    }
  }

  /** @param {string} name */
  #get(name, storage = sessionStorage) {
    return this.isOff ? null : storage.getItem(this.key + name);
  }

  /** @param {string} name @param {string | null} value */
  #set(name, value, storage = sessionStorage) {
    if (this.isOff) return;
    try {
      if (value) storage.setItem(this.key + name, value);
      else storage.removeItem(this.key + name);
    } catch (error) {
      // The storage is full or not allowed. The chat works without it.
      console.warn("agui-chat:", error);
    }
  }
}
