// @ts-check
import { AgentClient } from "./client.js";
import { Composer } from "./composer.js";
import { h, icon, iconButton, setText } from "./dom.js";
import { loadMarkdown } from "./markdown.js";
import { Session } from "./session.js";
import { STRINGS } from "./strings.js";
import { openText } from "./tool-card.js";
import { Transcript } from "./transcript.js";

/**
 * A chat with an AG-UI agent.
 *
 * @attr endpoint - URL to which runs are posted
 * @attr data-tools-url, data-skills-url, data-threads-url - the catalogs and the stored conversations
 * @attr data-marked-url, data-dompurify-url - the two libraries for Markdown; without them text is plain
 * @attr data-stylesheet-url - instead of the agui-chat.css next to this file
 * @attr data-strings - JSON that replaces texts of strings.js
 * @attr data-csrf-token - for when the cookie "csrftoken" can't be read
 * @attr data-login-url - offered when the server says that nobody is signed in
 * @attr data-thread-memory - where the open thread is remembered: "session" (default), "url" (?thread=) or "none"
 * @attr user-key - whoever is signed in: what is remembered for one is not shown to another
 * @attr title-text, description-text - the greeting of an empty chat
 * @attr theme - "light" or "dark"; else as the system has it
 * @attr placement - "floating" for a launcher in the corner; else the element fills its own box
 * @attr collapsed - a floating chat shows only its launcher
 *
 * @slot header-start, header-end - beside the buttons of the header
 * @slot welcome - instead of the greeting
 *
 * @event ag-ui-submit - before a message is sent; detail { text }; cancelable
 * @event ag-ui-event - every AG-UI event; detail is the event
 * @event ag-ui-state - the shared state has changed; detail is the state
 * @event ag-ui-run-finished - a run has ended or is waiting; detail { status, error }
 * @event ag-ui-thread - another thread is open; detail { threadId }
 * @event ag-ui-toggle - a floating chat was opened or closed; detail { collapsed }
 *
 * @csspart panel, header, log, messages, user-message, assistant-message, reasoning, activity, tool, approve,
 *   deny, prose, code, error, composer, input, send, palette, chip, drawer, threads, launcher
 *
 * @cssprop --agui-accent, --agui-accent-text, --agui-background, --agui-surface, --agui-border, --agui-text,
 *   --agui-muted, --agui-danger, --agui-font, --agui-font-mono, --agui-radius, --agui-width
 */
export class AguiChatElement extends HTMLElement {
  static observedAttributes = ["title-text", "description-text"];

  /** @param {string} [tag] @param {CustomElementRegistry} [registry] */
  static define(tag = "agui-chat", registry = customElements) {
    if (!registry.get(tag)) registry.define(tag, this);
    return this;
  }

  client = new AgentClient(() => this.#urls(), (url, init) => this.request(url, init));
  session = new Session(this.client);
  #strings = { ...STRINGS };
  #tools = new Map();
  #title = h("h1", {});
  #description = h("p", {});
  #chips = h("div", { class: "chips" });
  #status = h("p", { class: "visually-hidden", role: "status" });
  /** @type {any} */ #transcript;
  /** @type {any} */ #composer;
  /** @type {any} */ #drawer;
  /** @type {any} */ #panel;
  /** @type {any} */ #Question = null;
  #loadsQuestion = false;
  #frame = 0;
  #asked = false;
  /** @type {any} */ #lastState;
  #listeners = new AbortController();

  // --- What a page may use or override

  /** Texts that differ from strings.js; set them before the element is connected. */
  get strings() {
    return this.#strings;
  }

  set strings(strings) {
    this.#strings = { ...this.#strings, ...strings };
  }

  /** The state that page and agent share. */
  get state() {
    return this.session.conversation.state;
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

  /** Send a message as the user; false when that isn't possible now. @param {string} text */
  sendMessage(text) {
    const event = new CustomEvent("ag-ui-submit", { detail: { text }, bubbles: true, composed: true, cancelable: true });
    if (!this.dispatchEvent(event)) return false;
    const sent = this.session.send(text);
    if (sent) this.#transcript?.toEnd();
    return sent;
  }

  /** @param {string} threadId */
  openThread(threadId) {
    this.session.open(threadId);
    this.#threadChanged();
    this.#composer.focus();
  }

  newChat() {
    this.session.reset();
    this.#threadChanged();
    this.#composer.focus();
  }

  /** @param {boolean} [collapsed] */
  toggle(collapsed = !this.hasAttribute("collapsed")) {
    this.toggleAttribute("collapsed", collapsed);
    this.#emit("ag-ui-toggle", { collapsed });
    if (collapsed) this.shadowRoot?.querySelector(/** @type {any} */ (".launcher"))?.focus();
    else this.#composer.focus();
  }

  focus() {
    this.#composer?.focus();
  }

  // --- Life in the document

  connectedCallback() {
    this.#listeners = new AbortController();
    if (!this.shadowRoot) this.#build();
    const { signal } = this.#listeners;
    for (const [name, listener] of this.#sessionListeners()) this.session.addEventListener(name, listener, { signal });
    addEventListener("popstate", () => this.#restore(), { signal });
    this.#loadCatalogs();
    if (this.session.threadId) this.session.open(this.session.threadId);
    else this.#restore();
    this.#schedule();
  }

  disconnectedCallback() {
    this.#listeners.abort();
    this.session.close();
  }

  attributeChangedCallback() {
    if (this.shadowRoot) this.#greet();
  }

  #urls() {
    const { toolsUrl, skillsUrl, threadsUrl } = this.dataset;
    return { run: this.getAttribute("endpoint") ?? "", tools: toolsUrl, skills: skillsUrl, threads: threadsUrl };
  }

  /** @returns {[string, (event: any) => void][]} */
  #sessionListeners() {
    return [
      ["change", () => this.#schedule()],
      ["start", () => this.#threadChanged()],
      ["event", ({ detail }) => this.#emit("ag-ui-event", detail)],
      ["end", () => this.#ended()],
      ["returned", ({ detail }) => this.#composer.giveBack(detail)],
    ];
  }

  #ended() {
    const { status, error } = this.session.conversation;
    this.#emit("ag-ui-run-finished", { status, error });
  }

  async #loadCatalogs() {
    const { markedUrl, dompurifyUrl } = this.dataset;
    const load = async (promise, use) => {
      try {
        use(await promise);
        this.#schedule();
      } catch {
        // The chat works without: tools are then called by their names, and there are no skills.
      }
    };
    load(this.client.tools(), (tools) => (this.#tools = new Map(tools.map((tool) => [tool.name, tool]))));
    load(this.client.skills(), (skills) => this.#showSkills(skills));
    load(loadMarkdown(markedUrl, dompurifyUrl), () => {});
  }

  // --- Which thread is open

  get #memoryKey() {
    return `agui-chat:${this.getAttribute("endpoint")}:${this.getAttribute("user-key") ?? ""}`;
  }

  #restore() {
    const { threadMemory } = this.dataset;
    if (!this.client.hasThreads || threadMemory === "none") return;
    const inUrl = new URL(location.href).searchParams.get("thread");
    const threadId = threadMemory === "url" ? inUrl : sessionStorage.getItem(this.#memoryKey);
    if (threadId === this.session.threadId) return;
    if (threadId) this.session.open(threadId);
    else this.session.reset();
  }

  #threadChanged() {
    const { threadId } = this.session;
    const { threadMemory } = this.dataset;
    if (threadMemory === "url") {
      const url = new URL(location.href);
      if (threadId) url.searchParams.set("thread", threadId);
      else url.searchParams.delete("thread");
      if (url.href !== location.href) history.pushState(null, "", url);
    } else if (threadMemory !== "none") {
      if (threadId) sessionStorage.setItem(this.#memoryKey, threadId);
      else sessionStorage.removeItem(this.#memoryKey);
    }
    this.#emit("ag-ui-thread", { threadId });
  }

  async #openDrawer() {
    if (!this.#drawer) {
      const { ThreadsDrawer } = await import("./threads-drawer.js");
      this.#drawer ??= new ThreadsDrawer({
        strings: this.#strings, client: this.client, newChat: () => this.newChat(),
        open: (threadId) => this.openThread(threadId),
        removed: (threadId) => threadId === this.session.threadId && this.newChat(),
      });
      this.#panel.append(this.#drawer.element);
    }
    this.#drawer.open(this.session.threadId);
  }

  // --- What is on the page

  #build() {
    const root = this.attachShadow({ mode: "open" });
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
        get loginUrl() {
          return chat.dataset.loginUrl ?? null;
        },
        decide: (interruptId, decision) => {
          this.session.decide(interruptId, decision);
          if (!decision) return;
          this.#render();
          this.#focusQuestion();
        },
        retry: () => this.session.retry(),
      },
      h("div", { class: "welcome" }, h("slot", { name: "welcome" }, this.#title, this.#description), this.#chips),
    );
    this.#composer = new Composer({
      strings, send: (text) => this.sendMessage(text), stop: () => this.session.stop(),
    });
    this.#panel = h(
      "section", { class: "panel", part: "panel", hidden: true, "aria-label": strings.conversation },
      this.#header(), this.#transcript.element, this.#composer.element, this.#status,
    );
    const launcher = h(
      "button",
      { type: "button", class: "launcher", part: "launcher", hidden: true, "aria-label": strings.launcher, onclick: () => this.toggle(false) },
      icon("chat"),
    );
    this.#panel.addEventListener("keydown", (event) => event.key === "Escape" && this.#escape());
    root.append(this.#stylesheet([this.#panel, launcher]), this.#panel, launcher);
    this.#greet();
  }

  /** Show nothing before the style has come, or has failed to. @param {HTMLElement[]} elements */
  #stylesheet(elements) {
    const href = this.dataset.stylesheetUrl ?? new URL("./agui-chat.css", import.meta.url).href;
    const show = () => elements.forEach((element) => (element.hidden = false));
    return h("link", { rel: "stylesheet", href, onload: show, onerror: show });
  }

  #header() {
    const { threads, newChat, close } = this.#strings;
    const list = this.client.hasThreads && iconButton("threads", threads, () => this.#openDrawer(), { "aria-haspopup": "dialog" });
    return h(
      "header", { class: "header", part: "header" }, list, h("slot", { name: "header-start" }), h("span", { class: "space" }),
      iconButton("compose", newChat, () => this.newChat()), h("slot", { name: "header-end" }),
      iconButton("close", close, () => this.toggle(true), { class: "icon-button collapse" }),
    );
  }

  #escape() {
    if (this.#drawer?.element.open) return;
    if (this.session.busy) this.session.stop();
    else if (this.getAttribute("placement") === "floating") this.toggle(true);
  }

  #greet() {
    setText(this.#title, this.getAttribute("title-text") ?? this.#strings.title);
    setText(this.#description, this.getAttribute("description-text") ?? this.#strings.description);
  }

  #showSkills(skills) {
    this.#composer.skills = skills;
    const chips = skills.filter((skill) => skill.chip);
    this.#chips.replaceChildren(
      ...chips.map((skill) =>
        h(
          "button",
          { type: "button", class: "chip", part: "chip", title: skill.description, onclick: () => this.#composer.use(skill) },
          skill.title,
        ),
      ),
    );
  }

  /** Render at most once a frame, however many events come. */
  #schedule() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render() {
    const { session } = this;
    const { status } = session.conversation;
    const waits = status === "waiting";
    if (waits && !this.#Question) this.#loadQuestion();
    const asks = waits && this.#Question;
    const asksNow = asks && !this.#asked;
    this.#asked = asks;
    this.#panel.classList.toggle("empty", session.empty);
    this.#transcript.render(session);
    this.#composer.render(session);
    setText(this.#status, this.#statusText());
    if (asksNow && this.#composer.hasFocus) this.#focusQuestion();
    if (this.state !== this.#lastState) this.#emit("ag-ui-state", (this.#lastState = this.state));
  }

  /** Most chats never ask: what shows a question comes with the first one. */
  async #loadQuestion() {
    if (this.#loadsQuestion) return;
    this.#loadsQuestion = true;
    try {
      ({ Question: this.#Question } = await import("./question.js"));
      this.#schedule();
    } catch {
      this.session.fail({ code: "connection_lost" });
    }
    this.#loadsQuestion = false;
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

AguiChatElement.define();
