// @ts-check
/**
 * The panel with a document. It stands beside the messages if there is room, and otherwise over
 * the whole chat.
 */
import { closeOnBack } from "../agui/dom/back.js";
import { copyText } from "../agui/dom/copy.js";
import { h, icon, iconButton, setAttribute, setText } from "../agui/dom/elements.js";
import { End } from "../agui/dom/end.js";
import { adopt } from "../agui/dom/own-style.js";
import { saveFile } from "../agui/dom/save.js";
import { Versions } from "../agui/messages/versions.js";
import { format } from "../agui/words/strings.js";
import { bodyOf } from "./body.js";
import { Edge } from "./edge.js";
import { PANEL_STYLE } from "./panel-style.js";
import { addressOnSite, extensionOf } from "./versions.js";
import { KINDS_SHOWN, titleOf } from "./words.js";

/** @typedef {import("./versions.js").Version} Version */
/** @typedef {import("../agui/agui-chat.d.ts").AguiChatElement} Host */
/** @typedef {{ changed: () => void, dismissed: () => void }} Told */
/** @typedef {{ threadId: string | null, isAsked: boolean, growing: Version | null }} Opening */

const LEAST = 320;
/** The width that the messages keep. */
const CHAT_LEAST = 360;
const SAID_MS = 2000;
const SAVE = "M12 4v11M7 10.5l5 5 5-5M5 19.5h14";
const OUT = "M13.5 5H19v5.5M19 5l-8.5 8.5M10 6H5.5v12.5H18V14";

export class DocumentPanel {
  #host;
  #chat;
  #words;
  #told;
  #title = h("h2");
  #about = h("p");
  #versions;
  #copy;
  #save;
  #out;
  #edge;
  #said = h("p", { class: "visually-hidden", role: "status" });
  #body = h("div", { class: "document-body" });
  #scroll;
  #end;
  /** @type {import("./body.js").Body | null} */
  #drawn = null;
  /** @type {Version[]} */
  #all = [];
  #at = -1;
  #isGrowing = false;
  /** @type {Element | null} */
  #opener = null;
  #release = () => {};
  /** @type {string | null} */
  threadId = null;
  isOpen = false;
  element;

  /**
   * @param {Host} host @param {HTMLElement} chat @param {import("./words.js").Words} words
   * @param {Told} told
   */
  constructor(host, chat, words, told) {
    this.#host = host;
    this.#chat = chat;
    this.#words = words;
    this.#told = told;
    this.#versions = new Versions(words, (id) => this.#turnTo(id));
    this.#copy = iconButton("copy", words.copy, () => this.#copyText());
    const save = { onclick: () => this.#saveFile() };
    this.#save = labelled(h("button", { type: "button", ...save }, icon("save", SAVE)), words.saveDocument);
    const link = h("a", { target: "_blank", rel: "noopener" }, icon("out", OUT));
    this.#out = labelled(link, words.openPage);
    this.#scroll = h("div", { class: "document-scroll", role: "document", tabindex: "0" }, this.#body);
    this.#end = new End(this.#scroll);
    this.#scroll.addEventListener("scroll", () => this.#end.scrolled(), { passive: true });
    this.#edge = new Edge({
      label: words.documentWidth,
      limits: () => this.#limits,
      resized: (width) => this.#chat.style.setProperty("--_document", `${width}px`),
    });
    const head = h(
      "div", { class: "document-head" }, h("div", {}, this.#title, this.#about),
      this.#versions.element, this.#copy, this.#save, this.#out,
      iconButton("close", words.close, () => this.#dismiss()),
    );
    this.element = h(
      "aside", { class: "document-panel", part: "document", tabindex: "-1" },
      this.#edge.element, head, this.#said, this.#scroll,
    );
    this.element.addEventListener("keydown", (event) => this.#keydown(event));
    // The text is plain until the parser has come, with which the messages are drawn, too.
    chat.addEventListener("drawn", () => this.isOpen && this.#draw(), { capture: true });
    const sizes = new ResizeObserver(() => this.#keepUp());
    for (const element of [this.#scroll, this.#body]) sizes.observe(element);
    new ResizeObserver(() => this.isOpen && this.#fit()).observe(chat);
  }

  // --- What it shows

  get id() {
    return this.#all[0]?.id ?? null;
  }

  /** What is open, as the page is told. */
  get place() {
    const version = this.#all[this.#at];
    return { id: version.id, title: titleOf(version, this.#words), version: this.#at + 1 };
  }

  /** @param {Version} version */
  shows({ messageId }) {
    return this.#all[this.#at]?.messageId === messageId;
  }

  get hasFocus() {
    return this.element.contains(this.#focused);
  }

  get #focused() {
    return this.#host.shadowRoot?.activeElement ?? null;
  }

  /** Whether there is room beside the messages. */
  get hasRoom() {
    return this.#limits.most >= LEAST;
  }

  get #limits() {
    const list = this.#chat.querySelector(".drawer.beside");
    const room = this.#chat.clientWidth - (list instanceof HTMLElement ? list.offsetWidth : 0);
    return { least: LEAST, most: room - CHAT_LEAST, usual: Math.min(room * 0.56, 900) };
  }

  /**
   * @param {Version[]} versions of the document @param {Version} version @param {Opening} opening
   */
  open(versions, version, { threadId, isAsked, growing }) {
    const focused = this.#focused;
    if (!this.isOpen) this.#opener = isAsked ? focused : null;
    if (this.id !== version.id) this.#clear();
    this.threadId = threadId;
    this.isOpen = true;
    this.#at = versions.findIndex(({ messageId }) => messageId === version.messageId);
    this.#all = versions;
    this.#chat.append(this.element);
    this.#chat.classList.add("with-document");
    adopt(this.#chat, PANEL_STYLE);
    this.#fit();
    this.#isGrowing = growing?.messageId === version.messageId;
    this.#end.follows = this.#isGrowing;
    this.#draw();
    if (isAsked) this.element.focus();
    this.#told.changed();
  }

  /** @param {Version[]} versions @param {Version | null} growing */
  update(versions, growing) {
    const before = this.#all;
    const isLast = this.#at === before.length - 1;
    const id = before[this.#at]?.messageId;
    const at = versions.findIndex(({ messageId }) => messageId === id);
    const isNewer = versions.length > before.length;
    // Who looks at the last version sees the next one; who looks at an older one stays there.
    const follows = at < 0 || (isLast && isNewer);
    this.#all = versions;
    this.#at = follows ? versions.length - 1 : at;
    const version = versions[this.#at];
    const wasGrowing = this.#isGrowing;
    this.#isGrowing = growing?.messageId === version.messageId;
    if (this.#isGrowing && !wasGrowing) this.#end.follows = this.#scroll.scrollTop > 0 || follows;
    this.#draw();
    if (!growing && (wasGrowing || isNewer)) this.#say(this.#words.documentUpdated);
    else if (this.#isGrowing) this.#say("");
    if (follows) this.#told.changed();
  }

  /** Forget the last document. */
  #clear() {
    this.#all = [];
    this.#drawn = null;
    this.#body.replaceChildren();
    this.#scroll.scrollTop = 0;
    this.#say("");
  }

  /** @param {string} words what a screen reader says */
  #say(words) {
    setText(this.#said, words);
  }

  #draw() {
    const words = this.#words;
    const version = this.#all[this.#at];
    const { kind } = version;
    const title = titleOf(version, words);
    const count = this.#all.length;
    const about = [
      words[KINDS_SHOWN[kind][0]],
      count > 1 && format(words.documentVersionOf, { number: this.#at + 1, count }),
      this.#isGrowing && `${words.documentGrowing}…`,
    ];
    setText(this.#title, title);
    setText(this.#about, about.filter(Boolean).join(" · "));
    for (const element of [this.element, this.#scroll]) setAttribute(element, "aria-label", title);
    this.#versions.show(count < 2 ? [] : this.#all.map(({ messageId: id }, index) => {
      return { id, current: index === this.#at };
    }));
    if (!this.#drawn || this.#body.dataset.kind !== kind) {
      this.#drawn = bodyOf(kind, this.#host, words);
      this.#body.dataset.kind = kind;
      this.#body.replaceChildren(this.#drawn.element);
    }
    this.#drawn.update(version, this.#isGrowing);
    this.#copy.hidden = !this.#drawn.text;
    this.#save.hidden = !this.#drawn.save;
    this.#out.hidden = kind !== "page";
    const address = addressOnSite(String(version.content.path), location.href);
    setAttribute(this.#out, "href", kind === "page" && address?.href);
  }

  /** Stay at the end of a text that grows, unless the reader has scrolled up. */
  #keepUp() {
    if (this.#isGrowing && this.#end.follows) this.#end.go();
  }

  // --- What users do

  /** @param {string} messageId of a version */
  #turnTo(messageId) {
    this.#at = this.#all.findIndex((version) => version.messageId === messageId);
    this.#isGrowing = false;
    this.#draw();
    this.#say(this.#about.textContent ?? "");
    this.#told.changed();
  }

  async #copyText() {
    const words = this.#words;
    const isCopied = await copyText(this.#drawn?.text?.() ?? "", this.#copy);
    this.#say(isCopied ? words.copied : words.copyFailed);
    setAttribute(this.#copy, "title", isCopied ? words.copied : words.copyFailed);
    this.#copy.replaceChildren(icon(isCopied ? "check" : "alert"));
    setTimeout(() => {
      this.#copy.replaceChildren(icon("copy"));
      setAttribute(this.#copy, "title", words.copy);
      this.#say("");
    }, SAID_MS);
  }

  #saveFile() {
    const version = this.#all[this.#at];
    const file = this.#drawn?.save?.();
    if (!file?.content.length) return;
    const extension = file.extension || extensionOf(version);
    saveFile(file.content, file.type, titleOf(version, this.#words), extension);
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const { key, ctrlKey, metaKey, defaultPrevented } = event;
    // The browser finds words in the document, the chat in the messages.
    if (key.toLowerCase() === "f" && (ctrlKey || metaKey)) event.stopPropagation();
    if (key !== "Escape" || defaultPrevented) return;
    event.preventDefault();
    event.stopPropagation(); // Elsewhere, Escape stops the answer.
    this.#dismiss();
  }

  #dismiss() {
    this.#told.dismissed();
    this.close();
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.hasFocus;
    this.isOpen = false;
    this.#cover(false);
    this.#chat.classList.remove("with-document");
    this.element.remove();
    if (hadFocus) this.#focusBack();
    this.#told.changed();
  }

  #focusBack() {
    const { openerButton } = this;
    if (openerButton) openerButton.focus();
    else this.#host.focus();
  }

  /** What has opened the panel, or else nothing that is still there. */
  get openerButton() {
    const opener = this.#opener;
    return opener instanceof HTMLElement && opener.isConnected ? opener : null;
  }

  // --- Its place

  #fit() {
    this.#cover(!this.hasRoom);
    if (this.hasRoom) this.#edge.fit();
    else this.#chat.style.setProperty("--_document", "0px");
  }

  /** Cover the whole chat, or don't. @param {boolean} covers */
  #cover(covers) {
    const { element } = this;
    if (covers === element.matches(".full")) return;
    element.classList.toggle("full", covers);
    setAttribute(element, "role", covers && "dialog");
    setAttribute(element, "aria-modal", covers && "true");
    this.#release();
    this.#release = covers ? closeOnBack(() => this.#dismiss()) : () => {};
    const { hasFocus } = this;
    for (const other of this.#chat.children) {
      if (other !== element && other instanceof HTMLElement) other.inert = covers;
    }
    if (covers && !hasFocus) element.focus();
  }
}

/**
 * Give a button or a link without words its name.
 * @template {HTMLElement} T @param {T} element @param {string} label
 */
function labelled(element, label) {
  element.classList.add("icon-button");
  element.title = label;
  element.ariaLabel = label;
  return element;
}
