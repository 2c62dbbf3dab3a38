// @ts-check
/**
 * What the browser keeps for one user at one endpoint: which thread is open, remembered where data-thread-memory says
 * ("session", "url" or "none"), what is being written, and what is on its way to the server.
 */

const PREFIX = "agui-chat:";
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

  /** All of it begins like this, in both storages. */
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
    return this.#where === "url" ? new URL(location.href).searchParams.get("thread") : this.#get("thread");
  }

  /** @param {string | null} threadId @param {{ anew?: boolean }} [options] anew: without a way back to what was there */
  write(threadId, { anew = false } = {}) {
    if (this.isOff) return;
    if (this.#where !== "url") return this.#set("thread", threadId);
    const url = new URL(location.href);
    if (threadId) url.searchParams.set("thread", threadId);
    else url.searchParams.delete("thread");
    if (url.href !== location.href) history[anew ? "replaceState" : "pushState"](null, "", url);
  }

  /** What is being written in a thread, or for a new one. @param {string | null} threadId */
  draft(threadId) {
    return this.#get(`draft:${threadId ?? ""}`) ?? "";
  }

  /** @param {string | null} threadId @param {string} text */
  keepDraft(threadId, text) {
    this.#set(`draft:${threadId ?? ""}`, text);
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
      // Not allowed: then it holds until the page is left
    }
  }

  /** What this tab has to finish in a thread: see Session. @param {string} threadId @returns {any} */
  unfinished(threadId) {
    return JSON.parse(this.#get(`unfinished:${threadId}`) ?? "null");
  }

  /** @param {string} threadId @param {any} work */
  finishLater(threadId, work) {
    this.#set(`unfinished:${threadId}`, work && JSON.stringify(work));
  }

  /** Remove all that is kept, of everybody or of everybody but the present user. @param {{ butMine?: boolean }} [options] */
  forget({ butMine = false } = {}) {
    for (const storage of [sessionStorage, localStorage]) {
      for (const key of Object.keys(storage)) {
        if (key.startsWith(this.#endpointKey) && !(butMine && key.startsWith(this.key))) storage.removeItem(key);
      }
    }
  }

  /** @param {string} name */
  #get(name) {
    return this.isOff ? null : sessionStorage.getItem(this.key + name);
  }

  /** @param {string} name @param {string | null} value */
  #set(name, value) {
    if (this.isOff) return;
    try {
      if (value) sessionStorage.setItem(this.key + name, value);
      else sessionStorage.removeItem(this.key + name);
    } catch (error) {
      console.warn("agui-chat:", error); // Full, or not allowed: the chat works, it only forgets
    }
  }
}
