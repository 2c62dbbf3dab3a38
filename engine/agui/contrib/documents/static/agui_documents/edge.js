// @ts-check
/** The edge between the messages and a document, which users move to give one of them more room. */
import { h, setAttribute } from "../agui/dom/elements.js";

const STEP = 24;
const KEY = "agui-chat:document-width";

/**
 * @typedef {{
 *   label: string, limits: () => { least: number, most: number, usual: number },
 *   resized: (width: number) => void,
 * }} Options the widths are in pixels
 */

export class Edge {
  #options;
  #width = 0;
  /** What the user has chosen; there may be less room. 0 is the usual width. */
  #wanted = stored();
  element;

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
    this.element = h("div", {
      class: "document-edge",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": options.label,
      onkeydown: (event) => this.#resizeByKey(event),
      onpointerdown: (event) => this.#drag(event),
      ondblclick: () => (forget(), this.#want(0)),
    });
  }

  /** Take the width that the user has chosen, as far as there is room. */
  fit() {
    const { least, most, usual } = this.#options.limits();
    this.#width = Math.round(Math.min(Math.max(this.#wanted || usual, least), most));
    setAttribute(this.element, "aria-valuemin", least);
    setAttribute(this.element, "aria-valuemax", Math.floor(most));
    setAttribute(this.element, "aria-valuenow", this.#width);
    this.#options.resized(this.#width);
  }

  /** @param {number} width */
  #want(width) {
    this.#wanted = width;
    this.fit();
  }

  get #isMirrored() {
    return getComputedStyle(this.element).direction === "rtl";
  }

  /** @param {KeyboardEvent} event */
  #resizeByKey(event) {
    const wider = this.#isMirrored ? "ArrowRight" : "ArrowLeft";
    const narrower = this.#isMirrored ? "ArrowLeft" : "ArrowRight";
    const { least, most } = this.#options.limits();
    const steps = { [wider]: this.#width + STEP, [narrower]: this.#width - STEP };
    const width = { ...steps, Home: least, End: most }[event.key];
    if (!width) return;
    event.preventDefault();
    this.#want(width);
    keep(this.#width);
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (event.button) return;
    event.preventDefault();
    const { element } = this;
    const done = new AbortController();
    const { signal } = done;
    const from = event.clientX;
    const before = this.#width;
    const sign = this.#isMirrored ? -1 : 1;
    element.setPointerCapture(event.pointerId);
    element.addEventListener("pointermove", ({ clientX }) => {
      this.#want(before + sign * (from - clientX));
    }, { signal });
    const end = () => {
      done.abort();
      if (this.#width !== before) keep(this.#width);
    };
    for (const type of ["pointerup", "pointercancel"]) {
      element.addEventListener(type, end, { signal });
    }
  }
}

// A browser may refuse to store anything. The panel then has its usual width after a reload.

function stored() {
  try {
    return Number(localStorage.getItem(KEY));
  } catch {
    return 0;
  }
}

/** @param {number} width */
function keep(width) {
  try {
    localStorage.setItem(KEY, String(width));
  } catch {
    // As above.
  }
}

function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // As above.
  }
}
