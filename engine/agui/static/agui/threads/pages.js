// @ts-check
/** The server's list of conversations, page by page: load, search, rename and remove them. */

/**
 * @typedef {{
 *   thread_id: string, title: string, preview: string, updated_at: string, unread?: boolean,
 *   pinned?: boolean, archived?: boolean, running?: boolean, waiting?: boolean,
 *   excerpt?: string, message_id?: string | null,
 * }} Thread
 */

export class ThreadPages {
  query = "";
  /** Are these the archived ones? */
  archived = false;
  /** @type {string | null} where the next page begins */
  next = null;
  #client;
  /** @type {Thread[]} newest first */
  #threads = [];
  /** The ids of deleted threads, pending ones included. @type {Set<string>} */
  #hidden = new Set();
  #generation = 0;

  /** @param {import("../http/client.js").AgentClient} client */
  constructor(client) {
    this.#client = client;
  }

  /** The threads to show. */
  get shown() {
    return this.#threads.filter(({ thread_id: id }) => !this.#hidden.has(id));
  }

  get isRunning() {
    return this.#threads.some(({ running }) => running);
  }

  /**
   * Load the first page, or one more; false if another request has replaced this one.
   * @param {string} query @param {{ more: boolean }} options
   */
  async load(query, { more }) {
    const generation = ++this.#generation;
    const isCurrent = () => generation === this.#generation;
    try {
      const { threads, next } = await this.#client.threads({
        q: query,
        archived: this.archived,
        cursor: more ? this.next : null,
      });
      if (isCurrent()) this.#merge(threads, next, more, query);
    } catch (error) {
      if (isCurrent()) throw error;
    }
    return isCurrent();
  }

  /**
   * Add a page. The list may have shifted meanwhile, so no thread is listed twice.
   * @param {Thread[]} threads @param {string | null} next @param {boolean} more
   * @param {string} query
   */
  #merge(threads, next, more, query) {
    const ids = new Set(threads.map(({ thread_id: id }) => id));
    const others =
      query === this.query ? this.#threads.filter(({ thread_id: id }) => !ids.has(id)) : [];
    this.query = query;
    if (more) {
      this.#threads = [...others, ...threads];
      this.next = next;
      return;
    }
    // Reload only the first page, and keep the pages after it.
    const last = next ? Date.parse(threads[threads.length - 1].updated_at) : Infinity;
    const beyond = next ? others.filter(({ updated_at }) => Date.parse(updated_at) <= last) : [];
    this.#threads = [...threads, ...beyond];
    if (!beyond.length) this.next = next;
  }

  /** Forget all threads, and ignore requests that are still open. */
  clear() {
    this.#generation++;
    this.#threads = [];
    this.#hidden.clear();
    this.next = null;
    this.query = "";
  }

  /** @param {string} id */
  markSeen(id) {
    this.#change(id, { unread: false });
  }

  /**
   * Show another title. The list may have been loaded again while the user wrote.
   * @param {string} id @param {string} title
   */
  setTitle(id, title) {
    this.#change(id, { title });
  }

  /**
   * Pin or archive it; what other lists have is not shown any more.
   * @param {string} id @param {{ pinned?: boolean, archived?: boolean }} marks
   */
  async mark(id, marks) {
    await this.#client.mark(id, marks);
    this.#change(id, marks);
    this.#threads = this.#threads.filter(({ archived = false }) => archived === this.archived);
  }

  /** @param {string} id */
  hide(id) {
    this.#hidden.add(id);
  }

  /** @param {string} id */
  unhide(id) {
    this.#hidden.delete(id);
  }

  /** @param {string} id */
  async remove(id) {
    try {
      await this.#client.remove(id);
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) throw error;
    }
    this.#threads = this.#threads.filter((thread) => thread.thread_id !== id);
  }

  /** @param {string} id @param {Partial<Thread>} change */
  #change(id, change) {
    this.#threads = this.#threads.map((thread) =>
      thread.thread_id === id ? { ...thread, ...change } : thread,
    );
  }
}
