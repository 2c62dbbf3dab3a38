// @ts-check
/** What the input of the chat consists of: the text, and the buttons beside it. */
import { h, iconButton } from "../dom/elements.js";

/**
 * @param {import("./composer.js").Context} context
 * @param {{
 *   typed: () => void, keydown: (event: KeyboardEvent) => void, left: () => void,
 *   send: () => void, skills: () => void,
 * }} on what they do
 */
export function partsOf({ strings, stop: stopRun }, on) {
  const input = h("textarea", {
    class: "input", part: "input", rows: "1", enterkeyhint: "send", dir: "auto",
    "aria-label": strings.messageLabel, placeholder: strings.placeholder,
    "aria-autocomplete": "list", "aria-haspopup": "listbox",
    oninput: on.typed, onkeydown: on.keydown, onblur: on.left,
  });
  // The second click of a double click was meant for the previous button.
  const end = (/** @type {MouseEvent} */ { detail }) => detail > 1 || stopRun();
  const stop = iconButton("stop", strings.stop, end, { class: "icon-button send", part: "stop" });
  const look = { class: "icon-button send", part: "send" };
  const send = iconButton("send", strings.send, on.send, look);
  const keepsFocus = (/** @type {Event} */ event) => event.preventDefault();
  const slash = iconButton("slash", strings.skills, on.skills, {
    part: "skills", hidden: true, "aria-haspopup": "listbox",
    onpointerdown: keepsFocus, onmousedown: keepsFocus,
  });
  return { input, stop, send, slash };
}
