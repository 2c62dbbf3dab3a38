// @ts-check
/**
 * Messages that wait on the server while the agent works. This is loaded with the first
 * conversation. What shows them comes with the first one, or when the user writes during a run.
 */
import { lazy } from "../agui/dom/lazy.js";
import { Requests } from "./requests.js";
import { Waiting } from "./waiting.js";

/** @typedef {import("../agui/types.d.ts").PageContext} Context */

/** In English; the tables of other languages have these, too. */
export const WAITING_KEY_WORDS = {
  shortcutNextStep: "Send, to be read at the next step",
  shortcutMove: "Move a message that waits",
};

/** @param {Context} context */
export function attend(context) {
  const { host, composer, memory } = context;
  const { session } = host;
  /** @type {{ modes: import("./rows.js").Mode[], max: number }} */
  const { modes, max } = JSON.parse(host.dataset.queue || "{}");
  if (!modes?.length) return;
  const requests = new Requests(host);
  const waiting = new Waiting(session, requests, memory, { modes, max });
  session.later = waiting;
  listen(waiting, host);
  listenToKeys(waiting, context);
  /** @type {Promise<unknown> | undefined} */
  let loading;
  const show = () => {
    const { all, problem } = waiting.rows;
    const isWanted = all.length || problem || (session.busy && composer.text);
    if (!isWanted || loading) return;
    loading = lazy(() => import("./panel.js")).then((module) => {
      if (module) new module.Panel(waiting, context);
      else loading = undefined;
    });
  };
  waiting.rows.addEventListener("change", show);
  session.addEventListener("change", show);
  composer.input.addEventListener("input", show);
  show();
}

/**
 * Keep to what the browser and the user's other tabs tell.
 * @param {Waiting} waiting @param {Context["host"]} host
 */
function listen(waiting, host) {
  const look = () => {
    if (!document.hidden && host.isConnected) waiting.list.refreshSoon();
  };
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  addEventListener("online", () => waiting.tryAgain());
  host.addEventListener("ag-ui-submit", (event) => {
    if (waiting.refuse()) event.preventDefault();
  });
}

/**
 * Ctrl+Enter sends in the other mode. This hears of it before the input does.
 * @param {Waiting} waiting @param {Context} context
 */
function listenToKeys(waiting, { panel, composer }) {
  /** @param {KeyboardEvent} event */
  const press = ({ key, ctrlKey, metaKey }) => {
    const isOther = key === "Enter" && (ctrlKey || metaKey) && composer.hasFocus;
    waiting.next = (isOther && waiting.modes[1]) || null;
  };
  panel.addEventListener("keydown", press, { capture: true });
  panel.addEventListener("pointerdown", () => (waiting.next = null), { capture: true });
}

/** @param {import("../agui/types.d.ts").Strings} strings @returns {[string, string][]} */
export function shortcuts(strings) {
  const words = { ...WAITING_KEY_WORDS, ...strings };
  return [
    ["Ctrl+Enter", words.shortcutNextStep],
    ["Alt+↑ ↓", words.shortcutMove],
  ];
}
