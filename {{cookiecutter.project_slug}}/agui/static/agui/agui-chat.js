// @ts-check
import { AgentClient } from "./client.js";
import { Composer } from "./composer.js";
import { h, iconButton, setText } from "./dom.js";
import { acceptFiles } from "./intake.js";
import { loadMarkdown } from "./markdown.js";
import { onWake } from "./following.js";
import { lazy } from "./lazy.js";
import { Session } from "./session.js";
import { STRINGS, tableFor } from "./strings.js";
import { Tabs } from "./tabs.js";
import { ThreadMemory } from "./thread-memory.js";
import { openText } from "./tool-names.js";
import { Transcript } from "./transcript.js";
import { Welcome } from "./welcome.js";

/**
 * A chat with an AG-UI agent.
 *
 * @attr endpoint - URL to which runs are posted
 * @attr data-tools-url, data-skills-url, data-threads-url - the catalogs and the stored conversations
 * @attr data-attachments-url - where files are uploaded; without it there is nothing to attach them with
 * @attr data-max-upload-bytes - larger files are refused before they are sent; the server has the last word
 * @attr data-transcribe-url - where recordings become text; without it there is no microphone
 * @attr data-max-recording-bytes - where a recording ends by itself
 * @attr data-stylesheet-url - instead of the agui-chat.css next to this file
 * @attr data-frame-stylesheet-url - instead of the agui-frame.css next to it, which the list of threads, `placement`, the
 *   microphone and activities bring
 * @attr lang - of the texts, here or on whatever is around; English where strings/ has no table for it
 * @attr data-feedback - answers can be judged: the server keeps what users think of them
 * @attr data-strings - JSON that replaces texts of strings.js
 * @attr data-strings-url - a module like strings/de.js, for a language of your own
 * @attr data-csrf-token - for when the cookie "csrftoken" can't be read
 * @attr data-login-url - offered when the server says that nobody is signed in
 * @attr data-thread-memory - where the open thread is remembered: "session" (default), "url" (?thread=) or "none"
 * @attr user-key - the signed-in user: what is remembered for one user is not shown to another
 *   A form with data-agui-sign-out, anywhere on the page, signs out: nothing of the user stays
 * @attr title-text, description-text - the greeting of an empty chat
 * @attr theme - "light" or "dark"; else as the system has it
 * @attr placement - "floating" in the corner of a page, or "docked" at its side; else the element fills its own box. On
 *   a phone both cover the page and are modal. Beside a docked chat the page makes room where it uses
 *   var(--agui-docked-width), which the element sets on <html>
 * @attr collapsed - a floating or docked chat shows only its launcher; what the user chose holds for the tab
 *
 * registerTool(tool), unregisterTool(name), tools - what the agent may do in the page; state, getContext() - what it and
 *   the page tell each other; registerActivity(type, draw) - what tools show, drawn by the page. docs/page.md has more
 *
 * @slot header-start, header-end - beside the buttons of the header
 * @slot welcome - instead of the greeting
 * @slot footer - a line below the input
 * @slot launcher - instead of the picture on the button that opens a collapsed chat
 *
 * @event ag-ui-submit - before a message is sent; detail { text, attachments }; cancelable
 * @event ag-ui-event - every AG-UI event; detail is the event
 * @event ag-ui-state - the shared state has changed; detail is the state
 * @event ag-ui-run-finished - a run has ended or is waiting; detail { status, error }
 * @event ag-ui-thread - another thread is open, or has another title; detail { threadId, title }
 * @event ag-ui-toggle - a floating or docked chat was opened or closed; detail { collapsed }
 *
 * @csspart panel, header, undo, log, messages, user-message, assistant-message, reasoning, activity, tool, approve,
 *   deny, prose, code, error, composer, input, attach, skills, microphone, send, stop, attachments, attachment, palette, chip, drawer, threads, launcher, frame, edge,
 *   actions, editor, feedback, queued
 *
 * @cssprop --agui-accent, --agui-accent-text, --agui-background, --agui-surface, --agui-border, --agui-text,
 *   --agui-muted, --agui-danger, --agui-font, --agui-font-mono, --agui-radius, --agui-width, --agui-panel-width and
 *   --agui-panel-height of a floating or docked chat, --agui-docked-top
 */
export class AguiChatElement extends HTMLElement {
  static observedAttributes = ["title-text", "description-text", "placement", "collapsed"];

  /** @param {string} [tag] @param {CustomElementRegistry} [registry] */
  static define(tag = "agui-chat", registry = customElements) {
    if (!registry.get(tag)) registry.define(tag, this);
    return this;
  }

  client = new AgentClient(() => this.#urls(), (...request) => this.request(...request));
  #memory = new ThreadMemory(this);
  #tabs = new Tabs();
  session = new Session(this.client, { memory: this.#memory, tabs: this.#tabs });
  #strings = { ...STRINGS };
  /** @type {any} */ #ownStrings = {};
  /** @type {any} */ #table;
  #tools = new Map();
  /** @type {Map<string, import("./frontend-tools.js").FrontendTool>} */ #pageTools = new Map();
  /** @type {Map<string, (content: any, element: HTMLElement) => void>} */ #activities = new Map();
  #welcome = new Welcome();
  #status = h("p", { class: "visually-hidden", role: "status" });
  /** @type {any} */ #transcript;
  /** @type {any} */ #composer;
  /** @type {any} */ #drawer;
  /** @type {any} */ #panel;
  /** @type {any} */ #placement;
  /** @type {any} */ #Question;
  /** @type {any} */ #question;
  /** @type {any} */ #markdown;
  #frame = 0;
  #asked = false;
  /** @type {any} */ #lastState;
  #title = "";
  /** @type {any} the thread that the text in the input is for */ #draftOf;
  #stateText = "{}";
  #listeners = new AbortController();
  /** @type {any} */ #styled;
  /** @type {any} */ #framed;

  // --- What a page may use or override

  /** Texts that differ from strings.js; set them before the element is connected. */
  get strings() {
    return this.#strings;
  }

  set strings(strings) {
    this.#ownStrings = { ...this.#ownStrings, ...strings };
    this.#strings = { ...STRINGS, ...this.#table, ...this.#ownStrings };
  }

  /** The state that page and agent share: what is set goes with the next run. */
  get state() {
    return this.session.conversation.state;
  }

  set state(state) {
    this.session.setState(JSON.parse(JSON.stringify(state)));
  }

  /** Tools of the page that the agent may call: register several at once, or before the element is defined. */
  get tools() {
    return [...this.#pageTools.values()];
  }

  set tools(tools) {
    for (const tool of tools) this.registerTool(tool);
  }

  /** Let the agent do something in the page. @param {import("./frontend-tools.js").FrontendTool} tool */
  registerTool(tool) {
    const { name, handler } = tool;
    if (!/^[\w-]{1,64}$/.test(name ?? "") || typeof handler !== "function") {
      throw new TypeError(`A tool has a name of letters, digits, _ and -, and a function as its handler: ${name}`);
    }
    this.#pageTools.set(name, tool);
    this.#tools = new Map(this.#tools).set(name, tool);
    this.session.offer(this.#pageTools);
    this.#schedule();
  }

  /** @param {string} name */
  unregisterTool(name) {
    this.#pageTools.delete(name);
  }

  /**
   * What the page says of itself, asked for each run: the model reads it as data.
   * @returns {{ description: string, value: any }[] | Promise<{ description: string, value: any }[]>}
   */
  getContext() {
    return [];
  }

  get threadId() {
    return this.session.threadId;
  }

  /** Headers for every request, read each time: credentials may change. */
  getHeaders() {
    const cookie = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1];
    const token = cookie ?? this.dataset.csrfToken;
    return /** @type {Record<string, string>} */ (token ? { "X-CSRFToken": token } : {});
  }

  /** @param {string} url @param {RequestInit} init @returns {Promise<Response>} */
  request(url, init) {
    return fetch(url, { credentials: "same-origin", ...init, headers: { ...init.headers, ...this.getHeaders() } });
  }

  /**
   * POST a form and tell its progress: what `request` is for everything else.
   * @param {string} url @param {FormData} form @param {import("./files.js").UploadOptions} options @returns {Promise<Response>}
   */
  async upload(url, form, options) {
    const { post } = await import("./files.js");
    return post(url, form, { ...options, headers: this.getHeaders() });
  }

  /**
   * Send a message as the user; false when that isn't possible now.
   * @param {string} text
   * @param {import("./uploads.js").Attachment[]} [attachments] as the server answered their uploads
   */
  sendMessage(text, attachments = []) {
    const detail = { text, attachments };
    const event = new CustomEvent("ag-ui-submit", { detail, bubbles: true, composed: true, cancelable: true });
    if (!this.dispatchEvent(event)) return false;
    const sent = this.session.send(text, attachments);
    if (sent) this.#transcript?.toEnd();
    return sent;
  }

  /** Upload files for the message that is being written. @param {Iterable<File>} files */
  async attach(files) {
    if (this.client.attachmentsUrl) await this.#composer.attach(files);
  }

  /** Draw activities of a type by yourself, in an element of the page. @param {string} type @param {(content: any, element: HTMLElement) => void} draw */
  registerActivity(type, draw) {
    this.#activities = new Map(this.#activities).set(type, draw);
    this.#schedule();
  }

  /** @param {string} threadId */
  openThread(threadId) {
    this.session.open(threadId);
    this.#threadChanged();
    this.#composer?.invite();
  }

  newChat() {
    this.session.reset();
    this.#threadChanged();
    this.#composer?.invite();
  }

  /** @param {boolean} [collapsed] */
  toggle(collapsed = !this.hasAttribute("collapsed")) {
    this.toggleAttribute("collapsed", collapsed);
    this.#emit("ag-ui-toggle", { collapsed });
    if (collapsed) this.#composer?.hush();
    if (collapsed) this.shadowRoot?.querySelector(/** @type {any} */ (".launcher"))?.focus();
    // A keyboard on the screen covers half of the chat, so it waits until the user calls it.
    else (matchMedia("(pointer: coarse)").matches ? this.#transcript?.log : this.#composer)?.focus();
  }

  focus() {
    this.#composer?.focus();
  }

  // --- Life in the document

  async connectedCallback() {
    const { signal } = (this.#listeners = new AbortController());
    this.#takeOver();
    const table = this.#table ?? tableFor(this, this.dataset.stringsUrl);
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    this.#styled ??= this.#style("agui-chat.css", this.dataset.stylesheetUrl);
    this.#table = table.then ? await table : table;
    if (signal.aborted) return;
    if (!this.#panel) this.#build();
    for (const [name, listener] of this.#sessionListeners()) this.session.addEventListener(name, listener, { signal });
    addEventListener("popstate", () => this.#restore(), { signal });
    this.#memory.forget({ butMine: true });
    this.#tabs.open(this.getAttribute("endpoint") ?? "", this.getAttribute("user-key") ?? "", (message) => this.session.hear(message));
    onWake((wake) => this.session.wake(wake), signal);
    document.addEventListener("submit", ({ target }) => /** @type {any} */ (target).matches("[data-agui-sign-out]") && this.session.signOut(), { signal });
    this.session.getContext = () => this.getContext();
    this.#loadCatalogs();
    if (this.session.threadId) this.session.open(this.session.threadId);
    else this.#restore();
    this.#changed();
    this.#place();
    this.#placement?.connect();
  }

  /** What the page has set before the element was defined. */
  #takeOver() {
    for (const name of ["strings", "state", "tools"]) {
      const value = Object.getOwnPropertyDescriptor(this, name)?.value;
      if (value && Reflect.deleteProperty(this, name)) Object.assign(this, { [name]: value });
    }
  }

  disconnectedCallback() {
    this.#listeners.abort();
    this.#placement?.disconnect();
    this.#composer?.hush();
    this.#tabs.close();
    this.session.close();
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (!this.#panel) return;
    this.#schedule();
    if (name.endsWith("-text")) this.#greet();
    else this.#place();
  }

  /** A chat that fills its own box needs nothing of it. */
  async #place() {
    if (this.#placement) return this.#placement.update();
    if (!this.hasAttribute("placement")) return;
    const [{ Placement }] = await Promise.all([import("./placement.js"), this.#styleFrame()]);
    if (this.#placement || !this.isConnected) return;
    this.#placement = new Placement(this, this.#panel, this.#strings);
    this.#placement.connect();
  }

  #urls() {
    const { toolsUrl: tools, skillsUrl: skills, threadsUrl: threads, attachmentsUrl: attachments } = this.dataset;
    return { run: this.getAttribute("endpoint") ?? "", tools, skills, threads, attachments };
  }

  /** @returns {[string, (event: any) => void][]} */
  #sessionListeners() {
    return [
      ["change", () => this.#changed()],
      ["start", () => this.#threadChanged()],
      ["event", ({ detail }) => this.#emit("ag-ui-event", detail)],
      ["end", () => this.#ended()],
      ["returned", ({ detail }) => this.#composer.giveBack(detail)],
      ["left", () => this.#left()],
      ["signed-out", () => this.#forget()],
    ];
  }

  #ended() {
    const { status, error } = this.session.conversation;
    this.#emit("ag-ui-run-finished", { status, error });
  }

  #loadCatalogs() {
    // The chat works without: tools are then called by their names, and there are no skills.
    const load = (promise, use) => promise.then(use).then(() => this.#schedule(), () => {});
    load(this.client.tools(), (tools) => (this.#tools = new Map([...tools.map((tool) => [tool.name, tool]), ...this.#pageTools])));
    load(this.client.skills(), (skills) => this.#showSkills(skills));
  }

  /** Half of what the page loads, so not before somebody begins to write or to read. */
  #loadMarkdown() {
    this.#markdown ??= loadMarkdown().then(() => this.#schedule());
  }

  // --- Which thread is open

  #restore() {
    if (!this.client.hasThreads || this.#memory.isOff) return;
    const threadId = this.#memory.read();
    if (threadId === this.session.threadId) return;
    if (threadId) this.session.open(threadId);
    else this.session.reset();
  }

  /** Nobody is signed in any more. */
  #forget() {
    this.#memory.forget();
    this.#composer?.empty();
    this.#drawer?.forget();
    this.#threadChanged();
    this.#render();
  }

  /** @param {{ anew?: boolean }} [options] */
  #threadChanged(options) {
    const { threadId, title } = this.session;
    this.#title = title;
    this.#memory.write(threadId, options);
    this.#drawer?.update(threadId);
    this.#welcome.tell("");
    this.#emit("ag-ui-thread", { threadId, title });
  }

  /** The thread is gone, or was never there for this user. */
  #left() {
    this.#threadChanged({ anew: true });
    this.#welcome.tell(this.#strings.threadGone);
  }

  /** What is being written belongs to a thread; that of a new one goes on in it. */
  #switchDraft() {
    const { threadId, busy } = this.session;
    if (threadId === this.#draftOf) return;
    const begun = this.#draftOf === null && busy;
    this.#draftOf = threadId;
    if (!begun) {
      this.#composer.hush();
      this.#composer.text = this.#memory.draft(threadId);
    } else this.#memory.keepDraft(null, "");
  }

  /** The message that waits, else the last one that was sent. */
  #editLast() {
    const button = [...this.#panel.querySelectorAll(".user .icon-edit")].at(-1)?.closest("button");
    if (button && !button.hidden) button.click();
    return Boolean(button && !button.hidden);
  }

  /** Whoever has an answer before the eyes has seen it. */
  async #see() {
    const { session, client } = this;
    const { threadId } = session;
    if (!session.unread || session.busy || !client.hasThreads || document.hidden) return;
    if (this.hasAttribute("placement") && this.hasAttribute("collapsed")) return;
    session.unread = false;
    const row = await client.mark(threadId, false).catch(() => null); // then it stays marked
    if (!row || threadId !== session.threadId) return;
    session.title = row.title;
    this.#drawer?.update(threadId);
    this.#schedule();
  }

  async #loadDrawer() {
    const [{ ThreadsDrawer }] = await Promise.all([import("./threads-drawer.js"), this.#styleFrame()]);
    this.#drawer ??= new ThreadsDrawer({
      strings: this.#strings, client: this.client, memory: this.#memory, panel: this.#panel, newChat: () => this.newChat(),
      open: (threadId) => this.openThread(threadId), focus: () => this.focus(),
      href: (threadId) => (this.dataset.threadMemory === "url" ? hrefOf(threadId) : null),
      renamed: (threadId, title) => this.session.hear({ kind: "renamed", threadId, title }),
    });
    this.#drawer.update(this.session.threadId);
    return this.#drawer;
  }

  // --- What is on the page

  #build() {
    this.strings = JSON.parse(this.dataset.strings || "{}");
    const strings = this.#strings;
    const chat = this;
    this.#transcript = new Transcript(
      {
        strings,
        get tools() {
          return chat.#tools;
        },
        get Question() {
          return chat.#Question;
        },
        get activities() {
          return chat.#activities;
        },
        host: chat,
        style: () => chat.#styleFrame(),
        client: this.client,
        decide: (interruptId, decision) => {
          this.session.decide(interruptId, decision);
          if (!decision) return;
          this.#render();
          this.#focusQuestion();
        },
        retry: () => this.session.retry(),
        regenerate: (promptId) => this.#turn(this.session.regenerate(promptId)),
        edit: (promptId, text) => this.#turn(this.session.edit(promptId, text)),
        switchBranch: (branchId) => this.session.switchBranch(branchId),
        feedback: (...judgement) => this.session.judge(...judgement),
        unqueue: () => this.session.unqueue(),
        rewrite: ({ content, metadata }) => {
          const { text } = this.#composer;
          this.#composer.text = "";
          this.#composer.giveBack({ content: [content, text].filter(Boolean).join("\n\n"), metadata });
        },
      },
      this.#welcome.element,
    );
    this.#composer = new Composer({
      strings, client: this.client, host: this, style: () => this.#styleFrame(),
      send: (text, attachments) => this.sendMessage(text, attachments), stop: () => this.session.stop(),
      keep: (text) => this.#memory.keepDraft(this.#draftOf, text), editLast: () => this.#editLast(),
      fail: () => this.session.busy || this.session.fail({ code: "connection_lost" }),
    });
    this.#panel = h(
      "section", { class: "panel", part: "panel", hidden: true, "aria-label": strings.conversation },
      this.#header(), this.#transcript.element, this.#composer.element, h("slot", { name: "footer" }), this.#status,
    );
    this.#panel.dataset.drop = strings.dropFiles;
    if (this.client.attachmentsUrl) acceptFiles(this.#panel, (files) => this.attach(files));
    this.#panel.addEventListener("focusin", () => this.#loadMarkdown());
    this.#panel.addEventListener("keydown", (event) => event.key === "Escape" && this.#escape(event));
    this.shadowRoot?.append(this.#panel);
    this.#styled.then(() => (this.#panel.hidden = false));
    if (this.client.hasThreads && !this.hasAttribute("placement") && this.#memory.sidebar) this.#loadDrawer();
    this.#greet();
  }

  /** A turn has begun, or could not. @param {boolean} begun */
  #turn(begun) {
    if (begun) this.#transcript.toEnd();
    return begun;
  }

  /** Settles when the style has come, or has failed to: nothing is shown before. @param {string} name @param {string} [url] */
  #style(name, url = new URL(`./${name}`, import.meta.url).href) {
    const link = h("link", { rel: "stylesheet", href: url });
    this.shadowRoot?.append(link);
    return new Promise((show) => (link.onload = link.onerror = show));
  }

  /** Of what is around a conversation. */
  #styleFrame() {
    return (this.#framed ??= this.#styled.then(() => this.#style("agui-frame.css", this.dataset.frameStylesheetUrl)));
  }

  #header() {
    const { threads, newChat, close, title } = this.#strings;
    const list = this.client.hasThreads && iconButton("threads", threads, async () => (await this.#loadDrawer()).toggle(), { "aria-haspopup": "dialog" });
    return h(
      "header", { class: "header", part: "header" }, list, h("slot", { name: "header-start" }, h("span", { class: "title" }, title)), h("span", { class: "space" }),
      iconButton("compose", newChat, () => this.newChat()), h("slot", { name: "header-end" }),
      iconButton("close", close, () => this.toggle(true), { class: "icon-button collapse" }),
    );
  }

  /** @param {KeyboardEvent} event */
  #escape(event) {
    if (event.isComposing || this.#drawer?.element.matches(":modal")) return;
    event.preventDefault();
    if (this.session.busy) this.session.stop();
    else if (this.hasAttribute("placement")) this.toggle(true);
  }

  #greet() {
    const { greeting, description } = this.#strings;
    this.#welcome.greet(this.getAttribute("title-text") ?? greeting, this.getAttribute("description-text") ?? description);
  }

  #showSkills(skills) {
    this.#composer.skills = skills;
    this.#welcome.offer(skills, (skill) => this.#composer.use(skill));
  }

  /** Render at most once a frame, however many events come. */
  #schedule() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render() {
    if (!this.#panel) return; // the words have not come yet
    const { session } = this;
    const { status } = session.conversation;
    const waits = status === "waiting";
    if (waits && !this.#Question) this.#question ??= this.#loadQuestion();
    const asks = waits && this.#Question;
    const asksNow = asks && !this.#asked;
    this.#asked = asks;
    if (!session.empty) this.#loadMarkdown();
    this.#panel.classList.toggle("empty", session.empty);
    this.#transcript.render(session);
    this.#switchDraft();
    this.#composer.render(session);
    if (session.title !== this.#title) this.#emit("ag-ui-thread", { threadId: session.threadId, title: (this.#title = session.title) });
    this.#see();
    setText(this.#status, this.#statusText());
    if (asksNow && this.#composer.hasFocus) this.#focusQuestion();
  }

  #changed() {
    this.#switchDraft(); // not a frame later: somebody may write by then
    this.#schedule();
    const { state } = this;
    if (state === this.#lastState) return;
    this.#lastState = state;
    const text = JSON.stringify(state);
    if (text === this.#stateText) return;
    this.#stateText = text;
    this.#emit("ag-ui-state", state);
  }

  /** Most chats never ask: what shows a question comes with the first one, and at once: it is to have the focus. */
  async #loadQuestion() {
    try {
      [{ Question: this.#Question }] = await Promise.all([() => import("./question.js"), () => import("./standing-questions.js"), () => import("./tool-card.js")].map(/** @type {any} */ (lazy)));
      this.#schedule();
    } catch {
      this.session.fail({ code: "connection_lost" });
    }
    this.#question = null;
  }

  /** Go to the next open question, never to its buttons: a stray Enter must not approve. */
  #focusQuestion() {
    const questions = [...this.#panel.querySelectorAll(".question")];
    const next = questions.find((question) => !question.querySelector("[aria-pressed]"));
    (next ?? this.#composer).focus();
  }

  #wasBusy = false;

  /** What a screen reader is told: the log itself is silent while text streams in. */
  #statusText() {
    const { answering, answered } = this.#strings;
    const { busy, conversation } = this.session;
    const text = busy ? (conversation.steps.at(-1) ?? answering) : this.#wasBusy || this.#status.textContent ? answered : "";
    this.#wasBusy ||= busy;
    if (conversation.status === "waiting") return this.#strings[openText(conversation.interrupts[0])];
    return ["failed", "stopped"].includes(conversation.status) ? "" : text;
  }

  /** @param {string} name @param {any} detail */
  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** @param {string} threadId */
function hrefOf(threadId) {
  const url = new URL(location.href);
  url.searchParams.set("thread", threadId);
  return url.href;
}

AguiChatElement.define();
