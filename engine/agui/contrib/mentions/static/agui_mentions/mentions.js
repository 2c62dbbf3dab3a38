// @ts-check
/**
 * Records that the user mentions with "@": the list of those that the server finds, and what a
 * message tells of them. The chat loads this module with the first "@".
 */
import { textOf } from "../agui/conversation/messages.js";
import { heading } from "../agui/words/strings.js";

/** @typedef {import("../agui/types.d.ts").Returned} Returned */
/** @typedef {import("../agui/types.d.ts").RunInput} RunInput */
/** @typedef {{ kind: string, id: string, title: string, detail?: string }} Mention */

/** In English; the tables of other languages have these, too. */
export const MENTION_WORDS = {
  records: "Records",
  searchingRecords: "Searching…",
  noRecords: "No records found.",
  recordsFailed: "The search failed. Keep typing to try again.",
  shortcutMention: "Mention a record",
};

/** The user may still be typing. */
const PAUSE_MS = 150;
const SLOW_MS = 1000;
const MAX_CHOSEN = 50;
/** An "@" at the start of a word, so not in an e-mail address, and what follows it. */
const TYPED = /(?:^|[^\p{L}\p{N}_.+/@-])@((?:[^\s@][^\n@]{0,49})?)$/u;

/** @param {ConstructorParameters<typeof Mentions>} about @returns what "@" lists */
export function listFor(...about) {
  return new Mentions(...about);
}

/**
 * What the page of shortcuts says of "@"; "" if the page has no records.
 * @param {HTMLElement} host @param {import("../agui/words/strings.js").Strings} strings
 */
export function titleOf(host, strings) {
  return host.dataset.mentionsUrl ? { ...MENTION_WORDS, ...strings }.shortcutMention : "";
}

class Mentions {
  #input;
  #palette;
  #context;
  #words;
  /** @type {Mention[]} what the user has chosen and not sent yet, also before a reload */
  #chosen;
  /** The text up to the cursor when the user closed the list, or went on without a record. */
  #closed = "";
  #isTold = false;
  #asking = new AbortController();

  /**
   * @param {HTMLTextAreaElement} input
   * @param {import("../agui/composer/palette.js").Palette} palette its list shows the records
   * @param {import("../agui/composer/palette.js").Context} context
   */
  constructor(input, palette, context) {
    this.#input = input;
    this.#palette = palette;
    this.#context = context;
    this.#words = { ...MENTION_WORDS, ...context.strings };
    this.#chosen = JSON.parse(context.memory.noted("mentions") ?? "[]");
    const { session } = context.host;
    /** @template T @param {string} type @param {(detail: T) => void} listener */
    const on = (type, listener) =>
      session.addEventListener(type, (event) => {
        listener(/** @type {CustomEvent<T>} */ (event).detail);
      });
    on("start", (/** @type {RunInput} */ { messages: [message] }) => this.#send(message));
    on("kept", (/** @type {RunInput["messages"][0]} */ message) => this.#send(message));
    on("returned", (/** @type {Returned} */ { metadata }) => {
      this.#keep([...this.#chosen, .../** @type {Mention[]} */ (metadata?.mentions ?? [])]);
    });
    on("signed-out", () => this.#keep([]));
  }

  get #before() {
    return this.#input.value.slice(0, this.#input.selectionStart);
  }

  /** What the user has typed after the "@" before the cursor; undefined if that is no mention. */
  get #typed() {
    const before = this.#before;
    const typed = TYPED.exec(before)?.[1];
    if (typed === undefined) return;
    const isAfter = this.#closed && before.startsWith(this.#closed);
    const more = isAfter && before.slice(this.#closed.length);
    if (more && !more.includes("@")) return;
    if (!this.#chosen.some(({ title }) => typed.startsWith(`${title} `))) return typed;
  }

  /** Search for what the user types; false if that is no mention. */
  search() {
    const typed = this.#typed;
    this.stop();
    if (typed === undefined || !this.#context.host.dataset.mentionsUrl) return false;
    this.#closed = "";
    this.#asking = new AbortController();
    this.#ask(typed, this.#asking.signal);
    return true;
  }

  /** Forget the search, because the list is closed. */
  stop() {
    this.#asking.abort();
    this.#tell("");
  }

  /** Leave the list closed, because the user has closed it, until they type another "@". */
  close() {
    this.#closed = this.#before;
  }

  /** @param {string} typed @param {AbortSignal} signal */
  async #ask(typed, signal) {
    const { host } = this.#context;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (signal.aborted) return;
    const slow = setTimeout(() => this.#tell(this.#words.searchingRecords), SLOW_MS);
    try {
      const url = `${host.dataset.mentionsUrl}?${new URLSearchParams({ q: typed })}`;
      const response = await host.client.send(url, { signal });
      /** @type {{ mentions: Mention[] }} */
      const { mentions } = await response.json();
      if (!signal.aborted) this.#show(mentions, typed);
    } catch (error) {
      if (signal.aborted) return;
      console.warn("agui-chat:", error);
      this.#palette.hide();
      this.#tell(this.#words.recordsFailed);
    } finally {
      clearTimeout(slow);
    }
  }

  /** @param {Mention[]} mentions @param {string} typed */
  #show(mentions, typed) {
    const entries = mentions.map((mention) => ({
      name: "", title: mention.title, description: mention.detail, group: heading(mention.kind),
      choose: () => this.#choose(mention),
    }));
    this.#tell("");
    this.#palette.list(entries, this.#words.records);
    if (mentions.length) return;
    if (/\s/.test(typed)) this.close(); // The "@" was no mention, and the sentence goes on.
    else this.#tell(this.#words.noRecords);
  }

  /** Replace what the user has typed by a record's title. @param {Mention} mention */
  #choose(mention) {
    const { value, selectionStart: end } = this.#input;
    const typed = this.#typed;
    const start = typed === undefined ? end : end - typed.length - 1;
    const gap = /^\s/.test(value.slice(end)) ? "" : " ";
    this.#keep([...this.#chosen, mention]);
    this.#input.setRangeText(`@${mention.title}${gap}`, start, end, "end");
    this.#input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /**
   * Name the records that a message mentions, before it is sent. Its metadata comes back with the
   * thread, so it keeps them when it is edited or answered again.
   * @param {import("../agui/types.d.ts").Message} [message]
   */
  #send(message) {
    if (message?.role !== "user" || message.metadata?.mentions) return;
    const text = textOf(message.content);
    /** @param {Mention} mention */
    const isNamed = ({ title }) => text.includes(`@${title}`);
    const mentions = this.#chosen.filter(isNamed);
    if (!mentions.length) return;
    this.#keep(this.#chosen.filter((mention) => !isNamed(mention)));
    message.metadata = { ...message.metadata, mentions };
  }

  /** @param {Mention[]} chosen */
  #keep(chosen) {
    this.#chosen = chosen.slice(-MAX_CHOSEN);
    this.#context.memory.note("mentions", chosen.length ? JSON.stringify(this.#chosen) : "");
  }

  /** Say it where the list would be. @param {string} text */
  #tell(text) {
    if (text || this.#isTold) this.#context.hint(text);
    this.#isTold = Boolean(text);
  }
}
