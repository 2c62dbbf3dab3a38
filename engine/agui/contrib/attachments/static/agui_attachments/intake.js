// @ts-check
/**
 * How files come into a message: the user picks, drops or pastes them. The first one loads what
 * uploads and shows them.
 */
import { h, iconButton } from "../agui/dom/elements.js";

/** @typedef {import("../agui/composer/composer.js").Composer} Composer */
/** @typedef {import("../agui/composer/composer.js").Context} Context */
/** @typedef {import("./attachments.js").Attachments} Attachments */

/** In English; the tables of other languages have these, too. */
export const INTAKE_WORDS = {
  attach: "Attach files",
  dropFiles: "Drop the files to attach them",
  filesOpen: "Wait for the files, or remove those that failed",
};

const CLIP =
  "m20 11-8.3 8.3a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7l-8.2 8.2a1.7 1.7 0 0 1-2.4-2.4L14.6 7";

/**
 * Let the user add files to what they write.
 * @param {Composer} composer @param {Context} context
 */
export function join(composer, context) {
  if (!context.host.dataset.attachmentsUrl) return undefined;
  const files = new Intake(composer, context);
  const input = h("input", { type: "file", multiple: true, hidden: true });
  input.addEventListener("change", () => {
    files.attach([...(input.files ?? [])]);
    input.value = ""; // The user may pick the same file again.
  });
  const look = { part: "attach" };
  composer.input.after(
    iconButton("attach", files.words.attach, () => input.click(), look, CLIP), input,
  );
  const panel = /** @type {HTMLElement} */ (composer.element.closest(".panel"));
  panel.dataset.drop = files.words.dropFiles;
  /** @param {DragEvent & ClipboardEvent} event */
  const receive = (event) => {
    const { files: all = [], types = [] } = event.dataTransfer ?? event.clipboardData ?? {};
    if (!holdsFiles(event.type, types)) return;
    event.preventDefault();
    if (event.type !== "dragover") files.attach([...all]);
    files.hold(panel, event.type === "dragover");
  };
  for (const type of ["dragover", "drop", "paste"]) {
    panel.addEventListener(type, /** @type {EventListener} */ (receive));
  }
  panel.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!panel.contains(/** @type {Node | null} */ (relatedTarget))) files.hold(panel, false);
  });
  return files;
}

class Intake {
  #composer;
  #context;
  #isComing = false;
  /** @type {Attachments | undefined} */
  #files;
  words;

  /** @param {Composer} composer @param {Context} context */
  constructor(composer, context) {
    this.#composer = composer;
    this.#context = context;
    this.words = { ...INTAKE_WORDS, ...context.strings };
  }

  /** Why the message has to wait: its files are still on their way. */
  get held() {
    return this.#isComing || this.#files?.uploads.open ? this.words.filesOpen : "";
  }

  get attachments() {
    return this.#files?.uploads.ready ?? [];
  }

  clear() {
    this.#files?.uploads.clear();
  }

  /** @param {Iterable<File>} files */
  async attach(files) {
    (await this.#load())?.uploads.add(files);
    this.#composer.invite();
  }

  /**
   * Put the files of a message back; its text without the names of the files.
   * @param {string} text @param {import("../agui/types.d.ts").Metadata} metadata
   */
  async restore(text, { attachments }) {
    return attachments && (await this.#load())?.restore(text, attachments);
  }

  /** Show that files are held over the chat. @param {HTMLElement} panel @param {boolean} is */
  hold(panel, is) {
    if (is && !panel.matches(".dropping")) this.#load(); // It brings the style.
    panel.classList.toggle("dropping", is);
  }

  async #load() {
    this.#isComing = true;
    this.#composer.enable();
    const module = await this.#context.load(() => import("./attachments.js"));
    if (module) {
      this.#files ??= new module.Attachments(this.#context, this.#composer, this.#composer.box);
    }
    this.#isComing = false;
    this.#composer.enable();
    return this.#files;
  }
}

/**
 * Office programs copy a text together with a picture of it: take the text.
 * @param {string} event @param {readonly string[]} types
 */
export function holdsFiles(event, types) {
  const isText = event === "paste" && types.includes("text/plain") && types.includes("text/html");
  return types.includes("Files") && !isText;
}
