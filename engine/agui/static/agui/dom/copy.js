// @ts-check
/** Copy texts to the clipboard. */
import { h, setText } from "./elements.js";

const SAID_MS = 2000;

/**
 * Copy a text; false if the browser doesn't allow it.
 * @param {string} text @param {HTMLElement} button the pressed button
 */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The old API needs neither a permission nor a secure page.
    const area = h("textarea", {
      class: "visually-hidden",
      readonly: true,
      "aria-hidden": "true",
      tabindex: "-1",
    });
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
 * Copy a text, and show the outcome on the button for a moment.
 * @param {HTMLElement} button @param {string} text
 * @param {{ copy: string, copied: string, copyFailed: string }} strings
 */
export async function copyBy(button, text, { copy, copied, copyFailed }) {
  setText(button, (await copyText(text, button)) ? copied : copyFailed);
  setTimeout(() => setText(button, copy), SAID_MS);
}
