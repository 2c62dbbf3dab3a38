// @ts-check
/**
 * The documents of one chat: a card for each version in the conversation, and the panel beside the
 * messages, which is loaded when it opens for the first time.
 */
import { lazy } from "../agui/dom/lazy.js";
import { adopt } from "../agui/dom/own-style.js";
import { ThreadMemory } from "../agui/session/thread-memory.js";
import { CARD_STYLE, DocumentCard } from "./card.js";
import { documentsOf, growingVersion, newestVersion } from "./versions.js";
import { DOCUMENT_WORDS } from "./words.js";

/** @typedef {import("../agui/agui-chat.d.ts").AguiChatElement} Host */
/** @typedef {import("./versions.js").Version} Version */
/** @typedef {import("./panel.js").DocumentPanel} DocumentPanel */

/** Under this name the tab keeps which document is open. */
const KEPT = "document";

/** @type {WeakMap<HTMLElement, ChatDocuments>} */
const byChat = new WeakMap();

/** @param {HTMLElement} host */
function documentsIn(host) {
  const documents = byChat.get(host) ?? new ChatDocuments(/** @type {Host} */ (host));
  byChat.set(host, documents);
  return documents;
}

/** The card of a version. @param {import("../agui/types.d.ts").ViewContext} context */
export function view({ host, load }) {
  return documentsIn(host).card(load);
}

/**
 * Open the last version of a document; false if the conversation has no such document.
 * @param {HTMLElement} host @param {string} id
 */
export function openActivity(host, id) {
  return documentsIn(host).open(id);
}

class ChatDocuments {
  #host;
  #session;
  #words;
  #memory;
  #load = lazy;
  /** @type {Set<DocumentCard>} */
  #cards = new Set();
  /** @type {DocumentPanel | null} */
  #panel = null;
  /** The ids of the messages that have offered their document. */
  #offered = new Set();
  #isDismissed = false;
  #frame = 0;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    this.#session = host.session;
    this.#words = { ...DOCUMENT_WORDS, ...host.strings };
    this.#memory = new ThreadMemory(host);
    this.#session.addEventListener("change", () => this.#schedule());
    if (!this.#session.busy) this.#resume();
  }

  /**
   * @param {import("../agui/dom/lazy.js").Load} load
   * @returns {import("../agui/types.d.ts").View}
   */
  card(load) {
    this.#load = load;
    const card = new DocumentCard(this.#words, (version) => this.#toggle(version));
    this.#cards.add(card);
    /** @param {Record<string, unknown>} content @param {string} [id] */
    const update = (content, id = "") => {
      const { messages } = this.#session.conversation;
      card.read({ id, role: "activity", activityType: "document", content });
      if (this.#chat) adopt(this.#chat, CARD_STYLE);
      this.#draw(card, documentsOf(messages), growingVersion(this.#session));
      this.#schedule();
    };
    return { element: card.element, update };
  }

  /** @param {string} id */
  async open(id) {
    const version = documentsOf(this.#session.conversation.messages).get(id)?.at(-1);
    if (version) await this.#show(version, true);
    return Boolean(version);
  }

  // --- What has changed

  #schedule() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#refresh();
    });
  }

  #refresh() {
    const session = this.#session;
    const documents = documentsOf(session.conversation.messages);
    const growing = growingVersion(session);
    for (const card of this.#cards) {
      if (card.element.isConnected) this.#draw(card, documents, growing);
      else this.#cards.delete(card);
    }
    if (!session.busy) this.#isDismissed = false;
    const panel = this.#panel;
    const versions = panel?.id ? documents.get(panel.id) : null;
    if (panel?.isOpen) {
      const isThere = versions && panel.threadId === session.threadId;
      if (isThere) panel.update(versions, growing);
      else panel.close();
    }
    // A run that has ended before these modules came was watched, too; a stored one has no id.
    if (session.conversation.runId) this.#offer();
  }

  /**
   * @param {DocumentCard} card @param {Map<string, Version[]>} documents
   * @param {Version | null} growing
   */
  #draw(card, documents, growing) {
    const { version } = card;
    if (!version) return;
    const all = documents.get(version.id) ?? [];
    const number = all.findIndex(({ messageId }) => messageId === version.messageId) + 1;
    card.draw({
      number: all.length > 1 ? number : 0,
      isGrowing: growing?.messageId === version.messageId,
      isOpen: Boolean(this.#panel?.isOpen && this.#panel.shows(version)),
    });
  }

  /** Open what a tool shows while the user watches, if there is room beside the messages. */
  #offer() {
    const version = newestVersion(this.#session.conversation.messages);
    if (!version || this.#offered.has(version.messageId)) return;
    this.#offered.add(version.messageId);
    const panel = this.#panel;
    const isWatched = !document.hidden && this.#chat?.offsetParent;
    // The panel follows the versions of its document by itself, and a reader stays where they are.
    const isReading = panel?.isOpen && (panel.id === version.id || panel.hasFocus);
    if (!isWatched || isReading || this.#isDismissed) return;
    this.#show(version, false);
  }

  // --- The panel

  /** @returns {HTMLElement | null | undefined} */
  get #chat() {
    return this.#host.shadowRoot?.querySelector(".panel");
  }

  /** @param {Version} version */
  #toggle(version) {
    if (this.#panel?.isOpen && this.#panel.shows(version)) this.#panel.dismiss();
    else this.#show(version, true);
  }

  /**
   * @param {Version} version @param {boolean} isAsked has the user asked for it? Otherwise the
   *   panel opens only beside the messages, and the focus stays
   */
  async #show(version, isAsked) {
    const session = this.#session;
    const { threadId } = session;
    const module = await this.#load(() => import("./panel.js"));
    const chat = this.#chat;
    if (!module || !chat || session.threadId !== threadId) return;
    const panel = (this.#panel ??= new module.DocumentPanel(this.#host, chat, this.#words, {
      changed: () => this.#changed(),
      dismissed: () => (this.#isDismissed = this.#session.busy),
    }));
    if (!isAsked && !panel.hasRoom) return;
    const versions = documentsOf(session.conversation.messages).get(version.id);
    // The conversation may have changed while the panel was loaded.
    if (!versions?.some(({ messageId }) => messageId === version.messageId)) return;
    panel.open(versions, version, { threadId, isAsked, growing: growingVersion(session) });
  }

  /** The panel shows something else, or is closed. */
  #changed() {
    const { id = null, isOpen, place } = this.#panel ?? {};
    const { threadId } = this.#session;
    this.#memory.note(KEPT, isOpen ? JSON.stringify({ threadId, id }) : "", sessionStorage);
    const detail = isOpen ? place : { id: null, title: "", version: 0 };
    const options = { detail, bubbles: true, composed: true };
    this.#host.dispatchEvent(new CustomEvent("ag-ui-document", options));
    this.#schedule();
  }

  /** Open again what was open before the page was loaded anew. */
  #resume() {
    const kept = this.#memory.noted(KEPT, sessionStorage);
    const { threadId, id } = kept ? JSON.parse(kept) : {};
    if (!id || threadId !== this.#session.threadId) return;
    const version = documentsOf(this.#session.conversation.messages).get(id)?.at(-1);
    if (version) this.#show(version, false);
  }
}
