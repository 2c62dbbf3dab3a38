// @ts-check
/**
 * The way back in a long thread. Loaded with the first thread that is not drawn from its beginning.
 */
import { h, setAttribute } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";

/** In English; the tables of other languages have these, too. */
export const EARLIER_WORDS = { earlier: "Show earlier messages" };

const STYLE = ".earlier { display: block; margin: 0 auto 1.25rem; }";
/** How near the first message must be for a step back. */
const AHEAD = "800px 0px 0px";

export class EarlierMessages {
  #log;
  #draw;
  #near;
  element;

  /**
   * @param {HTMLElement} log @param {import("../types.d.ts").MessageContext} context
   * @param {() => void} draw more of the past
   */
  constructor(log, { strings }, draw) {
    this.#log = log;
    this.#draw = draw;
    adopt(log, STYLE);
    const { earlier } = { ...EARLIER_WORDS, ...strings };
    const onclick = () => this.#show();
    this.element = h("button", { type: "button", class: "button earlier", onclick }, earlier);
    this.#near = new IntersectionObserver(
      ([{ isIntersecting }]) => isIntersecting && this.#show(),
      { root: log, rootMargin: AHEAD },
    );
    this.#near.observe(this.element);
  }

  /** Draw older messages, and keep the user's place. */
  #show() {
    const log = this.#log;
    const { scrollHeight, scrollTop } = log;
    setAttribute(log, "aria-live", "off"); // Don't announce old messages.
    this.#draw();
    log.scrollTop = scrollTop + log.scrollHeight - scrollHeight;
    if (this.element.hidden && this.element.matches(":focus-within")) log.focus();
    // The first message may still be near.
    this.#near.unobserve(this.element);
    this.#near.observe(this.element);
    requestAnimationFrame(() => setAttribute(log, "aria-live", "polite"));
  }
}
