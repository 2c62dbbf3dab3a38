// @ts-check
/** The files of the message in the input. The first one loads the module of the part. */
import { moduleOf } from "../dom/lazy.js";

export class ComposerFiles {
  #context;
  #composer;
  #box;
  #isComing = false;
  /** @type {import("../../agui_attachments/attachments.js").Attachments | undefined} */
  #files;

  /**
   * @param {import("./composer.js").Context} context
   * @param {import("./composer.js").Composer} composer
   * @param {HTMLElement} box where the files are shown
   */
  constructor(context, composer, box) {
    this.#context = context;
    this.#composer = composer;
    this.#box = box;
  }

  /** Are files still on their way? */
  get areOpen() {
    return this.#isComing || Boolean(this.#files?.uploads.open);
  }

  /** Those that a message can have. */
  get ready() {
    return this.#files?.uploads.ready ?? [];
  }

  clear() {
    this.#files?.uploads.clear();
  }

  /** Upload files for the message. @param {Iterable<File>} files */
  async add(files) {
    (await this.#load())?.uploads.add(files);
  }

  /**
   * Put the files of a message back; its text without the names of the files.
   * @param {string} content @param {import("../types.d.ts").Attachment[]} attachments
   */
  async restore(content, attachments) {
    return (await this.#load())?.restore(content, attachments);
  }

  async #load() {
    this.#isComing = true;
    this.#composer.enable();
    const { host, load } = this.#context;
    const module = await moduleOf(host, "attachments", load);
    if (module) this.#files ??= new module.Attachments(this.#context, this.#composer, this.#box);
    this.#isComing = false;
    this.#composer.enable();
    return this.#files;
  }
}
