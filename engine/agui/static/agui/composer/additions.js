// @ts-check
/** What parts add to the message that the user is writing: files, a microphone. */
import { joinAll, modulesFor } from "../dom/lazy.js";

/** The buttons of parts come with the others, unless they take longer. */
const PATIENCE_MS = 300;

export class Additions {
  /** @type {import("../types.d.ts").Addition[]} */
  #all = [];
  /** Settles when the parts have added what they have. */
  joined;
  /** Settles then, too, but not late: the chat is not shown before. */
  soon;

  /**
   * @param {import("./composer.js").Composer} composer
   * @param {import("./composer.js").Context} context
   */
  constructor(composer, context) {
    this.joined = this.#join(composer, context);
    const late = new Promise((settle) => setTimeout(settle, PATIENCE_MS));
    this.soon = Promise.race([this.joined, late]);
  }

  /** @param {ConstructorParameters<typeof Additions>} about */
  async #join(...[composer, context]) {
    this.#all = joinAll(await modulesFor(context.host, "composer"), composer, context);
    composer.enable();
  }

  /** Why the message can't be sent yet, in words. */
  get held() {
    return this.#all.find(({ held }) => held)?.held;
  }

  get attachments() {
    return this.#all.flatMap(({ attachments }) => attachments ?? []);
  }

  clear() {
    for (const addition of this.#all) addition.clear?.();
  }

  rest() {
    for (const addition of this.#all) addition.rest?.();
  }

  /** @param {Iterable<File>} files */
  async attach(files) {
    await this.joined;
    for (const addition of this.#all) await addition.attach?.(files);
  }

  /**
   * Take back what a message has beside its text; returns the text without it.
   * @param {string} text @param {import("../types.d.ts").Metadata} metadata
   */
  async restore(text, metadata) {
    await this.joined;
    for (const addition of this.#all) text = (await addition.restore?.(text, metadata)) ?? text;
    return text;
  }
}
