// @ts-check
import { Catalog, checkedName } from "./catalog/catalog.js";
import { ChatPage } from "./page/chat-page.js";
import { AgentClient } from "./http/client.js";
import { onWake } from "./session/following.js";
import { fetchModule, lazy, moduleOf } from "./dom/lazy.js";
import { Session } from "./session/session.js";
import { STRINGS, tableFor } from "./words/strings.js";
import { Styles } from "./page/styles.js";
import { Tabs } from "./session/tabs.js";
import { ThreadMemory } from "./session/thread-memory.js";

/**
 * A chat with an AG-UI agent. agui-chat.d.ts has all that a page can use of it.
 * @implements {PublicElement}
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
  /** @type {Partial<import("./types.d.ts").Table>} */
  #ownStrings = {};
  /** @type {any} the texts in the page's language, if it is not English */
  #table;
  #catalog = new Catalog(() => this.#page?.schedule());
  /** @type {Styles | undefined} */
  #styles;
  /** @type {ChatPage | undefined} exists when the texts are loaded */
  #page;
  /** @type {any} */
  #lastState;
  #stateText = "{}";
  #listeners = new AbortController();

  // --- What a page may use or override

  /** Texts that differ from strings.js; set them before the element is connected. */
  get strings() {
    return this.#strings;
  }

  set strings(strings) {
    this.#ownStrings = { ...this.#ownStrings, ...strings };
    this.#strings = { ...STRINGS, ...this.#table, ...this.#ownStrings };
  }

  /** The state that page and agent share. The next run sends a state that you set. */
  get state() {
    return this.session.conversation.state;
  }

  set state(state) {
    this.session.setState(JSON.parse(JSON.stringify(state)));
  }

  /**
   * Tools of the page that the agent may call: set several at once, or before the element is
   * defined.
   */
  get tools() {
    return [...this.#catalog.pageTools.values()];
  }

  set tools(tools) {
    for (const tool of tools) this.registerTool(tool);
  }

  /**
   * Let the agent do something in the page. Each `register...` returns a function that takes it
   * back.
   * @param {import("./agui-chat.d.ts").PageTool} tool
   */
  registerTool(tool) {
    this.#catalog.add(tool);
    this.session.offer(this.#catalog.pageTools);
    return () =>
      this.#catalog.pageTools.get(tool.name) === tool && this.unregisterTool(tool.name);
  }

  /** @param {string} name */
  unregisterTool(name) {
    this.#catalog.pageTools.delete(name);
  }

  /**
   * Describe the page; called for each run. The model reads the result as data.
   * @returns {import("./agui-chat.d.ts").ContextEntry[]
   *   | Promise<import("./agui-chat.d.ts").ContextEntry[]>}
   */
  getContext() {
    return [];
  }

  get threadId() {
    return this.session.threadId;
  }

  /** Headers for each request: credentials may change. @returns {Record<string, string>} */
  getHeaders() {
    const { csrfCookie = "csrftoken", csrfHeader = "X-CSRFToken", csrfToken } = this.dataset;
    const cookie = `; ${document.cookie}`.split(`; ${csrfCookie}=`)[1]?.split(";")[0];
    const token = cookie ?? csrfToken;
    return token ? { [csrfHeader]: token } : {};
  }

  /** @param {string} url @param {RequestInit} init @returns {Promise<Response>} */
  request(url, init) {
    return fetch(url, {
      credentials: "same-origin",
      ...init,
      headers: { ...init.headers, ...this.getHeaders() },
    });
  }

  /**
   * POST a form and report its progress. All other requests use `request`.
   * @param {string} url @param {FormData} form
   * @param {import("./types.d.ts").UploadOptions} options
   * @returns {Promise<Response>}
   */
  async upload(url, form, options) {
    const module = await moduleOf(this, "upload", fetchModule);
    const all = { ...options, headers: this.getHeaders() };
    return module ? module.post(url, form, all) : Response.error();
  }

  /**
   * Send a message as the user; false if that isn't possible now. `send` waits for the answer.
   * @param {string} text
   * @param {import("./types.d.ts").Attachment[]} [attachments] as the server answered their uploads
   */
  sendMessage(text, attachments = []) {
    if (!this.#emit("ag-ui-submit", { text, attachments }, true)) return false;
    const sent = this.session.send(text, attachments);
    if (sent) this.#page?.toEnd();
    return sent;
  }

  /** @type {PublicElement["send"]} */
  async send(...message) {
    return (await this.#own()).send(this, ...message);
  }

  /** Upload files for the message that is being written. @param {Iterable<File>} files */
  async attach(files) {
    await this.#page?.attach(files);
  }

  /**
   * Draw activities of a type in an element of the page.
   * @param {string} type @param {import("./agui-chat.d.ts").Draw} draw
   */
  registerActivity(type, draw) {
    return this.#catalog.register(`activity ${type}`, draw);
  }

  /**
   * Draw the calls of a tool in elements of the page.
   * @param {string} name @param {import("./agui-chat.d.ts").ToolView} view
   */
  registerToolView(name, view) {
    return this.#catalog.register(`tool ${name}`, view);
  }

  /**
   * Change the elements of each finished answer.
   * @param {import("./agui-chat.d.ts").Dress} dress
   */
  registerAnswer(dress) {
    this.#want();
    return this.#catalog.register(dress, dress);
  }

  /**
   * Show CUSTOM events of a name in the conversation, drawn by the page.
   * @param {string} name @param {import("./agui-chat.d.ts").Draw} draw
   */
  registerEvent(name, draw) {
    return this.registerActivity(`event ${name}`, draw);
  }

  /** Add a button. @param {import("./agui-chat.d.ts").Action} action */
  registerAction(action) {
    this.#want();
    return this.#catalog.register(`action ${checkedName(action)}`, action);
  }

  /** Show a conversation, and wait until it is there. @param {string} threadId */
  async open(threadId) {
    return (await this.#own()).open(this, threadId);
  }

  /**
   * Open what a tool has shown; false if there is no such thing.
   * @type {PublicElement["openActivity"]}
   */
  async openActivity(type, id) {
    const module = await moduleOf(this, `activity:${type}`);
    return Boolean(await module?.openActivity?.(this, id));
  }

  /** @param {string} threadId */
  openThread(threadId) {
    this.session.open(threadId);
    this.#page?.threadOpened();
  }

  newChat() {
    this.session.reset();
    this.#page?.threadOpened();
  }

  /** @param {boolean} [collapsed] */
  toggle(collapsed = !this.hasAttribute("collapsed")) {
    this.toggleAttribute("collapsed", collapsed);
    this.#emit("ag-ui-toggle", { collapsed });
    this.#page?.toggled(collapsed);
  }

  focus() {
    this.#page?.focus();
  }

  // --- Life in the document

  async connectedCallback() {
    const { signal } = (this.#listeners = new AbortController());
    const { session } = this;
    this.#takeOver();
    const table = this.#table ?? tableFor(this, this.dataset.stringsUrl);
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    this.#styles ??= new Styles(this, root, import.meta.url);
    this.#table = table.then ? await table : table;
    if (signal.aborted) return;
    const page = (this.#page ??= this.#build(root, this.#styles));
    for (const [name, listener] of this.#sessionListeners(page)) {
      session.addEventListener(name, listener, { signal });
    }
    addEventListener("popstate", () => page.restore(), { signal });
    this.#memory.forget({ butMine: true });
    const [endpoint, user] = ["endpoint", "user-key"].map((name) => this.getAttribute(name) ?? "");
    this.#tabs.open(endpoint, user, (message) => session.hearTab(message));
    onWake((wake) => session.wake(wake), signal);
    /** @param {Event} event */
    const submitted = ({ target }) =>
      /** @type {Element} */ (target).matches("[data-agui-sign-out]") && session.signOut();
    document.addEventListener("submit", submitted, { signal });
    session.getContext = () => this.getContext();
    session.draws = (name) => this.#catalog.seams.has(`activity event ${name}`);
    if (this.querySelector("[slot=avatar]")) this.#want();
    this.#catalog.load(this.client, (skills) => page.showSkills(skills));
    if (session.threadId) session.open(session.threadId);
    else page.restore();
    this.#changed(page);
    page.connect();
  }

  /** Apply the properties that were set before the element was defined. */
  #takeOver() {
    for (const name of ["strings", "state", "tools"]) {
      const value = Object.getOwnPropertyDescriptor(this, name)?.value;
      if (value && Reflect.deleteProperty(this, name)) Object.assign(this, { [name]: value });
    }
  }

  disconnectedCallback() {
    this.#listeners.abort();
    this.#page?.disconnect();
    this.#tabs.close();
    this.session.close();
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (!this.#page) return;
    this.#page.schedule();
    if (name.endsWith("-text")) this.#page.greet();
    else this.#page.place();
  }

  #urls() {
    const { toolsUrl: tools, skillsUrl: skills, threadsUrl: threads } = this.dataset;
    return { run: this.getAttribute("endpoint") ?? "", tools, skills, threads };
  }

  /** Load what only pages with something of their own need. */
  async #own() {
    const { OWN_PARTS: own } = await fetchModule(() => import("./page/own.js"));
    if (this.#catalog.own !== own) {
      this.#catalog.own = own;
      this.#catalog.put(this.#catalog.seams);
    }
    return own;
  }

  /** Do so, and go on without it if it can't be had. */
  #want = () => lazy(() => this.#own());

  /** @param {ShadowRoot} root @param {Styles} styles */
  #build(root, styles) {
    this.strings = JSON.parse(this.dataset.strings || "{}");
    const page = new ChatPage({
      host: this, strings: this.#strings, memory: this.#memory, styles, catalog: this.#catalog,
      wantOwn: this.#want, emit: (name, detail) => this.#emit(name, detail),
    });
    root.append(page.element);
    // No listener sees a key of an input method. Safari's last Enter has only the code.
    const hide = (/** @type {KeyboardEvent} */ event) => {
      if (event.isComposing || event.keyCode === 229) event.stopPropagation();
    };
    page.element.addEventListener("keydown", hide, { capture: true });
    return page;
  }

  /** @param {ChatPage} page @returns {[string, (event: any) => void][]} */
  #sessionListeners(page) {
    return [
      ["change", () => this.#changed(page)],
      ["start", () => page.threadChanged()],
      ["event", ({ detail }) => this.#emit("ag-ui-event", detail)],
      ["end", () => this.#ended()],
      ["returned", ({ detail }) => page.giveBack(detail)],
      ["left", () => page.threadGone()],
      ["signed-out", () => page.forget()],
    ];
  }

  #ended() {
    const { status, error } = this.session.conversation;
    this.#emit("ag-ui-run-finished", { status, error });
  }

  /** @param {ChatPage} page */
  #changed(page) {
    page.update();
    const { state } = this;
    if (state === this.#lastState) return;
    this.#lastState = state;
    const text = JSON.stringify(state);
    if (text === this.#stateText) return;
    this.#stateText = text;
    this.#emit("ag-ui-state", state);
  }

  /**
   * Dispatch an event; false if the page has cancelled it.
   * @param {string} name @param {unknown} detail @param {boolean} [cancelable]
   */
  #emit(name, detail, cancelable) {
    const options = { detail, bubbles: true, composed: true, cancelable };
    return this.dispatchEvent(new CustomEvent(name, options));
  }
}

/** @typedef {import("./agui-chat.d.ts").AguiChatElement} PublicElement */

AguiChatElement.define();
