// @ts-check
/** A long text of the user, such as a log that they have pasted, is folded until they want it. */
import { h, setAttribute, setText } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";

/** In English; the tables of other languages have these, too. */
export const LONG_WORDS = { showWhole: "Show all", showLess: "Show less" };

const STYLE = `
.bubble.folded {
  mask-image: linear-gradient(#000 calc(100% - 4rem), #0000); max-height: 15rem; overflow: clip;
}
.button.fold { border-color: transparent; color: var(--_muted); margin-block-start: -.25rem; }
.edited > .fold { display: none; }
`;
/** Shorter texts are not worth a button. */
const MOST_PIXELS = 360;

/** @type {WeakMap<HTMLElement, HTMLElement>} the button of a text */
const buttons = new WeakMap();

/**
 * Fold a text if it is high, or show it whole if it has become a short one.
 * @param {HTMLElement} bubble @param {import("../words/strings.js").Strings} strings
 */
export function foldLong(bubble, strings) {
  const words = { ...LONG_WORDS, ...strings };
  adopt(bubble, STYLE);
  buttons.get(bubble)?.remove();
  bubble.classList.remove("folded");
  if (bubble.scrollHeight < MOST_PIXELS) return;
  const fold = (/** @type {boolean} */ isFolded) => {
    bubble.classList.toggle("folded", isFolded);
    setText(button, isFolded ? words.showWhole : words.showLess);
    setAttribute(button, "aria-expanded", String(!isFolded));
  };
  const onclick = () => {
    const isOpen = !bubble.classList.contains("folded");
    fold(isOpen);
    // The end of the text was in view; what is in view now must not be somewhere else.
    if (isOpen) bubble.scrollIntoView({ block: "nearest" });
  };
  const button = h("button", { type: "button", class: "button fold", onclick });
  buttons.set(bubble, button);
  fold(true);
  bubble.after(button);
}
