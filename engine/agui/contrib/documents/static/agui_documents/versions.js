// @ts-check
/** The documents of a conversation, and their versions: without the DOM. */

/** @typedef {import("../agui/types.d.ts").Message} Message */
/** @typedef {"markdown" | "code" | "table" | "image" | "page"} Kind */
/**
 * @typedef {{
 *   messageId: string, id: string, title: string, kind: Kind, language: string,
 *   content: Record<string, unknown>,
 * }} Version as a tool has shown it; `title` may be empty, and `content` has anything
 */

const KINDS = ["markdown", "code", "table", "image", "page"];

/**
 * Read what a tool has shown; null if it is no document.
 * @param {Message} message @returns {Version | null}
 */
export function readVersion(message) {
  if (message.role !== "activity" || message.activityType !== "document") return null;
  /** @type {Record<string, unknown>} */
  const content = Object(message.content);
  const { id, title, kind, language } = content;
  if (typeof id !== "string" || !id || !KINDS.includes(String(kind))) return null;
  return {
    messageId: message.id,
    id,
    title: typeof title === "string" ? title : "",
    kind: /** @type {Kind} */ (kind),
    language: typeof language === "string" && /^[\w+#.-]{1,40}$/.test(language) ? language : "",
    content,
  };
}

/**
 * The documents of a conversation by their ids, each with its versions from the first one on.
 * @param {Message[]} messages
 */
export function documentsOf(messages) {
  /** @type {Map<string, Version[]>} */
  const documents = new Map();
  for (const message of messages) {
    const version = readVersion(message);
    if (!version) continue;
    const versions = documents.get(version.id);
    if (versions) versions.push(version);
    else documents.set(version.id, [version]);
  }
  return documents;
}

/**
 * The document that the tool at work has shown last; null if none is at work, or it has shown none.
 * @param {{ busy: boolean, conversation: import("../agui/types.d.ts").Conversation }} session
 */
export function growingVersion({ busy, conversation: { messages, calls } }) {
  const isAtWork = busy && Object.values(calls).some(({ status }) => status === "running");
  return isAtWork ? newestVersion(messages) : null;
}

/** The last document since the user's last message. @param {Message[]} messages */
export function newestVersion(messages) {
  const last = messages.findLast((message) => message.role === "user" || readVersion(message));
  return last ? readVersion(last) : null;
}

/** Joins the pieces of a text that grows, those that are new. */
export class GrowingText {
  #text = "";
  #count = 0;
  /** @type {unknown} */
  #last;

  /** @param {unknown} pieces @returns {string} */
  join(pieces) {
    /** @type {unknown[]} */
    const all = Array.isArray(pieces) ? pieces : [];
    const continues = this.#count <= all.length && all[this.#count - 1] === this.#last;
    if (!continues) [this.#text, this.#count] = ["", 0];
    const fresh = all.slice(this.#count).filter((one) => typeof one === "string");
    this.#text += fresh.join("");
    this.#count = all.length;
    this.#last = all.at(-1);
    return this.#text;
  }
}

/**
 * Markdown that shows a text as a block of code, whatever is in it.
 * @param {string} text @param {string} language
 */
export function fenced(text, language) {
  const runs = [...text.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = "`".repeat(runs.reduce((a, b) => Math.max(a, b), 2) + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** @type {Record<string, string>} the usual ends of names of files, by language */
const EXTENSIONS = {
  bash: "sh", c: "c", "c#": "cs", "c++": "cpp", cpp: "cpp", csharp: "cs", css: "css", diff: "diff",
  go: "go", html: "html", java: "java", javascript: "js", js: "js", json: "json", kotlin: "kt",
  latex: "tex", markdown: "md", php: "php", py: "py", python: "py", rb: "rb", ruby: "rb",
  rs: "rs", rust: "rs", sh: "sh", shell: "sh", sql: "sql", svg: "svg", swift: "swift", tex: "tex",
  toml: "toml", ts: "ts", tsx: "tsx", jsx: "jsx", typescript: "ts", xml: "xml", yaml: "yaml",
  yml: "yml",
};

/** The end of the name of a document's file. @param {Pick<Version, "kind" | "language">} version */
export function extensionOf({ kind, language }) {
  if (kind === "table") return "csv";
  if (kind === "markdown") return "md";
  const name = language.toLowerCase();
  return Object.hasOwn(EXTENSIONS, name) ? EXTENSIONS[name] : "txt";
}

/**
 * The address of a path of this site; null if it leads elsewhere.
 * @param {string} path @param {string} base the address of the page
 */
export function addressOnSite(path, base) {
  if (!path.startsWith("/")) return null;
  try {
    const url = new URL(path, base);
    return url.origin === new URL(base).origin && /^https?:$/.test(url.protocol) ? url : null;
  } catch {
    return null;
  }
}
