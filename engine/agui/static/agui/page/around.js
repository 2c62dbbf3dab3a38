// @ts-check
/** What users find around the messages, and the keys for it. ways.js loads it. */
import { modulesFor } from "../dom/lazy.js";

/** @typedef {import("../types.d.ts").PageContext} Context */
/** @typedef {typeof import("./ways.js").WAYS} Ways */
/** @typedef {keyof Ways} Way */

/** The key of commands: Ctrl, or Cmd on a Mac. Which of Ctrl, Cmd, Alt and Shift are held. */
const COMMAND = /^Mac/.test(navigator.platform) ? "0100" : "1000";

export class Around {
  #context;
  load;
  #stop = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.load = context.load;
    const { host, log } = context;
    if (host.dataset.models) this.go("models");
    const attend = async () => {
      if (!host.threadId) return;
      host.session.removeEventListener("change", attend);
      for (const { attend: join } of await modulesFor(host, "thread")) join(context);
    };
    host.session.addEventListener("change", attend);
    const select = () => {
      if (`${getSelection()}`.trim()) this.go("selection");
    };
    for (const type of ["pointerup", "keyup"]) log.addEventListener(type, select);
  }

  /** @param {typeof import("../messages/reading.js").READING | void} reading once it is loaded */
  offer(reading) {
    reading?.offerWays(this.#context, (name, about) => this.go(name, about));
  }

  connect() {
    const { host } = this.#context;
    const { signal } = (this.#stop = new AbortController());
    document.addEventListener("keydown", (event) => this.#keydown(event), { signal });
    const ended = async () => {
      for (const { ended } of await modulesFor(host, "run")) ended(host);
    };
    host.session.addEventListener("end", ended, { signal });
    const leave = () => {
      if (document.hidden && host.session.busy) this.go("leave");
    };
    document.addEventListener("visibilitychange", leave, { signal });
  }

  disconnect() {
    this.#stop.abort();
  }

  /**
   * Load what the user wants, and show it.
   * @template {Way} Name
   * @param {Name} name
   * @param {Parameters<Ways[Name]> extends [Context, ...infer About] ? About : never} about
   */
  async go(name, ...about) {
    const module = await this.load(() => import("./ways.js"));
    /** @type {((context: Context, ...about: unknown[]) => ReturnType<Ways[Name]>) | undefined} */
    const way = /** @type {any} */ (module?.WAYS[name]);
    return way?.(this.#context, ...about);
  }

  /** A key counts that is pressed in the chat, or nowhere, and that nobody else has handled. */
  #keydown(/** @type {KeyboardEvent} */ event) {
    const { panel } = this.#context;
    const path = event.composedPath();
    const target = /** @type {HTMLElement} */ (path[0]);
    const isInside = path.includes(panel);
    if (!isInside && target !== document.body) return;
    if (event.defaultPrevented || !panel.offsetParent) return;
    const { key, code, ctrlKey, metaKey, altKey, shiftKey } = event;
    const isWriting = target.isContentEditable || target.matches("input, textarea, select");
    const held = [ctrlKey, metaKey, altKey].map(Number).join("");
    // On a Mac and in other alphabets, these keys write other signs.
    const letter = /^[a-z]$/i.test(key) ? key : code.slice(3);
    /** @type {Record<string, false | "commands" | "find" | "newChat" | "shortcuts" | "input">} */
    const ways = {
      [`${COMMAND}k`]: "commands",
      [`${COMMAND}f`]: isInside && "find",
      "0011n": "newChat",
      "?": !isWriting && "shortcuts",
      "/": !isWriting && "input",
    };
    const way = ways[held === "000" ? key : held + Number(shiftKey) + letter.toLowerCase()];
    if (!way) return;
    event.preventDefault();
    this.go(way);
  }
}
