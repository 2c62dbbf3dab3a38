// @ts-check
/** Copy texts to the clipboard. */
import { h, setText } from "./elements.js";

const SAID_MS = 2000;

/**
 * Copy a text; false if the browser doesn't allow it.
 * @param {string} text @param {HTMLElement} button the pressed button
 * @param {string} [html] the same, for what is pasted into a document
 */
export async function copyText(text, button, html) {
  try {
    if (!html) await navigator.clipboard.writeText(text);
    else await navigator.clipboard.write([new ClipboardItem(typed({ text, html }))]);
    return true;
  } catch {
    // The old API needs neither a permission nor a secure page.
    const area = h("textarea", {
      class: "visually-hidden",
      readonly: true,
      "aria-hidden": "true",
      tabindex: "-1",
      oncopy: (/** @type {ClipboardEvent} */ event) => {
        event.clipboardData?.setData("text/plain", text);
        if (html) event.clipboardData?.setData("text/html", html);
        event.preventDefault();
      },
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

/** @param {{ text: string, html: string }} forms */
function typed({ text, html }) {
  const forms = Object.entries({ "text/plain": text, "text/html": html });
  return Object.fromEntries(forms.map(([type, form]) => [type, new Blob([form], { type })]));
}

/**
 * Copy a text, and show the outcome on the button for a moment.
 * @param {HTMLElement} button @param {string} text
 * @param {{ copy: string, copied: string, copyFailed: string }} strings
 * @param {string} [html]
 */
export async function copyBy(button, text, { copy, copied, copyFailed }, html) {
  setText(button, (await copyText(text, button, html)) ? copied : copyFailed);
  setTimeout(() => setText(button, copy), SAID_MS);
}
