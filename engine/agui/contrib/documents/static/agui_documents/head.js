// @ts-check
/** The head of the panel: what the document is, its versions, and what users do with it. */
import { copyText } from "../agui/dom/copy.js";
import { h, icon, iconButton, setAttribute, setText } from "../agui/dom/elements.js";
import { saveFile } from "../agui/dom/save.js";
import { Versions } from "../agui/messages/versions.js";
import { format } from "../agui/words/strings.js";
import { addressOnSite, extensionOf } from "./versions.js";
import { KINDS_SHOWN, titleOf } from "./words.js";

/** @typedef {import("./versions.js").Version} Version */
/** @typedef {import("./body.js").Body} Body */
/**
 * @typedef {{
 *   turnTo: (messageId: string) => void, say: (words: string) => void, close: () => void,
 * }} Actions
 */

const SAID_MS = 2000;
const SAVE = "M12 4v11M7 10.5l5 5 5-5M5 19.5h14";
const OUT = "M13.5 5H19v5.5M19 5l-8.5 8.5M10 6H5.5v12.5H18V14";

export class DocumentHead {
  #words;
  #say;
  #title = h("h2", { dir: "auto" });
  #about = h("p");
  #versions;
  #copy;
  #save;
  #out = h("a", { target: "_blank", rel: "noopener" }, icon("out", OUT));
  /** @type {Version | undefined} */
  #version;
  /** @type {Body | undefined} */
  #body;
  element;

  /** @param {import("./words.js").Words} words @param {Actions} actions */
  constructor(words, { turnTo, say, close }) {
    this.#words = words;
    this.#say = say;
    this.#versions = new Versions(words, turnTo);
    this.#copy = iconButton("copy", words.copy, () => this.#copyText());
    this.#save = h("button", { type: "button" }, icon("save", SAVE));
    this.#save.addEventListener("click", () => this.#saveFile());
    giveName(this.#save, words.saveDocument);
    giveName(this.#out, words.openPage);
    this.element = h(
      "div", { class: "document-head" }, h("div", {}, this.#title, this.#about),
      this.#versions.element, this.#copy, this.#save, this.#out,
      iconButton("close", words.close, close),
    );
  }

  /** What it says of the version. */
  get about() {
    return this.#about.textContent ?? "";
  }

  /** @param {Version[]} all @param {number} at @param {Body} body @param {boolean} isGrowing */
  update(all, at, body, isGrowing) {
    const words = this.#words;
    const version = all[at];
    const { kind } = version;
    this.#version = version;
    this.#body = body;
    const count = all.length;
    const about = [
      count > 1 && format(words.documentVersionOf, { number: at + 1, count }),
      words[KINDS_SHOWN[kind][0]],
      isGrowing && `${words.documentGrowing}…`,
    ];
    setText(this.#title, titleOf(version, words));
    setText(this.#about, about.filter(Boolean).join(" · "));
    const versions = all.map(({ messageId: id }, index) => {
      return { id, text: "", current: index === at };
    });
    this.#versions.show(count < 2 ? [] : versions);
    this.#copy.hidden = !body.text;
    this.#save.hidden = !body.save;
    const address = kind === "page" && addressOnSite(String(version.content.path), location.href);
    this.#out.hidden = !address;
    setAttribute(this.#out, "href", address && address.href);
  }

  async #copyText() {
    const words = this.#words;
    const isCopied = await copyText(this.#body?.text?.() ?? "", this.#copy);
    const said = isCopied ? words.copied : words.copyFailed;
    this.#say(said);
    setAttribute(this.#copy, "title", said);
    this.#copy.replaceChildren(icon(isCopied ? "check" : "alert"));
    setTimeout(() => {
      this.#copy.replaceChildren(icon("copy"));
      setAttribute(this.#copy, "title", words.copy);
      this.#say("");
    }, SAID_MS);
  }

  #saveFile() {
    const file = this.#body?.save?.();
    if (!file?.content.length || !this.#version) return;
    const extension = file.extension || extensionOf(this.#version);
    saveFile(file.content, file.type, titleOf(this.#version, this.#words), extension);
  }
}

/**
 * Give a button or a link without words its name.
 * @param {HTMLElement} element @param {string} label
 */
function giveName(element, label) {
  element.classList.add("icon-button");
  element.title = label;
  element.ariaLabel = label;
}
