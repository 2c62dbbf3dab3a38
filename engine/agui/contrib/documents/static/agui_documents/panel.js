// @ts-check
/**
 * The panel with a document. It stands beside the messages if there is room, and otherwise over
 * the whole chat.
 */
import { closeOnBack } from "../agui/dom/back.js";
import { h, setAttribute, setText } from "../agui/dom/elements.js";
import { End } from "../agui/dom/end.js";
import { adopt } from "../agui/dom/own-style.js";
import { bodyOf } from "./body.js";
import { Edge } from "./edge.js";
import { DocumentHead } from "./head.js";
import { PANEL_STYLE } from "./panel-style.js";
import { titleOf } from "./words.js";

/** @typedef {import("./versions.js").Version} Version */
/** @typedef {import("../agui/agui-chat.d.ts").AguiChatElement} Host */
/** @typedef {{ changed: () => void, dismissed: () => void }} Told */
/** @typedef {{ threadId: string | null, isAsked: boolean, growing: Version | null }} Opening */

const LEAST = 320;
/** The width that the messages keep. */
const CHAT_LEAST = 360;

export class DocumentPanel {
  #host;
  #chat;
  #words;
  #told;
  #head;
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
    this.#head = new DocumentHead(words, {
      turnTo: (messageId) => this.#turnTo(messageId),
      say: (said) => this.#say(said),
      close: () => this.dismiss(),
    });
    const scroll = { class: "document-scroll", role: "document", tabindex: "0" };
    this.#scroll = h("div", scroll, this.#body);
    this.#end = new End(this.#scroll);
    this.#scroll.addEventListener("scroll", () => this.#end.scrolled(), { passive: true });
    this.#edge = new Edge({
      label: words.documentWidth,
      limits: () => this.#limits,
      resized: (width) => this.#chat.style.setProperty("--_document", `${width}px`),
    });
    this.element = h(
      "aside", { class: "document-panel", part: "document", tabindex: "-1" },
      this.#edge.element, this.#head.element, this.#said, this.#scroll,
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
    const version = this.#all[this.#at];
    const { kind } = version;
    const title = titleOf(version, this.#words);
    for (const element of [this.element, this.#scroll]) setAttribute(element, "aria-label", title);
    if (!this.#drawn || this.#body.dataset.kind !== kind) {
      this.#drawn = bodyOf(kind, this.#host, this.#words);
      this.#body.dataset.kind = kind;
      this.#body.replaceChildren(this.#drawn.element);
    }
    this.#drawn.update(version, this.#isGrowing);
    this.#head.update(this.#all, this.#at, this.#drawn, this.#isGrowing);
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
    this.#say(this.#head.about);
    this.#told.changed();
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const { key, ctrlKey, metaKey, defaultPrevented } = event;
    // The browser finds words in the document, the chat in the messages.
    if (key.toLowerCase() === "f" && (ctrlKey || metaKey)) event.stopPropagation();
    if (key !== "Escape" || defaultPrevented) return;
    event.preventDefault();
    event.stopPropagation(); // Elsewhere, Escape stops the answer.
    this.dismiss();
  }

  /** The user closes it. */
  dismiss() {
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
    const opener = this.#opener;
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    else this.#host.focus();
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
    this.#release = covers ? closeOnBack(() => this.dismiss()) : () => {};
    const { hasFocus } = this;
    for (const other of this.#chat.children) {
      if (other === element || !(other instanceof HTMLElement)) continue;
      // A dialog that is open over all of it stays usable.
      other.inert = covers && !other.matches(":modal");
    }
    if (covers && !hasFocus) element.focus();
  }
}
