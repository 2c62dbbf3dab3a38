// @ts-check
/** The files of the message in the input. The first one loads attachments.js. */

export class ComposerFiles {
  #context;
  #composer;
  #box;
  #isComing = false;
  /** @type {import("./attachments.js").Attachments | undefined} */
  #files;

  /**
   * @param {import("./composer.js").Context} context
   * @param {{ enable: () => void, focus: () => void }} composer
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
   * @param {string} content @param {import("./types.d.ts").Attachment[]} attachments
   */
  async restore(content, attachments) {
    return (await this.#load())?.restore(content, attachments);
  }

  async #load() {
    this.#isComing = true;
    this.#composer.enable();
    const module = await this.#context.load(() => import("./attachments.js"));
    if (module && !this.#files) {
      const focus = () => this.#composer.focus();
      const files = new module.Attachments({ ...this.#context, focus });
      files.uploads.addEventListener("change", () => this.#composer.enable());
      this.#box.prepend(files.element);
      this.#files = files;
    }
    this.#isComing = false;
    this.#composer.enable();
    return this.#files;
  }
}
