// @ts-check
/**
 * What somebody types goes where they type it. Browsers let every frame take the keyboard at any
 * moment, so an app could read the rest of a sentence that is meant for the chat.
 */

/** Since the last letter. Later, a screen reader may have led to the frame, unheard by pages. */
const TYPING_MS = 5000;
/** The same if the pointer is over the frame, or can't be seen: the user may have pressed it. */
const PRESSED_MS = 700;
/** With these a user leaves a field. */
const LEAVING = new Set(["Tab", "Escape", "F6", "Control", "Alt", "Meta"]);
/** What a frame hears that has taken the keyboard, and lost it again. */
export const GIVEN_BACK = "agui-keyboard-given-back";

/** @type {HTMLElement | null} */
let field = null;
let typedAt = 0;

const leave = () => (field = null);

addEventListener(
  "input",
  (event) => {
    if (!event.isTrusted) return;
    field = /** @type {HTMLElement} */ (event.composedPath()[0]);
    typedAt = performance.now();
  },
  true,
);
addEventListener("keydown", ({ key }) => LEAVING.has(key) && leave(), true);
addEventListener("pointerdown", leave, true);
// Some browsers say only afterwards which element has the focus.
addEventListener("blur", () => setTimeout(giveBack));

function giveBack() {
  const frame = focused();
  if (!frame?.matches(".app-frame") || !field?.isConnected || !isTyping(frame)) return;
  field.focus({ preventScroll: true });
  frame.dispatchEvent(new Event(GIVEN_BACK));
}

/** @param {Element} frame */
function isTyping(frame) {
  const isElsewhere = matchMedia("(hover: hover)").matches && !frame.matches(":hover");
  return performance.now() - typedAt < (isElsewhere ? TYPING_MS : PRESSED_MS);
}

function focused() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}
