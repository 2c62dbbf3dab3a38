// @ts-check
/** The end of a box that grows: it stays in view until the reader scrolls up. */

/** A distance from the end that still counts as the end, in pixels. */
const NEAR = 60;

export class End {
  follows = true;
  #box;
  /** Where the page last scrolled to. Only the user scrolls up from there. */
  #top = 0;

  /** @param {HTMLElement} box */
  constructor(box) {
    this.#box = box;
  }

  /** Scroll to the end, or less far: the rest is above what must be in sight. */
  go(less = 0) {
    this.follows = true;
    this.#box.scrollTop = this.#box.scrollHeight;
    if (less) this.#box.scrollTop -= less;
    this.#top = this.#box.scrollTop;
  }

  /** The box was scrolled, by anybody. */
  scrolled() {
    // A growing chart or table moves the end further away, but the reader is still at it.
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.follows = isAtEnd || (this.follows && scrollTop >= this.#top);
    this.#top = scrollTop;
  }
}
