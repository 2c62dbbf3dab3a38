// @ts-check
/** The visible chat: it draws the header, the conversation and the input once a frame. */
import { Around } from "./around.js";
import { Asking } from "../approvals/asking.js";
import { focusQuestion } from "../approvals/next-question.js";
import { Companions } from "./companions.js";
import { Composer } from "../composer/composer.js";
import { h, isTouch } from "../dom/elements.js";
import { Header } from "./header.js";
import { lazy } from "../dom/lazy.js";
import { loadMarkdown } from "../markdown/view.js";
import { OpenThread } from "./open-thread.js";
import { RunStatus } from "./run-status.js";
import { Transcript } from "../messages/transcript.js";
import { Welcome } from "./welcome.js";

/** @typedef {import("../session/session.js").Session} Session */
/**
 * @typedef {{
 *   host: import("../agui-chat.d.ts").AguiChatElement, styles: import("./styles.js").Styles,
 *   strings: import("../types.d.ts").Strings, emit: (name: string, detail: unknown) => void,
 *   memory: import("../types.d.ts").ThreadMemory, wantOwn: () => unknown,
 *   catalog: import("../catalog/catalog.js").Catalog,
 * }} Parts
 */

export class ChatPage {
  #parts;
  #session;
  #transcript;
  #composer;
  #thread;
  #asking = new Asking();
  #welcome = new Welcome();
  #status = new RunStatus();
  #around;
  #header;
  #companions;
  /** @type {Promise<void> | undefined} */
  #markdown;
  #frame = 0;
  element;

  /** @param {Parts} parts */
  constructor(parts) {
    const { host, strings, memory, styles, emit } = (this.#parts = parts);
    const { client, session } = host;
    this.#session = session;
    this.#thread = new OpenThread(session, memory, (detail) => emit("ag-ui-thread", detail));
    this.#transcript = new Transcript(this.#context(), this.#welcome.element);
    this.#composer = new Composer({
      strings, client, host, memory,
      load: (load) => this.#load(load),
      send: (text, attachments) => host.sendMessage(text, attachments),
      stop: () => session.stop(),
      keep: (text) => this.#thread.keepDraft(text),
      editLast: () => this.#transcript.editLast(),
      shortcuts: () => this.#around.go("shortcuts"),
      find: () => this.#around.go("find"),
    });
    this.#header = new Header(host, strings, () => this.#companions.toggleThreads());
    this.element = h(
      "section",
      { class: "panel", part: "panel", hidden: true, "aria-label": strings.conversation },
      this.#header.element, this.#transcript.element, this.#composer.element,
      h("slot", { name: "footer" }), this.#status.element,
    );
    this.#around = new Around({
      host, catalog: parts.catalog, strings, memory, panel: this.element,
      log: this.#transcript.log, composer: this.#composer, load: (load) => this.#load(load),
      viewOf: (id) => this.#transcript.viewOf(id), reveal: (id) => this.#transcript.reveal(id),
      toggleThreads: () => this.#companions.toggleThreads(),
    });
    this.element.addEventListener("focusin", () => this.#loadMarkdown());
    this.element.addEventListener("keydown", this.#escape.bind(this));
    const { soon } = this.#composer.additions;
    styles.base.then(() => soon).then(() => {
      styles.reveal(this.element);
      this.#companions.prepareSoon();
    });
    const shown = { ...parts, transcript: this.#transcript };
    this.#companions = new Companions(shown, this.element, this.#around);
    this.greet();
  }

  // --- Calls from the element

  /** Follow the attribute `placement`. */
  place() {
    this.#companions.place();
  }

  connect() {
    this.#around.connect();
    this.#companions.connect();
  }

  disconnect() {
    this.#around.disconnect();
    this.#companions.disconnect();
    this.#composer.additions.rest();
  }

  /** Focus where the user continues, after a toggle of the panel. @param {boolean} collapsed */
  toggled(collapsed) {
    if (collapsed) {
      this.#composer.additions.rest();
      const launcher = this.#parts.host.shadowRoot?.querySelector(".launcher");
      if (launcher instanceof HTMLElement) launcher.focus();
    }
    // An on-screen keyboard covers half of the chat, so don't focus until the user taps.
    else (isTouch() ? this.#transcript.log : this.#composer).focus();
  }

  focus() {
    this.#composer.focus();
  }

  toEnd() {
    this.#transcript.toEnd();
  }

  /** @param {Iterable<File>} files */
  attach(files) {
    return this.#composer.additions.attach(files);
  }

  /** Put a rejected message back. @param {import("../types.d.ts").Message} message */
  giveBack(message) {
    this.#composer.giveBack(message);
  }

  greet() {
    this.#welcome.greet(this.#parts);
  }

  /** @param {import("../types.d.ts").Skill[]} skills */
  showSkills(skills) {
    this.#composer.skills = skills;
    this.#welcome.offer(skills, (skill) => this.#composer.use(skill));
  }

  // --- Which thread is open

  restore() {
    if (this.#parts.host.client.hasThreads) this.#thread.restore();
  }

  /** Another thread is open. @param {{ anew?: boolean }} [options] */
  threadChanged(options) {
    this.#companions.update();
    this.#welcome.tell("");
    this.#thread.remember(options);
  }

  /** The user has opened another thread. */
  threadOpened() {
    this.threadChanged();
    this.#composer.invite();
  }

  /** The thread is gone, or this user never had it. */
  threadGone() {
    this.threadChanged({ anew: true });
    this.#welcome.tell(this.#parts.strings.threadGone);
  }

  /** The user has signed out. */
  forget() {
    this.#parts.memory.forget();
    this.#composer.empty();
    this.#companions.forget();
    this.threadChanged();
    this.#render();
  }

  // --- What users do

  /**
   * The data and callbacks of the message views.
   * @returns {import("../types.d.ts").MessageContext}
   */
  #context() {
    const { host, strings, styles, catalog } = this.#parts;
    const session = this.#session;
    const asking = this.#asking;
    /** @param {boolean} begun */
    const toEnd = (begun) => {
      if (begun) this.toEnd();
      return begun;
    };
    return {
      strings, host, client: host.client, wantOwn: this.#parts.wantOwn,
      get own() {
        return catalog.own;
      },
      get tools() {
        return catalog.tools;
      },
      get seams() {
        return catalog.seams;
      },
      get Question() {
        return asking.Question;
      },
      withStyle: (loading) => styles.withFrame(loading),
      load: (load) => this.#load(load),
      decide: (interruptId, decision) => this.#decide(interruptId, decision),
      retry: () => session.retry(),
      regenerate: (promptId) => toEnd(session.regenerate(promptId)),
      edit: (promptId, text) => toEnd(session.edit(promptId, text)),
      switchBranch: (branchId) => session.switchBranch(branchId),
      unqueue: () => session.unqueue(),
      rewrite: (message) => this.#composer.rewrite(message),
    };
  }

  /** @param {string} interruptId @param {import("../types.d.ts").Decision | null} decision */
  #decide(interruptId, decision) {
    this.#session.decide(interruptId, decision);
    if (!decision) return;
    this.#render();
    focusQuestion(this.element, this.#composer);
  }

  /** @param {KeyboardEvent} event */
  #escape(event) {
    const { host } = this.#parts;
    if (event.key !== "Escape") return;
    if (this.#companions.isModal || host.querySelector(":popover-open")) return;
    event.preventDefault();
    if (this.#session.busy) this.#session.stop();
    else if (host.hasAttribute("placement")) host.toggle(true);
  }

  /** Mark the thread as read when its answer is visible. */
  async #see() {
    const { host } = this.#parts;
    const isClosed = host.hasAttribute("placement") && host.hasAttribute("collapsed");
    if (document.hidden || isClosed) return;
    if (await this.#session.see()) this.#companions.update();
  }

  /** Load what the user has asked for, with its style. @type {import("../dom/lazy.js").Load} */
  #load(load) {
    return this.#parts.styles.withFrame(lazy(load, () => this.#missing()));
  }

  /** Tell the user that something could not be loaded. */
  #missing() {
    if (!this.#session.busy) this.#session.fail({ code: "connection_lost" });
  }

  // --- Drawing

  /**
   * Markdown is half of the page's code, so it is loaded when the user begins to write or to read.
   */
  #loadMarkdown() {
    const loading = () => import("../messages/reading.js");
    this.#markdown ??= loadMarkdown(loading).then((reading) => this.#around.offer(reading));
  }

  /** Something has changed. */
  update() {
    this.#thread.switchDraft(this.#composer); // Now, because the user may type.
    this.schedule();
  }

  /** Draw at most once a frame, no matter how many events arrive. */
  schedule() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render() {
    const session = this.#session;
    const waits = session.conversation.status === "waiting";
    if (waits) {
      this.#asking.load({
        style: () => this.#parts.styles.withFrame(), loaded: () => this.schedule(),
        missing: () => this.#missing(),
      });
    }
    if (!session.empty) this.#loadMarkdown();
    this.element.classList.toggle("empty", session.empty);
    const asksNow = this.#asking.begins(waits);
    this.#transcript.render(session);
    this.#thread.switchDraft(this.#composer);
    this.#composer.render(session);
    this.#composer.actions.update(this.#parts.catalog);
    this.#header.update(this.#parts.catalog);
    this.#thread.update();
    this.#see();
    this.#status.update(session, this.#parts.strings);
    if (asksNow && this.#composer.hasFocus) focusQuestion(this.element, this.#composer);
  }
}
