// @ts-check
/** Open a conversation at a message that a search has found, and show its words for a moment. */
import { textOf } from "../conversation/messages.js";
import { lazy } from "../dom/lazy.js";
import { bringIntoView, drawn, dressMarks, flash, rangesIn } from "../messages/marks.js";
import { clearHighlights, highlight, revealQuietly } from "../messages/marks.js";
import { placesOf, termsOf } from "../messages/matching.js";

/** @typedef {import("../types.d.ts").PageContext} Context */
/** @typedef {import("../types.d.ts").FoundThread} FoundThread */

const SHOWN_MS = 3000;
/** How long a conversation that was just drawn may still move. */
const SETTLING_MS = [50, 100, 200, 400, 800];
const READERS = ["user", "assistant"];

/** @param {Context} context @param {FoundThread} found @param {string} query */
export async function showFound(context, found, query) {
  const { host, log } = context;
  const { session } = host;
  if (session.threadId !== found.thread_id) host.openThread(found.thread_id);
  else host.focus();
  if (!(await loaded(session, found.thread_id))) return;
  const terms = termsOf(query);
  const id = messageOf(session, found, terms);
  if (!id) return;
  // Markdown changes the heights of messages.
  await lazy(() => import("../messages/reading.js"));
  await drawn();
  const message = revealQuietly(context, id);
  if (!message || session.threadId !== found.thread_id) return;
  await drawn();
  dressMarks(log);
  flash(message);
  message.tabIndex = -1;
  message.focus({ preventScroll: true });
  await stay(log, message, terms);
  setTimeout(() => !isSearched(log) && clearHighlights(log), SHOWN_MS);
}

/** Whether the user searches in the conversation meanwhile. @param {HTMLElement} log */
const isSearched = (log) => log.nextElementSibling?.matches(".find");

/**
 * Bring the words into view, and again while Markdown, code and earlier messages move them, unless
 * the user scrolls.
 * @param {HTMLElement} log @param {HTMLElement} message @param {string[]} terms
 */
async function stay(log, message, terms) {
  const abort = new AbortController();
  const { signal } = abort;
  for (const type of ["wheel", "pointerdown", "touchmove", "keydown"]) {
    log.addEventListener(type, () => abort.abort(), { signal, passive: true });
  }
  for (const pause of SETTLING_MS) {
    if (!message.isConnected || isSearched(log)) break;
    const ranges = rangesIn(message, terms);
    if (!signal.aborted) bringIntoView(log, ranges[0] ?? message);
    highlight(log, ranges);
    await new Promise((done) => setTimeout(done, pause));
  }
  abort.abort();
}

/**
 * Wait until the messages of a thread are there; false if the user has left it meanwhile.
 * @param {import("../session/session.js").Session} session @param {string} threadId
 * @returns {Promise<boolean>}
 */
function loaded(session, threadId) {
  const abort = new AbortController();
  return new Promise((done) => {
    const look = () => {
      const isGone = session.threadId !== threadId;
      if (!isGone && session.loading) return;
      abort.abort();
      done(!isGone);
    };
    session.addEventListener("change", look, { signal: abort.signal });
    look();
  });
}

/**
 * The message that was found, or, if that is in another version of the thread, the one with
 * most of the words.
 * @param {import("../session/session.js").Session} session @param {FoundThread} found
 * @param {string[]} terms
 */
function messageOf({ conversation }, { message_id: id }, terms) {
  const { messages } = conversation;
  if (!id || messages.some((message) => message.id === id)) return id;
  /** @param {import("../types.d.ts").Message} message */
  const count = ({ role, content }) => {
    const text = READERS.includes(role) ? textOf(content) : "";
    return terms.filter((term) => placesOf(text, [term]).length).length;
  };
  const counts = messages.map(count);
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  return most ? messages[counts.indexOf(most)].id : undefined;
}
