// @ts-check
/** The agent's HTTP interface. Knows URLs, bodies and errors; keeps nothing. */
import { readEvents } from "./sse.js";

/** A refusal: the server's code and sentence with the HTTP status. */
export class HttpError extends Error {
  /** @param {number} status @param {{ error?: string, message?: string, resets_at?: string }} body */
  constructor(status, { error, message, resets_at } = {}) {
    super(message ?? `HTTP ${status}`);
    this.status = status;
    this.until = resets_at;
    this.code = status === 401 ? "unauthorized" : (error ?? "http_error");
  }
}

/** Dispatches "done" (detail: what has become of a thread, as tabs.js tells it) and "refused" when nobody is signed in. */
export class AgentClient extends EventTarget {
  #urls;
  #request;

  /**
   * Both are asked again for every request: URLs, credentials and headers may change at any time.
   * @param {() => { run: string, tools?: string, skills?: string, threads?: string, attachments?: string }} urls
   * @param {(url: string, init: RequestInit) => Promise<Response>} request
   */
  constructor(urls, request) {
    super();
    this.#urls = urls;
    this.#request = request;
  }

  /**
   * Start a run and yield its events.
   * @param {any} input
   * @param {AbortSignal} signal
   */
  async run(input, signal) {
    const body = JSON.stringify(input);
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
    const response = await this.send(this.#urls().run, { method: "POST", body, headers, signal });
    return events(response);
  }

  /**
   * Yield the events of the thread's active or last run after `lastEventId`; null when there is none.
   * @param {string} threadId
   * @param {string | null} lastEventId
   * @param {AbortSignal} signal
   */
  async follow(threadId, lastEventId, signal) {
    const headers = { Accept: "text/event-stream", ...(lastEventId && { "Last-Event-ID": lastEventId }) };
    const response = await this.send(this.#thread(threadId, "events/"), { headers, signal });
    return response.status === 204 ? null : events(response);
  }

  /** Ask the server to stop; false when nothing was running. @param {string} threadId */
  async cancel(threadId) {
    const response = await this.send(this.#thread(threadId, "cancel/"), { method: "POST" });
    return response.status !== 204;
  }

  /** @param {{ q?: string, cursor?: string | null, limit?: number }} [options] */
  threads(options = {}) {
    const query = new URLSearchParams(Object.entries(options).flatMap(([name, value]) => (value ? [[name, `${value}`]] : [])));
    return this.#json(`${this.#urls().threads}?${query}`);
  }

  /** @param {string} threadId @param {AbortSignal} [signal] */
  thread(threadId, signal) {
    return this.#json(this.#thread(threadId), { signal });
  }

  /** @param {string} threadId @param {string} title */
  async rename(threadId, title) {
    const row = await this.#patch(threadId, { title });
    this.#tell({ kind: "renamed", threadId, title });
    return row;
  }

  /** Make another version of a message the current one; the thread. @param {string} threadId @param {string} branch @param {AbortSignal} signal */
  switchBranch(threadId, branch, signal) {
    return this.#patch(threadId, { branch }, signal);
  }

  /** Keep what the user thinks of an answer. @param {string} threadId @param {{ message_id: string, value: number, comment: string }} feedback */
  async judge(threadId, feedback) {
    const headers = { "Content-Type": "application/json" };
    await this.send(this.#thread(threadId, "feedback/"), { method: "PUT", body: JSON.stringify(feedback), headers });
  }

  /** Say whether its answers have been seen. @param {string} threadId @param {boolean} unread */
  mark(threadId, unread) {
    return this.#patch(threadId, { unread });
  }

  /** @param {string} threadId @param {any} change @param {AbortSignal} [signal] */
  #patch(threadId, change, signal) {
    const headers = { "Content-Type": "application/json" };
    return this.#json(this.#thread(threadId), { method: "PATCH", body: JSON.stringify(change), headers, signal });
  }

  /** @param {string} threadId */
  async remove(threadId) {
    await this.send(this.#thread(threadId), { method: "DELETE", keepalive: true }); // The page may be going away
    this.#tell({ kind: "removed", threadId });
  }

  /** @returns {Promise<any[]>} */
  async tools() {
    const url = this.#urls().tools;
    return url ? this.#json(url) : [];
  }

  /** @returns {Promise<any[]>} */
  async skills() {
    const url = this.#urls().skills;
    return url ? this.#json(url) : [];
  }

  /** Where files are uploaded (files.js does that), if the server takes any. */
  get attachmentsUrl() {
    return this.#urls().attachments;
  }

  /** True when the server can be asked about threads. */
  get hasThreads() {
    return Boolean(this.#urls().threads);
  }

  /** @param {string} threadId @param {string} [rest] */
  #thread(threadId, rest = "") {
    return `${this.#urls().threads}${encodeURIComponent(threadId)}/${rest}`;
  }

  /** @param {string} url @param {RequestInit} [init] */
  async #json(url, init) {
    return (await this.send(url, { headers: { Accept: "application/json" }, ...init })).json();
  }

  /** @param {string} url @param {RequestInit} init */
  async send(url, init) {
    const response = await this.#request(url, init);
    if (response.status === 401) this.dispatchEvent(new CustomEvent("refused"));
    return checked(response);
  }

  /** @param {import("./tabs.js").Message} detail */
  #tell(detail) {
    this.dispatchEvent(new CustomEvent("done", { detail }));
  }
}

/** Throws what a refusal says. @param {Response} response */
export async function checked(response) {
  if (response.ok) return response;
  throw new HttpError(response.status, await response.json().catch(() => ({})));
}

/** @param {Response} response */
function events(response) {
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.body || !type.startsWith("text/event-stream")) throw new HttpError(502, { error: "not_a_stream" });
  return readEvents(response.body);
}
