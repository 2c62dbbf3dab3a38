// @ts-check
/** A question about what an app wants, which the page asks above the frame, and one at a time. */
import { h } from "../agui/dom/elements.js";

/** So that nobody who is clicking in the app clicks here. */
const REST_MS = 700;

/** @typedef {{ text: string, detail?: string, yes: string, no: string, unread: string }} Asked */

export class AppQuestion {
  element = h("div", { class: "app-asks", "aria-live": "assertive" });
  #isOpen = false;

  /** Null if another question is open. @param {Asked} asked @returns {Promise<boolean> | null} */
  ask({ text, detail, yes, no, unread }) {
    if (this.#isOpen) return null;
    this.#isOpen = true;
    return new Promise((resolve) => {
      /** @param {boolean} decision */
      const decide = (decision) => {
        this.#isOpen = false;
        this.element.replaceChildren();
        resolve(decision);
      };
      const look = { type: "button", class: "button" };
      /** @type {() => boolean} */
      let isResting;
      /** @param {MouseEvent} event */
      const allow = ({ detail: clicks }) => {
        // The keyboard has no clicks: an app can't move the focus to the button.
        if (clicks === 0 || isResting()) decide(true);
      };
      const approve = h("button", { ...look, disabled: true, onclick: allow }, yes);
      const deny = h("button", { ...look, onclick: () => decide(false) }, no);
      const value = h("pre", { class: "value", dir: "auto", tabindex: "0" }, detail);
      const hint = h("p", { class: "app-unread", hidden: true }, unread);
      this.element.replaceChildren(
        h(
          "div",
          { role: "group", "aria-label": text },
          h("p", { dir: "auto" }, text),
          detail && value,
          hint,
          h("p", {}, approve, deny),
        ),
      );
      isResting = enableAtRest(approve, value, hint);
    });
  }
}

/**
 * Enable a button once it has stood still for a moment, and the whole text has been in view: its
 * end may be far below a harmless beginning. An app can move the button under a pointer that clicks
 * in the app: its frame changes its height, and scrolls the page. Return whether it stands still.
 * @param {HTMLButtonElement} button @param {Element} text @param {HTMLElement} hint
 */
function enableAtRest(button, text, hint) {
  let place = "";
  let movedAt = 0;
  let isRead = false;
  const isResting = () => {
    const { x, y } = button.getBoundingClientRect();
    const next = `${Math.round(x)} ${Math.round(y)}`;
    if (next !== place) movedAt = performance.now();
    place = next;
    return performance.now() - movedAt >= REST_MS;
  };
  const look = () => {
    isRead ||= text.scrollTop + text.clientHeight >= text.scrollHeight - 1;
    hint.hidden = isRead;
    // A button that is disabled loses the focus, which an app can't bring here.
    const isStill = isResting() || button.matches(":focus");
    button.disabled = !isRead || !isStill;
    if (button.isConnected) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  return isResting;
}
