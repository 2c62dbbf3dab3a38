// @ts-check
/** Continue from an answer in a new conversation; this one stays as it is. */
import { iconButton } from "../dom/elements.js";

const ICON = "M7 4v16M7 14c7 0 10-2 10-9M13.5 8.5 17 5l3.5 3.5";

/** @typedef {import("../agui-chat.d.ts").AguiChatElement} Chat */

/** @param {import("./answer-bar.js").AnswerBar} bar */
export function forkButton(bar) {
  const { fork, forkFailed } = bar.words;
  const { client } = bar.context;
  const host = /** @type {Chat} */ (bar.context.host);
  let goes = false;
  const go = async () => {
    if (goes) return;
    goes = true;
    const { threadId } = host;
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ message_id: bar.answer?.id });
    try {
      const address = client.address(/** @type {string} */ (threadId), "fork/");
      const response = await client.send(address, { method: "POST", headers, body });
      const { thread_id: id } = await response.json();
      client.tell({ kind: "changed", threadId: id });
      if (host.threadId === threadId) host.openThread(id);
    } catch (error) {
      console.warn("agui-chat:", error);
      bar.note(forkFailed);
    }
    goes = false;
  };
  return iconButton("fork", fork, go, {}, ICON);
}
