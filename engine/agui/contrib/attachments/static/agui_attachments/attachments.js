// @ts-check
/** The files of the next message, above its text. The first file loads this module. */
import { h, iconButton } from "../agui/dom/elements.js";
import { describe, fileFace, fileList, ownText, readFiles, reasonOf } from "./file-face.js";
import { FILE_STYLE } from "./file-style.js";
import { fileUrl, uploadFile } from "./files.js";
import { reconcile } from "../agui/dom/keyed.js";
import { adopt } from "../agui/dom/own-style.js";
import { signInLink } from "../agui/page/sign-in.js";
import { format } from "../agui/words/strings.js";
import { isFinal, Uploads } from "./uploads.js";

/** @typedef {import("./uploads.js").Upload} Upload */
/**
 * @typedef {{
 *   strings: import("../agui/words/strings.js").Strings,
 *   client: import("../agui/http/client.js").AgentClient,
 *   host: import("../agui/agui-chat.d.ts").AguiChatElement,
 * }} Context
 */

const THUMBNAIL = 96;
const MAX_PICTURE_BYTES = 20_000_000;

/** The words of this module. */
export const ATTACHMENT_WORDS = {
  uploading: "Uploading {name}",
  attached: "{name} is attached.",
  attachFailed: "{name} could not be attached: {reason}",
  retryUpload: "Try {name} again",
  removeFile: "Remove {name}",
};

export class Attachments {
  #context;
  #composer;
  /** @type {Map<Upload, Chip>} */
  #chips = new Map();
  #list;
  #status = h("p", { class: "visually-hidden", role: "status" });
  uploads;

  /**
   * @param {Context} context
   * @param {{ enable: () => void, focus: () => void }} composer its buttons follow the files
   * @param {HTMLElement} box where the files are shown
   */
  constructor(context, composer, box) {
    const { client, host, strings } = (this.#context = context);
    this.#composer = composer;
    /** @type {import("./files.js").Upload} */
    const upload = (...about) => host.upload(...about);
    this.uploads = new Uploads({
      maxBytes: maxBytesOf(host),
      send: (file, options) => uploadFile(host, upload, file, options),
      discard: (id) => client.send(fileUrl(host, id), { method: "DELETE" }),
    });
    this.#list = fileList(strings);
    box.prepend(h("div", { class: "tray" }, this.#list, this.#status));
    adopt(box, FILE_STYLE);
    this.uploads.addEventListener("change", () => this.#render());
    this.uploads.addEventListener("settled", (event) => {
      this.#announce(/** @type {CustomEvent<Upload>} */ (event).detail);
    });
  }

  /**
   * Take back the files of a message. Returns its text without the files' names.
   * @param {string} text @param {unknown} named
   */
  restore(text, named) {
    const files = readFiles(named);
    this.uploads.restore(files);
    return ownText(text, files);
  }

  #render() {
    const chips = reconcile(this.#chips, this.uploads.list, {
      key: (upload) => upload,
      make: (upload) => this.#make(upload),
      drop: (chip) => chip.element.remove(),
    });
    for (const chip of chips) chip.update();
    this.#composer.enable();
  }

  /** @param {Upload} upload */
  #make(upload) {
    const remove = () => {
      const at = this.uploads.list.indexOf(upload);
      this.uploads.remove(upload);
      const next = this.#list.children[Math.min(at, this.#list.children.length - 1)];
      const button = /** @type {HTMLElement | null} */ (next?.querySelector(".remove"));
      if (button) button.focus();
      else this.#composer.focus();
    };
    const retry = () => this.uploads.retry(upload);
    const chip = new Chip(this.#context, upload, { remove, retry });
    this.#list.append(chip.element);
    chip.element.scrollIntoView({ block: "nearest" });
    return chip;
  }

  /** @param {Upload} upload */
  #announce({ name, error }) {
    const { host } = this.#context;
    const strings = { ...ATTACHMENT_WORDS, ...this.#context.strings };
    const reason = error ? reasonOf(error, strings, maxBytesOf(host)) : "";
    const text = error ? strings.attachFailed : strings.attached;
    // Set an equal text, too: screen readers announce it again.
    this.#status.textContent = format(text, { name, reason });
  }
}

/** @param {HTMLElement} host */
const maxBytesOf = (host) => Number(host.dataset.maxUploadBytes);

class Chip {
  #context;
  #upload;
  #note;
  #bar;
  #retry;
  #remove;
  element;

  /**
   * @param {Context} context @param {Upload} upload
   * @param {{ remove: () => void, retry: () => void }} actions
   */
  constructor(context, upload, { remove, retry }) {
    this.#context = context;
    const strings = { ...ATTACHMENT_WORDS, ...context.strings };
    const { name, size, file } = (this.#upload = upload);
    const { face, note, nodes } = fileFace(name, size, strings.lang);
    this.#note = note;
    const uploading = format(strings.uploading, { name });
    this.#bar = h("progress", { max: "1", value: "0", "aria-label": uploading });
    this.#retry = iconButton("retry", format(strings.retryUpload, { name }), () => {
      retry();
      this.#remove.focus();
    });
    const look = { class: "icon-button remove" };
    this.#remove = iconButton("close", format(strings.removeFile, { name }), remove, look);
    const parts = [...nodes, this.#retry, this.#remove, this.#bar];
    this.element = h("li", { class: "file", part: "attachment" }, ...parts);
    if (file?.type.startsWith("image/") && file.size < MAX_PICTURE_BYTES) showPicture(face, file);
  }

  update() {
    const { strings, host } = this.#context;
    const { status, progress, error, name, size } = this.#upload;
    const underWay = ["queued", "uploading"].includes(status);
    if (underWay) this.#bar.value = progress;
    if (this.element.dataset.status === status) return;
    this.element.dataset.status = status;
    this.#bar.hidden = !underWay;
    this.#retry.hidden = !error || isFinal(error);
    if (!error) return this.#note.replaceChildren(describe(name, size, strings.lang));
    const link = signInLink(error, strings, host.dataset.loginUrl);
    this.#note.replaceChildren(reasonOf(error, strings, maxBytesOf(host)));
    if (link) this.#note.append(" ", link);
  }
}

/**
 * Show a small picture instead of the icon, on a canvas: it has no address that a
 * Content-Security-Policy could refuse.
 * @param {HTMLElement} face @param {File} file
 */
async function showPicture(face, file) {
  try {
    const picture = await createImageBitmap(file);
    const { width, height } = picture;
    const side = Math.min(width, height);
    const canvas = h("canvas", { width: THUMBNAIL, height: THUMBNAIL, "aria-hidden": "true" });
    const left = (width - side) / 2;
    const top = (height - side) / 2;
    const place = canvas.getContext("2d");
    place?.drawImage(picture, left, top, side, side, 0, 0, THUMBNAIL, THUMBNAIL);
    picture.close();
    face.replaceChildren(canvas);
  } catch {
    // The browser can't decode every picture. The icon then stays.
  }
}
