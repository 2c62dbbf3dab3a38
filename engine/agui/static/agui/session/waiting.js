// @ts-check
/**
 * Send a message, or open a conversation, and wait for what becomes of it. Loaded by pages that
 * wait.
 */

/** @typedef {import("../types.d.ts").Session} Session */
/** @typedef {import("../agui-chat.d.ts").AguiChatElement} Chat */
/** @typedef {import("../agui-chat.d.ts").Outcome} Outcome */

/**
 * Resolve when the message's run has ended or waits for the user. Rejects if the message was not
 * sent, or if the chat no longer follows its run.
 * @param {Chat} chat @param {Parameters<Chat["send"]>} message @returns {Promise<Outcome>}
 */
export async function sendAndWait(chat, ...message) {
  const { session } = chat;
  if (session.loading) await untilLoaded(session);
  /** @type {string | undefined} */
  let id;
  const started = (/** @type {any} */ { detail }) => (id = (detail.messages?.[0] ?? detail).id);
  for (const type of ["start", "kept"]) session.addEventListener(type, started);
  const isSent = chat.sendMessage(...message);
  for (const type of ["start", "kept"]) session.removeEventListener(type, started);
  if (!isSent) throw new DOMException("The message can't be sent now.", "InvalidStateError");
  return follow(session, id ?? session.queued?.id);
}

/**
 * Wait for the end of the run that a message begins; it may be queued before.
 * @param {Session} session @param {string | undefined} id of the message
 * @returns {Promise<Outcome>}
 */
function follow(session, id) {
  const { threadId } = session;
  const abort = new AbortController();
  /** @type {PromiseWithResolvers<Outcome>} */
  const { promise, resolve, reject } = Promise.withResolvers();
  const fail = (/** @type {string} */ text) => reject(new DOMException(text, "AbortError"));
  const isQueued = () => session.queued?.id === id || session.later?.has(id ?? "");
  const isRead = () => session.conversation.messages.some((message) => message.id === id);
  let isBegun = !isQueued();
  /** @type {Record<string, (detail: any) => void>} */
  const listeners = {
    start: ({ messages }) => (isBegun ||= messages[0]?.id === id),
    end: () => isBegun && !isQueued() && resolve(outcomeOf(session)),
    returned: (message) => {
      if (!isBegun || message.id === id) fail("The message was given back to the user.");
    },
    change: () => {
      if (session.threadId !== threadId) return fail("Another conversation is open.");
      if (isQueued()) isBegun = false;
      else if (isRead()) {
        isBegun = true;
        if (!session.busy && !session.loading) resolve(outcomeOf(session)); // Its end was not seen.
      }
      // A queued message leaves the queue just before it is sent.
      else queueMicrotask(() => isBegun || fail("The message was taken back."));
    },
  };
  for (const [type, heard] of Object.entries(listeners)) {
    /** @param {any} event */
    const listener = ({ detail }) => heard(detail);
    session.addEventListener(type, listener, { signal: abort.signal });
  }
  return promise.finally(() => abort.abort());
}

/**
 * Resolve when the conversation is shown; reject if it can't be.
 * @param {Chat} chat @param {string} threadId @returns {Promise<Outcome>}
 */
export async function openAndWait(chat, threadId) {
  const { session } = chat;
  chat.openThread(threadId);
  if (session.loading) await untilLoaded(session);
  if (session.threadId !== threadId) {
    throw new DOMException("The conversation is not there, or another one is open.", "AbortError");
  }
  const { messages, error } = session.conversation;
  if (error && !messages.length) {
    throw new DOMException(error.message ?? error.code, "NetworkError");
  }
  if (!document.hidden) await new Promise(requestAnimationFrame); // It is drawn then.
  return outcomeOf(session);
}

/** @param {Session} session @returns {Outcome} */
function outcomeOf({ conversation: { status, error } }) {
  return { status, error };
}

/** @param {Session} session @returns {Promise<void>} */
function untilLoaded(session) {
  return new Promise((resolve) => {
    const changed = () => {
      if (session.loading) return;
      session.removeEventListener("change", changed);
      resolve();
    };
    session.addEventListener("change", changed);
  });
}
