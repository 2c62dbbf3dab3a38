// @ts-check
/**
 * The host's side of MCP Apps (ext-apps, 2026-01-26): a frame that may run its own script and
 * nothing else, and what it may ask of the page. It knows neither views nor the app's author.
 */
import { GIVEN_BACK } from "./app-focus.js";
import { h } from "../agui/dom/elements.js";

/**
 * @typedef {Record<string, unknown>} Values
 * @typedef {{
 *   title: string, context: () => Values, answer: Record<string, (params: Values) => unknown>,
 *   opened: () => void, closed: () => void,
 * }} Options `answer` has the requests that the app may send; an error's message is what it gets
 * @typedef {{ jsonrpc?: unknown, id?: unknown, method?: unknown, params?: Values }} Message
 */

export const PROTOCOL = "2026-01-26";
/** Pixels. An app that is as high as its window would grow for ever. */
export const MAX_HEIGHT = 1600;
/** The messages in a second that end an app: the page has others to hear. */
const MAX_MESSAGES = 200;
/** How often an app may take the keyboard from somebody who types. */
const MAX_GRABS = 5;

/** @type {Set<WeakRef<AppFrame>>} */
const opened = new Set();

addEventListener("message", ({ source, data }) => {
  for (const reference of opened) {
    const frame = reference.deref();
    if (!frame) opened.delete(reference);
    // The origin of all these frames is "null", so the window alone tells who speaks.
    else if (source && frame.element.contentWindow === source) frame.receive(source, data);
  }
});

export class AppFrame {
  #options;
  /** The window that has begun to speak, and that which is loaded: a moved frame gets another. */
  #window = /** @type {unknown} */ (null);
  #loaded = /** @type {unknown} */ (null);
  #isOpen = false;
  /** @type {Values | null} */
  #result = null;
  /** @type {Values} */
  #input = {};
  #heard = { since: 0, count: 0 };
  #grabs = 0;
  element;

  /** @param {string} address of a document with a policy of its own @param {Options} options */
  constructor(address, options) {
    this.#options = options;
    this.element = h("iframe", {
      class: "app-frame", sandbox: "allow-scripts", referrerpolicy: "no-referrer", allow: "",
      title: options.title, src: address, onload: () => this.#load(),
    });
    this.element.addEventListener(GIVEN_BACK, () => {
      if ((this.#grabs += 1) > MAX_GRABS) this.#close();
    });
    opened.add(new WeakRef(this));
  }

  /** Whether the user is doing something in the app at this moment. */
  get isUsed() {
    const root = /** @type {ShadowRoot} */ (this.element.getRootNode());
    return navigator.userActivation?.isActive && root.activeElement === this.element;
  }

  /** Give the app the result of its tool. @param {Values} result @param {Values} [input] */
  show(result, input = {}) {
    this.#result = result;
    this.#input = input;
    if (this.#isOpen) this.#notify("tool-result", result);
  }

  /** Tell the app that the theme or something else has changed. */
  adapt() {
    if (this.#isOpen) this.#notify("host-context-changed", this.#options.context());
  }

  /** @param {MessageEventSource} source @param {Message | null} data */
  async receive(source, data) {
    if (this.#isFlooding()) return this.#close();
    if (data === null || typeof data !== "object" || data.jsonrpc !== "2.0") return;
    const { id, method, params } = data;
    if (typeof method !== "string") return;
    if (method === "ui/initialize") return this.#initialize(source, id);
    if (id === undefined) return this.#hear(method, params ?? {});
    const { answer } = this.#options;
    if (!Object.hasOwn(answer, method)) {
      return this.#post({ id, error: { code: -32601, message: "Unknown method." } });
    }
    try {
      this.#post({ id, result: await answer[method](params ?? {}) });
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.#post({ id, error: { code: -32000, message } });
    }
  }

  #isFlooding() {
    const now = performance.now();
    if (now - this.#heard.since > 1000) this.#heard = { since: now, count: 0 };
    return (this.#heard.count += 1) > MAX_MESSAGES;
  }

  /** A second document in the same window is none of ours: the app has gone elsewhere. */
  #load() {
    const { contentWindow } = this.element;
    if (contentWindow === this.#loaded) this.#close();
    this.#loaded = contentWindow;
  }

  /** @param {MessageEventSource} source @param {unknown} id */
  #initialize(source, id) {
    // It may speak before it is loaded.
    if (source === this.#window) return this.#close();
    this.#window = source;
    this.#isOpen = false;
    const { answer, context } = this.#options;
    const result = {
      protocolVersion: PROTOCOL,
      hostInfo: { name: "agui-chat", version: "1" },
      hostCapabilities: {
        ...(answer["tools/call"] && { serverTools: {} }),
        ...(answer["resources/read"] && { serverResources: {} }),
        ...(answer["ui/message"] && { message: { text: {} } }),
        ...(answer["ui/open-link"] && { openLinks: {} }),
      },
      hostContext: context(),
    };
    this.#post({ id, result });
  }

  /** @param {string} method @param {Values} params */
  #hear(method, { height }) {
    if (method === "ui/notifications/initialized" && !this.#isOpen) {
      this.#isOpen = true;
      this.#options.opened();
      this.#notify("tool-input", { arguments: this.#input });
      if (this.#result) this.#notify("tool-result", this.#result);
    }
    if (method === "ui/notifications/size-changed" && Number.isFinite(height)) {
      const pixels = Math.min(Math.max(Number(height), 0), MAX_HEIGHT);
      this.element.style.height = `${pixels}px`;
    }
  }

  #close() {
    this.#isOpen = false;
    this.element.remove();
    this.#options.closed();
  }

  /** @param {string} name @param {Values} params */
  #notify(name, params) {
    this.#post({ method: `ui/notifications/${name}`, params });
  }

  /** @param {Values} message */
  #post(message) {
    this.element.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }
}
