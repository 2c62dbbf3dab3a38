// @ts-check
/** Show the title that a model makes of a conversation, some seconds after its first answer. */

import { isPrompt } from "../agui/conversation/messages.js";

/** When to look for the title, after the answer: models take a second, or several. */
const LOOK_MS = [1500, 3000, 6000];

/**
 * A run has ended. Look for a title if it was the first of its conversation.
 * @param {import("../agui/agui-chat.d.ts").AguiChatElement} host
 */
export async function ended(host) {
  const { session, client } = host;
  const { threadId, conversation } = session;
  const prompts = conversation.messages.filter(isPrompt);
  if (prompts.length !== 1 || conversation.status !== "idle" || !client.hasThreads) return;
  for (const pause of LOOK_MS) {
    await new Promise((done) => setTimeout(done, pause));
    if (session.threadId !== threadId || !host.isConnected) return;
    const { threads } = await client.threads({ limit: 10 }).catch(() => ({ threads: [] }));
    /** @type {{ thread_id: string, title: string }[]} */
    const rows = threads;
    const row = rows.find(({ thread_id: id }) => id === threadId);
    if (!row || session.threadId !== threadId) return;
    const before = session.title;
    if (row.title === before) continue;
    client.tell({ kind: "renamed", threadId, title: row.title });
    if (before) return; // The user's first words were the title until now.
  }
}
