// @ts-check
/**
 * A run that ends while the user looks at another tab: the title of the page says so, and a
 * notification, if the user has wanted one. Only a click of theirs asks the browser for permission.
 */
import { h, iconButton } from "../dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const BACKGROUND_WORDS = {
  answerReady: "The answer is ready",
  questionReady: "The assistant has a question for you",
  runFailed: "The answer failed",
  offerNotice: "An answer came while you were away.",
  notifyMe: "Notify me next time",
  notifyDenied: "The browser doesn't let this page notify you.",
};

/** @typedef {import("../types.d.ts").PageContext} Context */

const MARK = "● ";
const DECLINED = "notify:declined";

/** @type {WeakSet<HTMLElement>} chats that are watched */
const watched = new WeakSet();

/** Wait for the end of the run that is on. @param {Context} context */
export function watch(context) {
  const { host, panel } = context;
  if (watched.has(panel)) return;
  watched.add(panel);
  const abort = new AbortController();
  let hasEnded = false;
  const ended = () => {
    if (!document.hidden || host.session.busy) return;
    hasEnded = true;
    markTitle();
    notify(context);
  };
  const seen = () => {
    if (document.hidden) return;
    watched.delete(panel);
    abort.abort();
    unmarkTitle();
    if (hasEnded) offer(context);
  };
  host.addEventListener("ag-ui-run-finished", ended, { signal: abort.signal });
  document.addEventListener("visibilitychange", seen, { signal: abort.signal });
  seen();
}

function markTitle() {
  if (!document.title.startsWith(MARK)) document.title = MARK + document.title;
}

function unmarkTitle() {
  if (document.title.startsWith(MARK)) document.title = document.title.slice(MARK.length);
}

/** @param {Context} context */
function notify({ host, strings }) {
  if (!globalThis.Notification || Notification.permission !== "granted") return;
  const words = { ...BACKGROUND_WORDS, ...strings };
  const { status } = host.session.conversation;
  const ends = { waiting: words.questionReady, failed: words.runFailed };
  const text = ends[/** @type {keyof typeof ends} */ (status)] ?? words.answerReady;
  try {
    // What a conversation is about is nothing for a locked screen.
    const notice = new Notification(words.title, { body: text, tag: host.threadId ?? "" });
    notice.onclick = () => {
      focus();
      notice.close();
    };
  } catch (error) {
    console.warn("agui-chat:", error); // Android only shows those of a service worker
  }
}

/** Offer a notification for the next time, once. @param {Context} context */
function offer({ panel, strings, memory, composer }) {
  const isOpen = globalThis.Notification?.permission === "default" && isSecureContext;
  if (!isOpen || memory.noted(DECLINED) || panel.querySelector(".notify")) return;
  const words = { ...BACKGROUND_WORDS, ...strings };
  const text = h("span", {}, words.offerNotice);
  const ask = async () => {
    const permission = await Notification.requestPermission();
    if (permission === "granted") bar.remove();
    else text.textContent = words.notifyDenied;
    button.remove();
  };
  const look = { type: "button", class: "button quiet", onclick: ask };
  const button = h("button", look, words.notifyMe);
  const decline = () => {
    memory.note(DECLINED, "1");
    bar.remove();
  };
  const bar = h(
    "div", { class: "notify", part: "notify", role: "status" },
    text, button, iconButton("close", words.close, decline),
  );
  composer.element.before(bar);
}
