// @ts-check
/** The menu of a conversation in the list: all that users do with it. */
import { closeOnBack } from "../dom/back.js";
import { h, isTouch } from "../dom/elements.js";
import { format } from "../words/strings.js";
import { fileName, toMarkdown } from "../messages/thread-markdown.js";

/** In English; the tables of other languages have these, too. */
export const MENU_WORDS = {
  rename: "Rename",
  remove: "Delete",
  pin: "Pin",
  unpin: "Unpin",
  archive: "Archive",
  unarchive: "Restore from the archive",
  saveMarkdown: "Save as Markdown",
  archivedOne: "“{title}” was archived.",
  unarchivedOne: "“{title}” was restored from the archive.",
  markFailed: "“{title}” could not be changed.",
  saveFailed: "“{title}” could not be saved.",
};

/** @typedef {import("./pages.js").Thread} Thread */
/** @typedef {import("../words/strings.js").Strings & typeof MENU_WORDS} Words */
/** @typedef {{ pinned?: boolean, archived?: boolean }} Marks */
/**
 * @typedef {{
 *   strings: import("../words/strings.js").Strings,
 *   client: import("../http/client.js").AgentClient,
 *   pages: import("./pages.js").ThreadPages, list: import("./list.js").ThreadList,
 *   search: HTMLElement, changed: () => void, tell: (text: string) => void,
 *   remove: (thread: Thread) => void,
 *   offer: (text: string, undo: () => void) => void,
 * }} Context tell: what went wrong; offer: to take something back
 */

const GAP_PIXELS = 4;

export class ThreadMenu {
  #context;
  /** @type {Words} */
  #words;
  /** @type {HTMLElement | undefined} */
  #button;
  #release = () => {};
  element;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#words = { ...MENU_WORDS, ...context.strings };
    this.element = h("div", {
      class: "menu", part: "menu", role: "menu", popover: "auto",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#keydown(event),
      ontoggle: (/** @type {ToggleEvent} */ { newState }) => this.#toggled(newState === "open"),
    });
  }

  /** @param {Thread} thread @param {HTMLElement} button beside which the menu opens */
  open(thread, button) {
    const { rename, pin, unpin, archive, unarchive, saveMarkdown, remove } = this.#words;
    const { list, remove: removeThread } = this.#context;
    const { pinned, archived } = thread;
    this.#button = button;
    this.element.replaceChildren(
      this.#item(rename, () => list.rename(thread)),
      this.#item(pinned ? unpin : pin, () => this.#mark(thread, { pinned: !pinned })),
      this.#item(archived ? unarchive : archive, () => this.#mark(thread, { archived: !archived })),
      this.#item(saveMarkdown, () => this.#save(thread)),
      this.#item(remove, () => removeThread(thread), "danger"),
    );
    button.after(this.element);
    this.element.showPopover();
    this.#place(button.getBoundingClientRect());
    this.#items[0].focus();
  }

  /** Below the button, or above it if there is no room. @param {DOMRect} at */
  #place({ top, bottom, left, right }) {
    const { offsetWidth: width, offsetHeight: height, style } = this.element;
    const isRight = this.element.matches(":dir(rtl)");
    const x = isRight ? Math.min(left, innerWidth - width - GAP_PIXELS) : right - width;
    const below = bottom + GAP_PIXELS;
    style.left = `${Math.max(GAP_PIXELS, x)}px`;
    const above = Math.max(0, top - height - GAP_PIXELS);
    style.top = `${below + height > innerHeight ? above : below}px`;
  }

  /** @param {string} label @param {() => void} choose @param {string} [look] */
  #item(label, choose, look) {
    const onclick = () => {
      this.close();
      choose();
    };
    const role = { role: "menuitem", tabindex: "-1", class: look };
    return h("button", { type: "button", onclick, ...role }, label);
  }

  close() {
    if (this.element.isConnected) this.element.hidePopover();
  }

  /** @returns {HTMLElement[]} */
  get #items() {
    return /** @type {HTMLElement[]} */ ([...this.element.children]);
  }

  /** @param {boolean} isOpen */
  #toggled(isOpen) {
    this.#button?.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && isTouch()) this.#release = closeOnBack(() => this.close());
    else if (!isOpen) this.#release();
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    event.stopPropagation();
    const items = this.#items;
    const at = items.indexOf(/** @type {HTMLElement} */ (event.target));
    const { key } = event;
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const to = steps[/** @type {keyof typeof steps} */ (key)];
    if (to !== undefined) items.at(to % items.length)?.focus();
    else if (key === "Escape" || key === "Tab") this.#leave();
    else return;
    event.preventDefault();
  }

  #leave() {
    this.close();
    this.#button?.focus();
  }

  /** @param {Thread} thread @param {Marks} marks */
  async #mark(thread, marks) {
    const { pages, list, search, changed, tell, offer } = this.#context;
    const { thread_id: id } = thread;
    const title = list.titleOf(thread);
    const next = list.besides(id);
    try {
      await pages.mark(id, marks);
    } catch {
      return tell(format(this.#words.markFailed, { title }));
    }
    changed();
    if (!list.focus(id) && !list.focus(next)) search.focus();
    const { archived } = marks;
    if (archived === undefined) return;
    const { archivedOne, unarchivedOne } = this.#words;
    const undo = () => this.#mark({ ...thread, ...marks }, { archived: !archived });
    offer(format(archived ? archivedOne : unarchivedOne, { title }), undo);
  }

  /** @param {Thread} thread */
  async #save(thread) {
    const { client, list, tell } = this.#context;
    try {
      const stored = await client.thread(thread.thread_id);
      download(fileName(stored.title), toMarkdown(stored, this.#words));
    } catch (error) {
      console.warn("agui-chat:", error);
      tell(format(this.#words.saveFailed, { title: list.titleOf(thread) }));
    }
    this.#button?.focus();
  }
}

/** @param {string} name @param {string} text */
function download(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/markdown;charset=utf-8" }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href));
}
