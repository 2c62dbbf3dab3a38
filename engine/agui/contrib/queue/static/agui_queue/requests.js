// @ts-check
/** The requests about messages that wait. */
import { readContext } from "../agui/session/turns.js";

/** @typedef {import("../agui/types.d.ts").Message} Message */
/** @typedef {import("./rows.js").Mode} Mode */
/** @typedef {{ run_id: string } | null} Run */
/** @typedef {{ error: string, message: string } | null} Refusal */
/**
 * @typedef {{ message_id: string, message: Message | null, mode: Mode, state: string }} Listed
 */
/** @typedef {{ run: Run, held: string | null }} Stand */

/** Browsers let go of 64 kB of them; a character is at most 3 bytes. */
const MOST_KEPT_ALIVE = 20_000;
const NO_PARAMETERS = { type: "object", properties: {} };

export class Requests {
  #host;

  /** @param {import("../agui/agui-chat.d.ts").AguiChatElement} host */
  constructor(host) {
    this.#host = host;
  }

  /** @param {string} threadId @returns {Promise<Stand & { messages: Listed[] }>} */
  list(threadId) {
    return this.#send(threadId, "GET");
  }

  /**
   * Send a message, or all that wait. A run that begins with it has the page's tools and context.
   * @param {string} threadId @param {{ message?: Message, mode?: Mode }} body
   * @returns {Promise<Listed & Stand & { refusal: Refusal }>}
   */
  async post(threadId, body) {
    const { session, tools } = this.#host;
    const offered = tools.map(({ name, description = "", parameters = NO_PARAMETERS }) => {
      return { name, description, parameters };
    });
    const { forwardedProps } = session;
    const context = await readContext(session.getContext);
    return this.#send(threadId, "POST", { ...body, tools: offered, context, forwardedProps });
  }

  /**
   * @param {string} threadId
   * @param {{ message_id: string, message?: Message, mode?: Mode, position?: number }} change
   * @returns {Promise<Listed>}
   */
  change(threadId, change) {
    return this.#send(threadId, "PATCH", change);
  }

  /** @param {string} threadId @param {string} messageId */
  async remove(threadId, messageId) {
    const query = `?message_id=${encodeURIComponent(messageId)}`;
    const { client } = this.#host;
    const init = { method: "DELETE", keepalive: true };
    await client.send(client.address(threadId, `messages/${query}`), init);
  }

  /**
   * @template T
   * @param {string} threadId @param {string} method @param {object} [body]
   * @returns {Promise<T>}
   */
  async #send(threadId, method, body) {
    const { client } = this.#host;
    const headers = { Accept: "application/json", "Content-Type": "application/json" };
    const text = body && JSON.stringify(body);
    // A page that is left loses no change of the user. A message is sent again by the next page.
    const keepalive = method === "PATCH" && String(text).length < MOST_KEPT_ALIVE;
    const init = { method, headers, keepalive, ...(text && { body: text }) };
    return (await client.send(client.address(threadId, "messages/"), init)).json();
  }
}
