// @ts-check
/** A question that gets the focus shows its text, however long its arguments are. */

/** @param {HTMLElement} question */
export function revealOnFocus(question) {
  let isPressed = false;
  const press = (/** @type {Event} */ { type }) => (isPressed = type === "pointerdown");
  for (const type of ["pointerdown", "pointerup", "pointercancel"]) {
    question.addEventListener(type, press);
  }
  question.addEventListener("focus", () => {
    // A user who presses into the arguments wants to stay there.
    if (!isPressed) question.firstElementChild?.scrollIntoView({ block: "nearest" });
  });
}
