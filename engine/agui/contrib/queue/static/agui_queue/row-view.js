// @ts-check
/** One message that waits. */
import { h, iconButton, setAttribute, setText } from "../agui/dom/elements.js";
import { textOf } from "../agui/conversation/messages.js";
import { keyNames } from "../agui/finding/key-names.js";
import { Drag } from "./drag.js";
import { STEP } from "./read-in-run.js";
import { namesOf } from "./rows.js";

/** @typedef {import("./rows.js").Row} Row */

const GRIP = "M9 6v.01M15 6v.01M9 12v.01M15 12v.01M9 18v.01M15 18v.01";
let made = 0;

export class RowView {
  id;
  element;
  #waiting;
  #words;
  #text;
  #files = h("small");
  #mark;
  #steer;
  #buttons;
  /** @type {Row | null} */
  #row = null;
  /** @type {HTMLFormElement | null} */
  #form = null;

  /**
   * @param {import("./waiting.js").Waiting} waiting @param {string} id
   * @param {import("./words.js").Words} words @param {() => void} leave takes the focus elsewhere
   */
  constructor(waiting, id, words, leave) {
    this.id = id;
    this.#waiting = waiting;
    this.#words = words;
    const name = `waiting-${++made}`;
    const about = { "aria-describedby": name };
    this.#text = h("span", { class: "waiting-text", dir: "auto", id: name });
    this.#mark = h("span", { class: "waiting-mark" }, words.nextStep);
    const steer = () => {
      waiting.change(id, { mode: this.#row?.mode === "steer" ? "queue" : "steer" });
    };
    const pressed = { ...about, "aria-pressed": "false" };
    this.#steer = iconButton("step", words.readNextStep, steer, pressed, STEP);
    const remove = () => {
      leave();
      waiting.remove(id);
    };
    const title = `${words.moveWaiting} (${keyNames("Alt+↑ ↓")})`;
    const place = { ...about, class: "icon-button grip", title };
    const grip = iconButton("grip", words.moveWaiting, () => {}, place, GRIP);
    this.#buttons = [
      this.#steer,
      iconButton("edit", words.editWaiting, () => this.edit(), about),
      iconButton("trash", words.removeWaiting, remove, about),
    ];
    this.element = h("li", {}, grip, this.#text, this.#mark, ...this.#buttons);
    this.element.addEventListener("keydown", (event) => this.#keydown(event));
    new Drag(grip, this.element, (index) => waiting.move(id, index));
  }

  get #place() {
    return this.#waiting.rows.all.findIndex((row) => row.id === this.id);
  }

  /** @param {Row} row @param {boolean} canSteer */
  update(row, canSteer) {
    const files = row.message.metadata?.attachments ?? [];
    const names = namesOf(files);
    const text = textOf(row.message.content);
    const isSteered = row.mode === "steer";
    if (row !== this.#row) {
      setText(this.#text, text);
      this.#text.title = text;
      setText(this.#files, names === text ? "" : ` ${names}`);
      if (files.length) this.#text.append(this.#files);
    }
    this.#row = row;
    this.element.classList.toggle("unsent", Boolean(row.isUnsent));
    this.#mark.hidden = !isSteered || !canSteer;
    this.#steer.hidden = !canSteer;
    setAttribute(this.#steer, "aria-pressed", String(isSteered));
  }

  focus() {
    this.#buttons.at(-1)?.focus();
  }

  /** Let the user edit the text in its place. */
  edit() {
    const row = this.#row;
    if (this.#form || !row) return this.#form?.querySelector("textarea")?.focus();
    const { editWaiting, saveWaiting, cancel: stay } = this.#words;
    const text = textOf(row.message.content);
    const look = { rows: "1", dir: "auto", enterkeyhint: "done", "aria-label": editWaiting };
    const input = h("textarea", look);
    input.value = text === namesOf(row.message.metadata?.attachments) ? "" : text;
    const save = h("button", { class: "button primary" }, saveWaiting);
    const onclick = () => this.#close();
    const cancel = h("button", { type: "button", class: "button", onclick }, stay);
    const form = h("form", { class: "waiting-edit" }, input, cancel, save);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#waiting.change(this.id, { text: input.value });
      this.#close();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
      else if (event.key !== "Enter" || event.shiftKey || event.target !== input) return;
      else form.requestSubmit(save);
      event.preventDefault();
      event.stopPropagation();
    });
    this.#form = form;
    this.#text.after(form);
    this.element.classList.add("edits");
    input.focus();
    input.setSelectionRange(input.value.length, input.value.length);
    this.element.scrollIntoView({ block: "nearest" });
  }

  #close() {
    this.#form?.remove();
    this.#form = null;
    this.element.classList.remove("edits");
    this.#buttons[1].focus();
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const step = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || this.#form) return;
    event.preventDefault();
    event.stopPropagation();
    this.#waiting.move(this.id, this.#place + step);
  }
}
