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
      isResting = followPlace(approve);
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
      enableOnceRead(approve, value, hint);
    });
  }
}

/**
 * Return a function that says whether an element has stood still for a moment. An app can move it
 * under a pointer that clicks in the app: its frame changes its height, and scrolls the page.
 * @param {Element} element
 */
function followPlace(element) {
  let place = "";
  let movedAt = 0;
  const look = () => {
    const { x, y } = element.getBoundingClientRect();
    const next = `${Math.round(x)} ${Math.round(y)}`;
    if (next !== place) movedAt = performance.now();
    place = next;
    return performance.now() - movedAt >= REST_MS;
  };
  const follow = () => {
    look();
    if (element.isConnected) requestAnimationFrame(follow);
  };
  requestAnimationFrame(follow);
  return look;
}

/**
 * Enable a button after a moment, and once the whole text has been in view: its end may be far
 * below a harmless beginning.
 * @param {HTMLButtonElement} button @param {Element} text @param {HTMLElement} hint
 */
function enableOnceRead(button, text, hint) {
  const look = () => {
    const isRead = text.scrollTop + text.clientHeight >= text.scrollHeight - 1;
    hint.hidden = isRead;
    if (isRead) {
      button.disabled = false;
      text.removeEventListener("scroll", look);
    }
  };
  setTimeout(() => {
    text.addEventListener("scroll", look);
    look();
  }, REST_MS);
}
