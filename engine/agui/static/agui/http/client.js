// @ts-check
/** The agent's HTTP interface. This module knows URLs, bodies and errors, and has no state. */
import { readEvents } from "./sse.js";

/** @typedef {import("../types.d.ts").WholeThread} Thread */
/** @typedef {import("../types.d.ts").ThreadChange} ThreadChange */
/** @typedef {import("../types.d.ts").ThreadRow} ThreadRow */

/** A refusal of the server: its code, its sentence and the HTTP status. */
export class HttpError extends Error {
  /**
   * @param {number} status @param {{ error?: string, message?: string, resets_at?: string,
   *   kinds?: string[] }} body
   */
  constructor(status, { error, message, resets_at, kinds } = {}) {
    super(message ?? `HTTP ${status}`);
    this.status = status;
    this.until = resets_at;
    this.kinds = kinds;
    this.code = status === 401 ? "unauthorized" : (error ?? "http_error");
  }
}

/**
 * Dispatches "done" (detail: a change of a thread, as a message of tabs.js) and "refused" if nobody
 * is signed in.
 */
export class AgentClient extends EventTarget {
  #urls;
  #request;

  /**
   * Every request calls both functions again: URLs, credentials and headers may change at any time.
   * @param {() => { run: string, tools?: string, skills?: string, threads?: string }} urls
   * @param {(url: string, init: RequestInit) => Promise<Response>} request
   */
  constructor(urls, request) {
    super();
    this.#urls = urls;
    this.#request = request;
  }

  /**
   * Start a run and yield its events.
   * @param {import("../types.d.ts").RunInput} input
   * @param {AbortSignal} signal
   */
  async run(input, signal) {
    const body = JSON.stringify(input);
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
    const response = await this.send(this.#urls().run, { method: "POST", body, headers, signal });
    return events(response);
  }

  /**
   * Yield the events of the thread's active or last run after `lastEventId`; null if there is none.
   * @param {string} threadId
   * @param {string | null} lastEventId
   * @param {AbortSignal} signal
   */
  async follow(threadId, lastEventId, signal) {
    const headers = {
      Accept: "text/event-stream",
      ...(lastEventId && { "Last-Event-ID": lastEventId }),
    };
    const response = await this.send(this.address(threadId, "events/"), { headers, signal });
    return response.status === 204 ? null : events(response);
  }

  /** Ask the server to stop the run; false if nothing was running. @param {string} threadId */
  async cancel(threadId) {
    const response = await this.send(this.address(threadId, "cancel/"), { method: "POST" });
    return response.status !== 204;
  }

  /**
   * @param {{ q?: string, cursor?: string | null, limit?: number, archived?: boolean }} [options]
   * @returns {Promise<{ threads: ThreadRow[], next: string | null }>}
   */
  threads(options = {}) {
    const query = new URLSearchParams(
      Object.entries(options).flatMap(([name, value]) => (value ? [[name, `${value}`]] : [])),
    );
    return this.#json(`${this.#urls().threads}?${query}`);
  }

  /** @param {string} threadId @param {AbortSignal} [signal] @returns {Promise<Thread>} */
  thread(threadId, signal) {
    return this.#json(this.address(threadId), { signal });
  }

  /** @param {string} threadId @param {string} title @returns {Promise<ThreadRow>} */
  async rename(threadId, title) {
    /** @type {ThreadRow} */
    const row = await this.#patch(threadId, { title });
    this.tell({ kind: "renamed", threadId, title });
    return row;
  }

  /**
   * Switch to another version of a message. Returns the thread.
   * @param {string} threadId @param {string} branch @param {AbortSignal} signal
   * @returns {Promise<Thread>}
   */
  switchBranch(threadId, branch, signal) {
    return this.#patch(threadId, { branch }, signal);
  }

  /**
   * Say whether its answers have been seen, and which list has it where.
   * @param {string} threadId
   * @param {{ unread?: boolean, pinned?: boolean, archived?: boolean }} marks one of them
   * @returns {Promise<ThreadRow>}
   */
  mark(threadId, marks) {
    return this.#patch(threadId, marks);
  }

  /**
   * @template T
   * @param {string} threadId @param {object} change @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  #patch(threadId, change, signal) {
    const headers = { "Content-Type": "application/json" };
    return this.#json(this.address(threadId), {
      method: "PATCH",
      body: JSON.stringify(change),
      headers,
      signal,
    });
  }

  /** @param {string} threadId */
  async remove(threadId) {
    // The request must survive the page, which may be closing.
    await this.send(this.address(threadId), { method: "DELETE", keepalive: true });
    this.tell({ kind: "removed", threadId });
  }

  /** @returns {Promise<import("../types.d.ts").Tool[]>} */
  async tools() {
    const url = this.#urls().tools;
    return url ? this.#json(url) : [];
  }

  /** @returns {Promise<import("../types.d.ts").Skill[]>} */
  async skills() {
    const url = this.#urls().skills;
    return url ? this.#json(url) : [];
  }

  /** Whether the server has an address for threads. */
  get hasThreads() {
    return Boolean(this.#urls().threads);
  }

  /**
   * The address of a thread, or of a route below it.
   * @param {string} threadId @param {string} [rest]
   */
  address(threadId, rest = "") {
    return `${this.#urls().threads}${encodeURIComponent(threadId)}/${rest}`;
  }

  /** @template T @param {string} url @param {RequestInit} [init] @returns {Promise<T>} */
  async #json(url, init) {
    return (await this.send(url, { headers: { Accept: "application/json" }, ...init })).json();
  }

  /** @param {string} url @param {RequestInit} init */
  async send(url, init) {
    const response = await this.#request(url, init);
    if (response.status === 401) this.dispatchEvent(new CustomEvent("refused"));
    return checked(response);
  }

  /** Tell this tab and the user's others of a change. @param {ThreadChange} detail */
  tell(detail) {
    this.dispatchEvent(new CustomEvent("done", { detail }));
  }
}

/** Throw an HttpError for a refusal. @param {Response} response */
export async function checked(response) {
  if (response.ok) return response;
  throw new HttpError(response.status, await response.json().catch(() => ({})));
}

/** @param {Response} response */
function events(response) {
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.body || !type.startsWith("text/event-stream"))
    throw new HttpError(502, { error: "not_a_stream" });
  return readEvents(response.body);
}
