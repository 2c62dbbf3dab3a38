// @ts-check
/**
 * Place the chat on another page: floating in a corner, or docked as a column at the side. On a
 * phone, both are a modal sheet over the whole page. The attribute `placement` loads this module.
 */
import { closeOnBack } from "../dom/back.js";
import { h, icon, setAttribute } from "../dom/elements.js";

const PHONE = "(max-width: 600px), (max-height: 480px)";
/** A docked chat leaves at least this share of the window to the page. */
const SHARE = 0.5;
/** From this width on, the page has room beside the column. */
const WIDE = "(min-width: 60rem)";
const NARROWEST = 280;
const STEP = 24;
const WIDTH_KEY = "agui-chat:width";
const BUBBLE =
  "M5 4.5h14A1.5 1.5 0 0 1 20.5 6v9.5A1.5 1.5 0 0 1 19 17h-7.5L7 20.5V17H5a1.5 " +
  "1.5 0 0 1-1.5-1.5V6A1.5 1.5 0 0 1 5 4.5z";

/** In English; the tables of other languages have these, too. */
export const PLACEMENT_WORDS = {
  launcher: "Open the chat",
  launcherNews: "Open the chat: there is a new answer",
  resize: "Width of the chat",
};

export class Placement {
  #host;
  #panel;
  #strings;
  #phone = matchMedia(PHONE);
  #wide = matchMedia(WIDE);
  #launcher;
  #edge;
  #frame;
  #listeners = new AbortController();
  /** @type {boolean | undefined} */
  #collapsed;
  #scrolls = "";
  #release = () => {};

  /**
   * @param {import("../agui-chat.d.ts").AguiChatElement} host @param {HTMLElement} panel
   * @param {import("../words/strings.js").Strings} strings
   */
  constructor(host, panel, strings) {
    this.#host = host;
    this.#panel = panel;
    const words = (this.#strings = { ...PLACEMENT_WORDS, ...strings });
    const onclick = () => host.toggle(false);
    const look = { type: "button", class: "launcher", part: "launcher", hidden: true, onclick };
    const face = h("slot", { name: "launcher" }, icon("chat", BUBBLE));
    this.#launcher = h("button", look, face);
    this.#edge = h("div", {
      class: "edge",
      part: "edge",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": words.resize,
      "aria-valuemin": NARROWEST,
      onkeydown: (event) => this.#resizeByKey(event),
      onpointerdown: (event) => this.#drag(event),
      ondblclick: () => this.#resize(null),
    });
    const frame = { class: "frame", part: "frame", "aria-label": strings.title };
    this.#frame = h("dialog", { ...frame, onclose: () => this.#closed() }, this.#edge);
    host.addEventListener("ag-ui-run-finished", () => this.#mark(this.#collapsed));
    const stored = read(sessionStorage, this.#key);
    // On a phone, an open chat would cover the page that the user has asked for.
    const isClosed = stored === "closed" || this.#phone.matches;
    if (stored) host.toggleAttribute("collapsed", isClosed);
    this.#mark(false);
  }

  get #key() {
    const endpoint = this.#host.getAttribute("endpoint");
    const user = this.#host.getAttribute("user-key") ?? "";
    return `agui-chat:${endpoint}:${user}:placement`;
  }

  get #isDocked() {
    return this.#host.getAttribute("placement") === "docked";
  }

  /** Watch the window from now on, because the element is in the document. */
  connect() {
    const { signal } = (this.#listeners = new AbortController());
    document.addEventListener("visibilitychange", () => this.#ask(), { signal });
    for (const query of [this.#phone, this.#wide]) {
      query.addEventListener("change", () => this.update(), { signal });
    }
    const sizes = new ResizeObserver(() => this.#push());
    sizes.observe(this.#frame);
    signal.addEventListener("abort", () => sizes.disconnect());
    for (const type of ["resize", "scroll"]) {
      visualViewport?.addEventListener(type, () => this.#fit(), { signal });
    }
    this.update();
    this.#ask();
  }

  /** Restore the page as it was. */
  disconnect() {
    this.#listeners.abort();
    this.#hold(false);
    document.documentElement.style.removeProperty("--agui-docked-width");
  }

  /** Apply the attributes `placement` and `collapsed`. */
  update() {
    const root = /** @type {ShadowRoot} */ (this.#host.shadowRoot);
    const placed = ["floating", "docked"].includes(this.#host.getAttribute("placement") ?? "");
    const collapsed = placed && this.#host.hasAttribute("collapsed");
    if (placed !== this.#frame.contains(this.#panel)) this.#move(root, placed);
    this.#launcher.hidden = !collapsed;
    this.#edge.hidden = !this.#isDocked;
    this.#show(root, placed && !collapsed, this.#phone.matches);
    const isChange = this.#collapsed !== undefined && collapsed !== this.#collapsed;
    if (isChange) write(sessionStorage, this.#key, collapsed ? "closed" : "open");
    this.#collapsed = collapsed;
    if (!collapsed) this.#mark(false);
    this.#resize(Number(read(localStorage, WIDTH_KEY)) || null);
    this.#fit();
  }

  /** @param {ShadowRoot} root @param {boolean} placed */
  #move(root, placed) {
    if (placed) {
      this.#frame.append(this.#panel);
      root.append(this.#frame, this.#launcher);
    } else {
      root.append(this.#panel);
      this.#frame.remove();
      this.#launcher.remove();
    }
  }

  /** @param {ShadowRoot} root @param {boolean} open @param {boolean} modal */
  #show(root, open, modal) {
    this.#hold(open && modal);
    if (open === this.#frame.open && (!open || modal === this.#frame.matches(":modal"))) return;
    const focused = /** @type {HTMLElement | null} */ (root.activeElement);
    this.#frame.classList.toggle("moves", this.#collapsed === open);
    this.#release();
    this.#frame.close();
    // This is not show(), because an open chat must not take the focus from the page.
    this.#frame.autofocus = open && modal; // Focus the sheet itself, not its first button.
    if (open && modal) {
      this.#frame.showModal();
      this.#release = closeOnBack(() => this.#host.toggle(true));
    } else this.#frame.open = open;
    if (open && this.#panel.contains(focused)) focused?.focus();
  }

  /** The user has closed the sheet by a gesture or key. */
  #closed() {
    if (!this.#frame.open && !this.#collapsed) this.#host.toggle(true);
  }

  /** Keep the page behind a sheet from scrolling. @param {boolean} held */
  #hold(held) {
    if (held === (document.documentElement.style.overflow === "clip")) return;
    if (held) this.#scrolls = document.documentElement.style.overflow;
    document.documentElement.style.overflow = held ? "clip" : this.#scrolls;
  }

  /** Shrink the sheet above an on-screen keyboard. Not every browser does that in CSS. */
  #fit() {
    const { height, offsetTop, scale } = visualViewport ?? { height: 0, offsetTop: 0, scale: 0 };
    const fits = scale === 1 && this.#frame.matches(":modal");
    this.#frame.style.setProperty("--_height", fits ? `${height}px` : "");
    this.#frame.style.setProperty("--_top", fits ? `${offsetTop}px` : "");
  }

  /** Show on the launcher that there is an unread answer. @param {boolean | undefined} unread */
  #mark(unread) {
    const { launcher, launcherNews } = this.#strings;
    this.#launcher.classList.toggle("news", unread);
    setAttribute(this.#launcher, "aria-label", unread ? launcherNews : launcher);
  }

  /** Check all threads for unread answers. */
  async #ask() {
    const { client, threadId } = this.#host;
    if (document.hidden || !client.hasThreads) return;
    const { threads } = await client.threads({ limit: 10 }).catch(() => ({ threads: [] }));
    /** @type {{ unread: boolean, thread_id: string }[]} */
    const rows = threads;
    const unread = rows.filter((thread) => thread.unread);
    if (unread.length && this.#collapsed) this.#mark(true);
    const isElsewhere = unread.some((thread) => thread.thread_id !== threadId);
    this.#panel.classList.toggle("news", isElsewhere);
  }

  // --- The width of a docked chat

  /** @param {number | null} width in pixels; null is the width of the stylesheet */
  #resize(width) {
    const most = Math.max(NARROWEST, Math.floor(document.documentElement.clientWidth * SHARE));
    const pixels = Math.round(Math.min(Math.max(width ?? 0, NARROWEST), most));
    this.#frame.style.setProperty("--_docked", width ? `${pixels}px` : null);
    setAttribute(this.#edge, "aria-valuemax", most);
    this.#push();
  }

  /** Let the page make room. */
  #push() {
    const width = this.#frame.offsetWidth;
    const pushes = this.#isDocked && this.#frame.open && !this.#phone.matches && this.#wide.matches;
    const { style } = document.documentElement;
    style.setProperty("--agui-docked-width", pushes ? `${width}px` : "0px");
    if (width) setAttribute(this.#edge, "aria-valuenow", width);
  }

  #keep() {
    write(localStorage, WIDTH_KEY, String(this.#frame.offsetWidth));
  }

  /** @param {KeyboardEvent} event */
  #resizeByKey(event) {
    const { key } = event;
    const width = this.#frame.offsetWidth;
    const step = key === (this.#isMirrored ? "ArrowRight" : "ArrowLeft") ? STEP : -STEP;
    if (key === "Enter") this.#host.toggle(true);
    else if (key === "ArrowLeft" || key === "ArrowRight") this.#resize(width + step);
    else if (key === "Home" || key === "End") this.#resize(key === "Home" ? NARROWEST : Infinity);
    else return;
    event.preventDefault();
    if (key !== "Enter") this.#keep();
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (event.button) return;
    event.preventDefault();
    const { signal } = this.#listeners;
    const done = new AbortController();
    /** @param {PointerEvent} event */
    const move = ({ clientX }) => {
      const fromEnd = document.documentElement.clientWidth - clientX;
      this.#resize(this.#isMirrored ? clientX : fromEnd);
    };
    const end = () => {
      done.abort();
      this.#keep();
    };
    this.#edge.setPointerCapture(event.pointerId);
    const either = AbortSignal.any([signal, done.signal]);
    this.#edge.addEventListener("pointermove", move, { signal: either });
    for (const type of ["pointerup", "pointercancel"]) {
      this.#edge.addEventListener(type, end, { once: true, signal: done.signal });
    }
  }

  get #isMirrored() {
    return getComputedStyle(this.#frame).direction === "rtl";
  }
}

// A browser may refuse to store anything. The chat then forgets the width.

/** @param {Storage} storage @param {string} key */
function read(storage, key) {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {Storage} storage @param {string} key @param {string} value */
function write(storage, key, value) {
  try {
    storage.setItem(key, value);
  } catch {
    // The browser stores nothing, as above.
  }
}
