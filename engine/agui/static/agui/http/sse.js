// @ts-check
/**
 * From bytes to events: the part of server-sent events that AG-UI uses. The parser skips comments,
 * `event:` and `retry:`, and drops an event that the end of the stream cuts off.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */

/** @typedef {{ id: string, data: string }} Frame */

export class SseParser {
  #buffer = "";
  /** Whether the buffer ends with a carriage return, which may be half of a line's end. */
  #isHalf = false;
  #id = "";
  /** @type {string[]} */
  #data = [];

  /**
   * Add the next piece of text, which may end anywhere, and return the frames that it completes.
   * @param {string} text
   * @returns {Frame[]}
   */
  push(text) {
    this.#buffer += text;
    // A long line comes in many pieces, so search each piece for its end, and not the whole line
    // again.
    if (!this.#isHalf && !/[\r\n]/.test(text)) return [];
    const lines = this.#buffer.split(/\r\n|\n|\r(?!$)/);
    this.#buffer = lines.pop() ?? "";
    this.#isHalf = this.#buffer.endsWith("\r");
    const frames = [];
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length) frames.push(this.#frame());
    }
    return frames;
  }

  /** @param {string} line */
  #field(line) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }

  #frame() {
    const frame = { id: this.#id, data: this.#data.join("\n") };
    this.#data = [];
    return frame;
  }
}

/**
 * Yield the events of a response's body.
 * Throws when nothing at all, not even a heartbeat, arrives for `idleSeconds`: after sleep or a
 * change of network, a dead connection would otherwise wait for ever.
 * @param {ReadableStream<Uint8Array>} body
 * @param {{ idleSeconds?: number }} [options]
 * @returns {AsyncGenerator<{ id: string, event: import("../types.d.ts").AguiEvent }>} not validated
 */
export async function* readEvents(body, { idleSeconds = 60 } = {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new SseParser();
  let heardAt = Date.now();
  let isSilent = false;
  // Use the wall clock, so that time asleep counts as silence.
  const watch = setInterval(() => {
    if (Date.now() - heardAt < idleSeconds * 1000) return;
    isSilent = true;
    reader.cancel().catch(() => {});
  }, Math.min(idleSeconds * 250, 5000));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isSilent) throw new Error("The connection is silent.");
      if (done) return;
      heardAt = Date.now();
      for (const { id, data } of parser.push(decoder.decode(value, { stream: true }))) {
        const event = parse(data);
        if (event) yield { id, event };
      }
    }
  } finally {
    clearInterval(watch);
    reader.cancel().catch(() => {});
  }
}

/** @param {string} data */
function parse(data) {
  try {
    return JSON.parse(data);
  } catch {
    console.warn("agui-chat: an event that is not JSON was dropped.");
    return null;
  }
}
