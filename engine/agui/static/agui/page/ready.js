// @ts-check
/**
 * What must be there before it is needed, loaded while the browser has nothing else to do: what
 * tells of a lost connection, what draws the whole conversation on paper, and what fingers do.
 */
import { adopt } from "../dom/own-style.js";
import { isTouch } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";

/** @typedef {import("../agui-chat.d.ts").AguiChatElement} Host */
/**
 * @typedef {{
 *   transcript: import("../messages/transcript.js").Transcript, host: Host,
 *   strings: import("../words/strings.js").Strings,
 * }} Parts
 */

/** The part of the chat that an on-screen keyboard covers, if the browser leaves that to us. */
const STYLE = `
.panel, .drawer:modal { padding-bottom: var(--_keyboard, 0); }
`;
const SMALLEST_KEYBOARD = 80;

/**
 * @param {HTMLElement} panel @param {Parts} parts
 * @param {() => Promise<import("../threads/drawer.js").ThreadsDrawer | null>} loadThreads
 */
export function prepare(panel, parts, loadThreads) {
  const load = () => {
    lazy(() => import("../messages/turn-notes.js"));
    lazy(() => import("../messages/queued.js"));
    lazy(() => import("./print.js")).then((it) => it?.preparePrint(panel, parts));
    if (isTouch()) followFingers(panel, parts, loadThreads);
  };
  // A collapsed chat of another page may never be opened.
  if (panel.offsetParent) load();
  else panel.addEventListener("focusin", load, { once: true });
}

/** @param {Parameters<typeof prepare>} context */
async function followFingers(...[panel, { host }, loadThreads]) {
  stayAboveKeyboard(panel);
  if (!host.client.hasThreads) return;
  const touch = await lazy(() => import("../threads/touch.js"));
  touch?.swipeToOpen(panel, loadThreads);
}

/**
 * Keep the input above an on-screen keyboard. Safari moves the page below it, and shrinks nothing.
 * @param {HTMLElement} panel
 */
function stayAboveKeyboard(panel) {
  const view = /** @type {VisualViewport} */ (visualViewport);
  adopt(panel, STYLE);
  const fit = () => {
    const { bottom } = panel.getBoundingClientRect();
    const covered = bottom - view.offsetTop - view.height;
    // A zoomed page has a small view, too, and a sheet over the page fits itself (placement.js).
    const isKeyboard = view.scale === 1 && covered > SMALLEST_KEYBOARD;
    const isSheet = panel.parentElement?.matches(":modal");
    panel.style.setProperty("--_keyboard", isKeyboard && !isSheet ? `${covered}px` : null);
  };
  for (const type of ["resize", "scroll"]) view?.addEventListener(type, fit);
}
