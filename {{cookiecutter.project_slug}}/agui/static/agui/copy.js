// @ts-check
/** Texts to the clipboard. */
import { h } from "./dom.js";

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
