// @ts-check
/**
 * The open thread, and what the browser remembers of it: its id, in the address or the tab, and its
 * draft.
 */

/** @typedef {import("../composer/composer.js").Composer} Composer */

export class OpenThread {
  #session;
  #memory;
  #announce;
  #title = "";
  /** @type {string | null | undefined} the thread of the text in the input; undefined at first */
  #draftOf;

  /**
   * @param {import("../session/session.js").Session} session
   * @param {import("../session/thread-memory.js").ThreadMemory} memory
   * @param {(detail: { threadId: string | null, title: string }) => void} announce called
   *   with another thread or title
   */
  constructor(session, memory, announce) {
    this.#session = session;
    this.#memory = memory;
    this.#announce = announce;
  }

  /** Open the thread that the browser remembers, or that the address names. */
  restore() {
    if (this.#memory.isOff) return;
    const threadId = this.#memory.read();
    if (threadId === this.#session.threadId) return;
    if (threadId) this.#session.open(threadId);
    else this.#session.reset();
  }

  /** Remember and announce another open thread. @param {{ anew?: boolean }} [options] */
  remember(options) {
    this.#memory.write(this.#session.threadId, options);
    this.#tell();
  }

  /** Announce another title. */
  update() {
    if (this.#session.title !== this.#title) this.#tell();
  }

  /**
   * Put the draft of the open thread into the input. A draft for a new thread moves into that
   * thread.
   * @param {Composer} composer
   */
  switchDraft(composer) {
    const { threadId, busy } = this.#session;
    if (threadId === this.#draftOf) return;
    const isBegun = this.#draftOf === null && busy;
    this.#draftOf = threadId;
    if (isBegun) return this.#memory.keepDraft(null, "");
    composer.additions.rest();
    composer.text = this.#memory.draft(threadId);
  }

  /** @param {string} text */
  keepDraft(text) {
    this.#memory.keepDraft(this.#draftOf ?? null, text);
  }

  #tell() {
    const { threadId, title } = this.#session;
    this.#title = title;
    this.#announce({ threadId, title });
  }
}
