// @ts-check
/** Texts to the clipboard. */
import { h, setText } from "./dom.js";

const SAID_MS = 2000;

/**
 * Copy a text; false when the browser doesn't let us.
 * @param {string} text @param {HTMLElement} button that asked for it
 */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or a page that isn't served securely: the old way asks for none.
    const area = h("textarea", { class: "visually-hidden", readonly: true, "aria-hidden": "true", tabindex: "-1" });
    area.value = text;
    button.after(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    button.focus();
    return copied;
  }
}

/**
 * Copy a text, and say on the button for a moment how that went.
 * @param {HTMLElement} button @param {string} text @param {{ copy: string, copied: string, copyFailed: string }} strings
 */
export async function copyBy(button, text, { copy, copied, copyFailed }) {
  setText(button, (await copyText(text, button)) ? copied : copyFailed);
  setTimeout(() => setText(button, copy), SAID_MS);
}
