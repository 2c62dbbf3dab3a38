// @ts-check
/**
 * The files of the next message: in transfer, stored, or refused. This module doesn't use the DOM.
 * The first file loads it.
 */

/** @typedef {import("../agui/types.d.ts").Attachment} Attachment */
/**
 * @typedef {{ code?: string, message?: string, status?: number, kinds?: string[] }} Failure
 *   `kinds`: what the server takes, as users call it
 */

/**
 * @typedef {{
 *   file: File | null, name: string, size: number, status: "queued" | "uploading" | "ready" |
 *     "failed",
 *   progress: number, error: Failure | null, attachment: Attachment | null, abort: AbortController,
 * }} Upload
 */
/**
 * @typedef {{
 *   send: (file: File, options: { signal: AbortSignal, onprogress: (part: number) => void }) =>
 *     Promise<Attachment>,
 *   discard: (id: string) => Promise<unknown>, maxBytes?: number,
 * }} Server
 */

/** A browser has six connections to a server, and the chat needs some of them. */
const AT_ONCE = 3;
/** The server reads this many files of a message. */
const MAX_FILES = 50;

/** Failures that another try would not change. */
const FINAL = ["file_over_limit", "file_unreadable", "too_many_files"];

/**
 * Dispatches "change" after every change and "settled" (detail: the upload) when one is there or
 * has failed.
 */
export class Uploads extends EventTarget {
  /** @type {Upload[]} */
  list = [];
  #server;

  /** @param {Server} server */
  constructor(server) {
    super();
    this.#server = server;
  }

  /** Whether a file is in transfer or has failed: the message is then not complete. */
  get open() {
    return this.list.some(({ status }) => status !== "ready");
  }

  /** @returns {Attachment[]} */
  get ready() {
    return this.list.flatMap(({ attachment }) => attachment ?? []);
  }

  /** @param {Iterable<File>} files */
  add(files) {
    const added = [...files].map((file) => upload({ file, name: file.name, size: file.size }));
    this.list = [...this.list, ...added];
    for (const one of added) {
      if (this.list.indexOf(one) >= MAX_FILES) this.#fail(one, { code: "too_many_files" });
      else if (one.size > (this.#server.maxBytes || Infinity))
        this.#fail(one, { code: "file_over_limit" });
    }
    this.#next();
  }

  /** Take back the files of a refused message. @param {Attachment[]} attachments */
  restore(attachments) {
    const known = new Set(this.ready.map(({ id }) => id));
    const missing = attachments.filter(({ id }) => !known.has(id));
    const restored = missing.map((attachment) => {
      const { name, size } = attachment;
      return upload({ name, size, attachment, status: "ready", progress: 1 });
    });
    this.list = [...restored, ...this.list];
    this.#changed();
  }

  /** @param {Upload} one */
  retry(one) {
    Object.assign(one, { status: "queued", progress: 0, error: null });
    this.#next();
  }

  /** Stop an upload, or delete a stored file. @param {Upload} one */
  remove(one) {
    one.abort.abort();
    if (one.attachment) this.#discard(one.attachment);
    this.list = this.list.filter((other) => other !== one);
    this.#next();
  }

  /** Forget all files, because a message has them now. */
  clear() {
    this.list = [];
    this.#changed();
  }

  #next() {
    const free = AT_ONCE - this.list.filter(({ status }) => status === "uploading").length;
    const queued = this.list.filter(({ status }) => status === "queued");
    for (const one of queued.slice(0, free)) this.#start(one);
    this.#changed();
  }

  /** @param {Upload} one */
  async #start(one) {
    const { signal } = (one.abort = new AbortController());
    const file = /** @type {File} */ (one.file);
    one.status = "uploading";
    try {
      if (!(await isReadable(file))) throw { code: "file_unreadable" };
      const onprogress = (/** @type {number} */ part) => {
        one.progress = part;
        this.#changed();
      };
      const attachment = await this.#server.send(file, { signal, onprogress });
      // The user removed it just before it was stored.
      if (signal.aborted) return this.#discard(attachment);
      Object.assign(one, { status: "ready", progress: 1, attachment });
      this.#settled(one);
    } catch (error) {
      if (!signal.aborted) this.#fail(one, asFailure(error));
    }
    this.#next();
  }

  /** @param {Upload} one @param {Failure} error */
  #fail(one, error) {
    Object.assign(one, { status: "failed", error });
    this.#settled(one);
  }

  /** @param {Attachment} attachment */
  #discard({ id }) {
    this.#server.discard(id).catch(() => {}); // The server deletes files that no message names.
  }

  /** @param {Upload} one */
  #settled(one) {
    this.dispatchEvent(new CustomEvent("settled", { detail: one }));
  }

  #changed() {
    this.dispatchEvent(new CustomEvent("change"));
  }
}

/** Whether the server refused the file itself: it would refuse it again. @param {Failure} error */
export function isFinal({ code, status }) {
  return [413, 415].includes(status ?? 0) || FINAL.includes(code ?? "");
}

/** @param {Partial<Upload> & Pick<Upload, "name" | "size">} fields @returns {Upload} */
function upload(fields) {
  return {
    file: null, status: "queued", progress: 0, error: null, attachment: null,
    abort: new AbortController(), ...fields,
  };
}

/**
 * Whether the browser can read the file. It can't read a folder, or a file that has changed since
 * the user chose it.
 * @param {File} file
 */
function isReadable(file) {
  return file.slice(0, 1).arrayBuffer().then(() => true, () => false);
}

/** @param {unknown} error @returns {Failure} */
function asFailure(error) {
  /** @type {Failure} */
  const failure = Object(error);
  const { code, status } = failure;
  // The answer comes from a proxy, not from our server.
  if (status === 413 && code === "http_error") return { code: "file_too_large", status };
  if (typeof code === "string") return failure;
  console.warn("agui-chat:", error);
  return { code: "connection_lost" };
}
