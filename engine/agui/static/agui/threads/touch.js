// @ts-check
/**
 * Fingers and the list of conversations: a swipe from the edge opens it, a swipe back closes it,
 * and a long press on a row opens its menu. Only touch screens load this module.
 */
import { adopt } from "../dom/own-style.js";

/** A swipe begins so near the edge; the very edge belongs to the browser's own gesture. */
const EDGE_PIXELS = 56;
/** A finger that moves less has not moved. */
const STILL_PIXELS = 10;
const PRESS_MS = 450;
const SETTLE_MS = 160;
/** A faster finger decides by its direction, in pixels a millisecond. */
const FLING = 0.4;
/** What scrolls to the side by itself. */
const SCROLLS = "pre, .table, input, textarea, select, [popover]";
/** The browser leaves movements to the side to this module. */
const STYLE = `
.log, .drawer, .drawer-body { touch-action: pan-y pinch-zoom; }
.drawer.dragged { animation: none; }
`;

/** @typedef {{ element: HTMLDialogElement, close: () => void }} List */

/**
 * Open the list with a swipe from the edge of the chat.
 * @param {HTMLElement} panel
 * @param {() => Promise<List & { toggle: () => void } | null>} load
 */
export function swipeToOpen(panel, load) {
  adopt(panel, STYLE);
  onSwipe(panel, {
    begins: ({ clientX, target }) => {
      const { left, right } = panel.getBoundingClientRect();
      const fromEdge = isMirrored(panel) ? right - clientX : clientX - left;
      const isFree = !panel.querySelector("dialog[open]") && !`${getSelection()}`;
      const scrolls = /** @type {Element} */ (target).closest(SCROLLS);
      return isFree && fromEdge < EDGE_PIXELS && !scrolls;
    },
    forward: true,
    open: async () => {
      const list = await load();
      if (list && !list.element.open) list.toggle();
      return list;
    },
  });
}

/**
 * Close an open list with a swipe, and open the menus of its rows.
 * @param {List} list @param {HTMLElement} rows
 */
export function followFingers(list, rows) {
  const { element: dialog } = list;
  pressForMenu(rows);
  onSwipe(dialog, {
    begins: ({ target }) =>
      dialog.matches(":modal") && !(/** @type {Element} */ (target).closest("input, [popover]")),
    forward: false,
    open: async () => list,
  });
}

/** @param {Element} element */
const isMirrored = (element) => getComputedStyle(element).direction === "rtl";

/**
 * @param {HTMLElement} element
 * @param {{
 *   begins: (event: PointerEvent) => boolean, forward: boolean,
 *   open: () => Promise<List | null>,
 * }} swipe forward: away from the edge, which opens the list
 */
function onSwipe(element, { begins, forward, open }) {
  element.addEventListener("pointerdown", (down) => {
    if (down.pointerType !== "touch" || !down.isPrimary || !begins(down)) return;
    const sign = isMirrored(element) ? -1 : 1;
    const done = new AbortController();
    const { signal } = done;
    /** @type {Promise<List | null> | undefined} */
    let list;
    let [moved, speed, at] = [0, 0, down.timeStamp];
    const move = async (/** @type {PointerEvent} */ event) => {
      if (event.pointerId !== down.pointerId) return;
      const x = (event.clientX - down.clientX) * sign;
      const y = Math.abs(event.clientY - down.clientY);
      if (!list && (y > STILL_PIXELS || (forward ? x < -STILL_PIXELS : x > STILL_PIXELS))) {
        return done.abort();
      }
      if (event.timeStamp > at) speed = (x - moved) / (event.timeStamp - at);
      [moved, at] = [x, event.timeStamp];
      if (!list && Math.abs(x) < STILL_PIXELS) return;
      list ??= open();
      const { element: dialog } = (await list) ?? {};
      if (dialog && !signal.aborted) place(dialog, offsetOf(dialog));
    };
    /** How far the list is out of its place. @param {HTMLElement} dialog */
    const offsetOf = ({ offsetWidth: width }) =>
      sign * Math.max(-width, Math.min(0, forward ? moved - width : moved));
    const end = async (/** @type {PointerEvent} */ event) => {
      if (event.pointerId !== down.pointerId) return;
      done.abort();
      const opened = await list;
      if (!opened) return;
      const dialog = opened.element;
      const isFar = Math.abs(offsetOf(dialog)) > dialog.offsetWidth / 2;
      const isFling = event.type === "pointerup" && Math.abs(speed) > FLING;
      settle(dialog, offsetOf(dialog), (isFling ? speed < 0 : isFar) ? opened : null);
    };
    // The list makes the chat below it inert, so listen where every event passes.
    addEventListener("pointermove", move, { signal });
    for (const type of ["pointerup", "pointercancel"]) {
      addEventListener(type, /** @type {any} */ (end), { signal });
    }
  });
}

/** @param {HTMLElement} dialog @param {number} offset */
function place(dialog, offset) {
  dialog.classList.add("dragged");
  dialog.style.translate = `${offset}px`;
}

/**
 * Let the list glide to its place, or out of sight.
 * @param {HTMLElement} dialog @param {number} from
 * @param {List | null} leaving the list, if it goes
 */
async function settle(dialog, from, leaving) {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const sign = isMirrored(dialog) ? 1 : -1;
  const to = leaving ? sign * dialog.offsetWidth : 0;
  const translate = [`${from}px`, `${to}px`];
  const options = { duration: isStill ? 0 : SETTLE_MS, easing: "ease-out" };
  await dialog.animate({ translate }, options).finished.catch(() => {});
  leaving?.close();
  dialog.style.translate = "";
  dialog.classList.remove("dragged");
}

/** Open the menu of a row that is pressed for long. @param {HTMLElement} list */
function pressForMenu(list) {
  /** @type {PointerEvent | null} the finger that is down */
  let finger = null;
  let timer = 0;
  let isOpened = false;
  const stop = () => {
    clearTimeout(timer);
    finger = null;
  };
  list.addEventListener("pointerdown", (event) => {
    stop();
    isOpened = false;
    const target = /** @type {Element} */ (event.target);
    const row = target.closest(".thread")?.closest("li");
    if (event.pointerType !== "touch" || !event.isPrimary || !row) return;
    finger = event;
    timer = setTimeout(() => {
      isOpened = true;
      navigator.vibrate?.(10);
      /** @type {HTMLElement | null} */ (row.querySelector("[aria-haspopup=menu]"))?.click();
    }, PRESS_MS);
  });
  list.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (!finger || isOpened) return;
    if (Math.hypot(clientX - finger.clientX, clientY - finger.clientY) > STILL_PIXELS) stop();
  });
  for (const type of ["pointerup", "pointercancel"]) list.addEventListener(type, stop);
  // The menu takes the finger, because the browser closes a menu when a finger leaves elsewhere.
  list.addEventListener("toggle", ({ target, newState }) => {
    if (!finger || newState !== "open") return;
    /** @type {Element} */ (target).setPointerCapture(finger.pointerId);
  }, { capture: true });
  // The press was for the menu, and not for the row or the browser's own menu.
  list.addEventListener("contextmenu", (event) => (finger || isOpened) && event.preventDefault());
  list.addEventListener("click", (event) => {
    const isElsewhere = /** @type {Element} */ (event.target).closest("[popover], .icon-button");
    if (!isOpened || isElsewhere) return;
    isOpened = false;
    event.preventDefault();
    event.stopPropagation();
  }, { capture: true });
}
