// @ts-check
/** A question about what an app wants, which the page asks above the frame, and one at a time. */
import { Seen } from "../agui/approvals/seen.js";
import { h } from "../agui/dom/elements.js";

/** So that nobody who is clicking in the app clicks here. */
const REST_MS = 700;

/**
 * @typedef {{ text: string, detail?: string, yes: string, no: string, readFirst: string }} Asked
 */

export class AppQuestion {
  element = h("div", { class: "app-asks", "aria-live": "assertive" });
  #isOpen = false;

  /** Null if another question is open. @param {Asked} asked @returns {Promise<boolean> | null} */
  ask({ text, detail, yes, no, readFirst }) {
    if (this.#isOpen) return null;
    this.#isOpen = true;
    return new Promise((resolve) => {
      /** @param {boolean} decision */
      const decide = (decision) => {
        this.#isOpen = false;
        this.element.replaceChildren();
        resolve(decision);
      };
      const button = { type: "button", class: "button" };
      /** @type {() => boolean} */
      let isResting;
      /** @param {MouseEvent} event */
      const allow = ({ detail: clicks }) => {
        // The keyboard has no clicks: an app can't move the focus to the button.
        if (clicks === 0 || isResting()) decide(true);
      };
      const approve = h("button", { ...button, disabled: true, onclick: allow }, yes);
      const deny = h("button", { ...button, onclick: () => decide(false) }, no);
      const value = h("pre", { class: "value", dir: "auto", tabindex: "0" }, detail);
      const hint = h("p", { class: "app-unread", hidden: true }, readFirst);
      const buttons = h("p", { class: "app-buttons" }, approve, deny);
      const asked = h("p", { dir: "auto" }, text);
      const look = { role: "group", "aria-label": text };
      this.element.replaceChildren(h("div", look, asked, detail && value, hint, buttons));
      // The user may be at the end of a high frame.
      this.element.scrollIntoView({ block: "nearest" });
      isResting = enableAtRest(approve, new Seen(this.element, ".app-unread, .app-buttons"), hint);
    });
  }
}

/**
 * Enable a button once it has stood still for a moment, and the whole text has been in view. An app
 * can move the button under a pointer that clicks in the app: its frame changes its height, and
 * scrolls the page. Return whether it stands still.
 * @param {HTMLButtonElement} button @param {Seen} seen @param {HTMLElement} hint
 */
function enableAtRest(button, seen, hint) {
  let place = "";
  let movedAt = 0;
  const isResting = () => {
    const { x, y } = button.getBoundingClientRect();
    const next = `${Math.round(x)} ${Math.round(y)}`;
    if (next !== place) movedAt = performance.now();
    place = next;
    return performance.now() - movedAt >= REST_MS;
  };
  const look = () => {
    const isRead = seen.look();
    hint.hidden = isRead;
    // A button that is disabled loses the focus, which an app can't bring here.
    const isStill = isResting() || button.matches(":focus");
    button.disabled = !isRead || !isStill;
    if (button.isConnected) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  return isResting;
}
