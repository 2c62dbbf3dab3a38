// @ts-check
/** Continue from an answer in a new conversation; this one stays as it is. */

/** @typedef {import("../agui-chat.d.ts").AguiChatElement} Chat */

/** The bars whose conversation is on its way. @type {WeakSet<object>} */
const going = new WeakSet();

/** @param {import("./answer-bar.js").AnswerBar} bar */
export async function fork(bar) {
  if (going.has(bar)) return;
  going.add(bar);
  const { client } = bar.context;
  const host = /** @type {Chat} */ (bar.context.host);
  const threadId = /** @type {string} */ (host.threadId);
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ message_id: bar.answer?.id });
  try {
    const address = client.address(threadId, "fork/");
    const response = await client.send(address, { method: "POST", headers, body });
    const { thread_id: id } = await response.json();
    client.tell({ kind: "changed", threadId: id });
    if (host.threadId === threadId) host.openThread(id);
  } catch (error) {
    console.warn("agui-chat:", error);
    bar.note(bar.words.forkFailed);
  }
  going.delete(bar);
}
