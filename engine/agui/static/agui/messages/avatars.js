// @ts-check
/**
 * A picture of the page beside each answer: a copy of its element with slot="avatar". The copies
 * are elements of the page, too, so that its styles apply.
 */
import { turnsOf } from "../conversation/messages.js";
import { h } from "../dom/elements.js";
import { reconcile } from "../dom/keyed.js";
import { adopt } from "../dom/own-style.js";

/** Answers make room for it, and in a wide chat it stands beside the column. */
const STYLE = `
.column.faced :is(.messages > :not(.user), .working) { margin-inline-start: 2.75rem; }
.messages > .avatar { height: 0; margin-block-end: -1.25rem; margin-inline-start: 0; }
.column.faced .messages > .actions { margin-inline-start: 2.25rem; }
.column.faced .messages > .avatar { margin-inline-start: 0; }
.avatar ::slotted(*) { height: 1.75rem; object-fit: cover; width: 1.75rem; }
.avatar ::slotted(:not(svg)) { border-radius: 50%; }
@container (min-width: 56rem) {
  .column.faced :is(.messages > :not(.user), .working) { margin-inline-start: 0; }
  .column.faced .messages > .actions { margin-inline-start: -.5rem; }
  .column.faced .messages > .avatar { margin-inline-start: -2.75rem; }
}
`;

let count = 0;

export class Avatars {
  #host;
  #list;
  /** @type {Map<string, { place: HTMLElement, copy: Element }>} by the turn's first message */
  #shown = new Map();

  /** @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} list */
  constructor({ host }, list) {
    this.#host = host;
    this.#list = list;
    adopt(list, STYLE);
  }

  /** @type {import("./extras.js").Extra["render"]} */
  render({ busy }, views, messages) {
    const original = this.#host.querySelector("[slot=avatar]");
    const all = original ? turnsOf(messages) : [];
    const turns = all.filter(({ parts }, index) => {
      return parts.some(({ id }) => views.has(id)) || (busy && index === all.length - 1);
    });
    const shown = reconcile(this.#shown, turns, {
      key: ({ prompt, parts }) => prompt?.id ?? parts[0].id,
      make: () => this.#make(/** @type {Element} */ (original)),
      drop: ({ place, copy }) => {
        place.remove();
        copy.remove();
      },
    });
    this.#list.closest(".column")?.classList.toggle("faced", shown.length > 0);
    for (const [index, { place }] of shown.entries()) this.#put(place, turns[index], views);
  }

  /** @param {Element} original */
  #make(original) {
    const name = `avatar-${(count += 1)}`;
    const copy = /** @type {Element} */ (original.cloneNode(true));
    copy.removeAttribute("id");
    copy.slot = name;
    this.#host.append(copy);
    // It says nothing that the answer does not.
    const look = { class: "avatar", part: "avatar", "aria-hidden": "true" };
    return { place: h("div", look, h("slot", { name })), copy };
  }

  /**
   * Before the answer's first message.
   * @param {HTMLElement} place @param {import("../conversation/messages.js").Turn} turn
   * @param {Map<string, { element: HTMLElement }>} views
   */
  #put(place, { prompt, parts }, views) {
    const first = parts.find(({ id }) => views.has(id));
    const next = first && views.get(first.id)?.element;
    if (next) {
      if (next.previousElementSibling !== place) next.before(place);
      return;
    }
    const last = prompt && views.get(prompt.id)?.element;
    if (last && last.nextElementSibling !== place) last.after(place);
  }
}
