// @ts-check
/** The agent's HTTP interface. Knows URLs, bodies and errors; keeps nothing. */
import { readEvents } from "./sse.js";

/** A refusal: the server's code and sentence with the HTTP status. */
export class HttpError extends Error {
  /** @param {number} status @param {{ error?: string, message?: string }} body */
  constructor(status, { error, message } = {}) {
    super(message ?? `HTTP ${status}`);
    this.status = status;
    this.code = status === 401 ? "unauthorized" : (error ?? "http_error");
  }
}

export class AgentClient {
  #urls;
  #request;

  /**
   * Both are asked again for every request: URLs, credentials and headers may change at any time.
   * @param {() => { run: string, tools?: string, skills?: string, threads?: string }} urls
   * @param {(url: string, init: RequestInit) => Promise<Response>} request
   */
  constructor(urls, request) {
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
    const response = await this.#send(this.#urls().run, { method: "POST", body, headers, signal });
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
    const response = await this.#send(this.#thread(threadId, "events/"), { headers, signal });
    return response.status === 204 ? null : events(response);
  }

  /** Ask the server to stop; false when nothing was running. @param {string} threadId */
  async cancel(threadId) {
    const response = await this.#send(this.#thread(threadId, "cancel/"), { method: "POST" });
    return response.status !== 204;
  }

  /** @param {{ cursor?: string | null }} [options] */
  threads({ cursor } = {}) {
    const query = cursor ? `?cursor=${encodeURIComponent(cursor)}` : "";
    return this.#json(`${this.#urls().threads}${query}`);
  }

  /** @param {string} threadId @param {AbortSignal} [signal] */
  thread(threadId, signal) {
    return this.#json(this.#thread(threadId), { signal });
  }

  /** @param {string} threadId @param {string} title */
  rename(threadId, title) {
    const headers = { "Content-Type": "application/json" };
    return this.#json(this.#thread(threadId), { method: "PATCH", body: JSON.stringify({ title }), headers });
  }

  /** @param {string} threadId */
  async remove(threadId) {
    await this.#send(this.#thread(threadId), { method: "DELETE" });
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
    return (await this.#send(url, { headers: { Accept: "application/json" }, ...init })).json();
  }

  /** @param {string} url @param {RequestInit} init */
  async #send(url, init) {
    const response = await this.#request(url, init);
    if (response.ok) return response;
    throw new HttpError(response.status, await response.json().catch(() => ({})));
  }
}

/** @param {Response} response */
function events(response) {
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.body || !type.startsWith("text/event-stream")) throw new HttpError(502, { error: "not_a_stream" });
  return readEvents(response.body);
}
