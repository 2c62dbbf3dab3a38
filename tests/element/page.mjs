// The chat on a page without a browser, for what needs elements but nothing that is laid out or drawn, and no key's own effect.
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { after } from "node:test";

import { GlobalRegistrator } from "@happy-dom/global-registrator";

const ROOT = "https://page.example";
/** Node's own, which stream. */
const { AbortController, AbortSignal, Headers, ReadableStream, Request, Response, TextDecoder, TextEncoder } = globalThis;
GlobalRegistrator.register({
  url: `${ROOT}/`, width: 1200, height: 800,
  settings: { disableCSSFileLoading: true, disableJavaScriptFileLoading: true, handleDisabledFileLoadingAsSuccess: true },
});
Object.assign(globalThis, { AbortController, AbortSignal, Headers, ReadableStream, Request, Response, TextDecoder, TextEncoder });
// Styles are not loaded, and count as if they were.
Object.defineProperty(HTMLLinkElement.prototype, "onload", { set: (done) => queueMicrotask(done) });
// What happy-dom does otherwise than browsers: the focus within a shadow root, the rows of a table and their cells, popovers, what is laid out, and the choice that a select begins with.
const { matches, append } = Element.prototype;
Element.prototype.matches = function (selector) {
  if (!/^:focus(-within)?$/.test(selector)) return matches.call(this, selector);
  const focused = this.isConnected && this.getRootNode().activeElement;
  return selector === ":focus" ? focused === this : Boolean(focused) && this.contains(focused);
};
Object.defineProperty(HTMLElement.prototype, "offsetParent", { get() { return this.closest("[hidden]") ? null : this.parentNode; }, configurable: true });
for (const name of ["rows", "cells"]) Object.defineProperty(HTMLElement.prototype, name, { get() { return [...this.children]; }, configurable: true });
HTMLSelectElement.prototype.append = function (...options) {
  append.apply(this, options);
  const chosen = [...this.options].findLastIndex((option) => option.hasAttribute("selected"));
  if (chosen >= 0) this.selectedIndex = chosen;
};
const { get: activeElement } = Object.getOwnPropertyDescriptor(ShadowRoot.prototype, "activeElement");
Object.defineProperty(ShadowRoot.prototype, "activeElement", {
  get() {
    try {
      return activeElement.call(this);
    } catch {
      return null; // What had the focus is gone.
    }
  },
});
for (const [name, newState] of [["showPopover", "open"], ["hidePopover", "closed"]]) {
  HTMLElement.prototype[name] = function () {
    this.dispatchEvent(Object.assign(new Event("toggle"), { newState }));
  };
}
// What this Node may lack.
Promise.withResolvers ??= () => {
  const promised = {};
  promised.promise = new Promise((resolve, reject) => Object.assign(promised, { resolve, reject }));
  return promised;
};
globalThis.visualViewport ??= null;
globalThis.IntersectionObserver = class {
  constructor(told) {
    this.observe = (target) => queueMicrotask(() => told([{ target, isIntersecting: true }], this));
    this.unobserve = this.disconnect = () => {};
  }
};
setMaxListeners(0);
// Without `unregister`: what is still loaded at the end finds its globals.
after(() => happyDOM.close());

export const { AguiChatElement } = await import("./agui/agui-chat.js");
AguiChatElement.define();

export const STARTED = { type: "RUN_STARTED", threadId: "t", runId: "r" };
export const FINISHED = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
export const chunk = (delta, messageId = "m") => ({ type: "TEXT_MESSAGE_CHUNK", messageId, delta });
export const custom = (name, value) => ({ type: "CUSTOM", name, value });
export const failed = (message, code = "model_error", metadata = {}) => ({ type: "RUN_ERROR", message, code, metadata });
export const waiting = (...interrupts) => ({ ...FINISHED, outcome: { type: "interrupt", interrupts } });
export const shown = (activityType, content, messageId = "a") => ({ type: "ACTIVITY_SNAPSHOT", messageId, activityType, content });
export const changed = (activityType, path, value, op = "replace", messageId = "a") => ({ type: "ACTIVITY_DELTA", messageId, activityType, patch: [{ op, path, value }] });
export const begun = (toolCallId, toolCallName = "summarize_tasks", args = {}, parentMessageId = "p") => [
  { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId },
  { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(args) },
  { type: "TOOL_CALL_END", toolCallId },
];
export const ended = (toolCallId, content = "ok", metadata = {}) => {
  return { type: "TOOL_CALL_RESULT", messageId: `result-${toolCallId}`, toolCallId, content: typeof content === "string" ? content : JSON.stringify(content), metadata };
};
export const question = (id, responseSchema, more = {}) => ({ id, reason: "input_required", message: `Question ${id}?`, ...(responseSchema && { responseSchema }), ...more });

/** Wait until this is true, or does not throw. */
export async function until(condition, message = String(condition)) {
  const end = Date.now() + 30_000;
  for (;;) {
    let error = message;
    try {
      const value = await condition();
      if (value) return value;
    } catch (thrown) {
      error = thrown;
    }
    if (Date.now() > end) throw error instanceof Error ? error : new Error(error);
    await new Promise((go) => setTimeout(go, 5));
  }
}

/** Wait for texts, as they are shown. */
export const has = (read, expected) => until(() => (assert.deepEqual(read(), expected), true));

const isShown = (element) => {
  const folded = element.parentElement?.closest("details:not([open])");
  return !element.closest("[hidden], .folded") && (!folded || element.closest("summary")?.parentElement === folded);
};
const wordsOf = (element) => element.textContent.replace(/\s+/g, " ").trim();

/** What has a name: `labelled(root, "button", "Approve")`. */
export function named(root, selector, name) {
  const fits = (words) => (name instanceof RegExp ? name.test(words) : words === name);
  return [...root.querySelectorAll(selector)].filter((one) => isShown(one) && fits(nameOf(one)));
}

export function nameOf(element) {
  const by = element.getAttribute("aria-labelledby");
  const label = element.labels?.[0] ?? element.closest("label");
  const told = by ? by.split(" ").map((id) => wordsOf(element.getRootNode().getElementById(id))).join(" ") : element.getAttribute("aria-label");
  if (told != null) return told;
  if (element.localName === "fieldset") return wordsOf(element.querySelector("legend") ?? element);
  if (!label) return wordsOf(element);
  const copy = label.cloneNode(true);
  for (const field of copy.querySelectorAll("select, textarea, small, button")) field.remove();
  return wordsOf(copy);
}

/**
 * A page with the chat. `runs` are answered one after the other; without any, events come by `push`.
 * `routes` answer other requests, by their path. With `keeps` the browser still has what the page before kept.
 */
export async function open({ runs = [], routes = {}, modules = {}, data = {}, keeps = false, before = () => {} } = {}) {
  document.body.replaceChildren();
  if (!keeps) for (const store of [sessionStorage, localStorage]) store.clear();
  history.replaceState(null, "", "/");
  const chat = document.createElement("agui-chat");
  const text = new TextEncoder();
  const page = { chat, sent: [], runs, requests: [], stream: null };
  const parts = Object.fromEntries(Object.entries(modules).map(([name, path]) => [name, new URL(path, import.meta.url).href]));
  Object.assign(chat.dataset, { threadsUrl: "/agent/threads/", toolsUrl: "/agent/tools/", skillsUrl: "/agent/skills/", modules: JSON.stringify(parts), ...data });
  chat.setAttribute("endpoint", "/agent/");
  const frame = (event) => text.encode(`data: ${JSON.stringify(event)}\n\n`);
  chat.request = async (url, init = {}) => {
    const { pathname, search } = new URL(url, ROOT);
    page.requests.push(`${init.method ?? "GET"} ${pathname}${search}`);
    if (pathname !== "/agent/") {
      const answer = routes[pathname] ?? [];
      return typeof answer === "function" ? answer(new URL(url, ROOT), init) : Response.json(answer);
    }
    page.sent.push(JSON.parse(init.body));
    const events = page.runs.shift();
    const body = new ReadableStream({
      start(stream) {
        if (!events) return void (page.stream = stream);
        for (const event of events) stream.enqueue(frame(event));
        stream.close();
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  before(chat);
  document.body.append(chat);
  await until(() => chat.shadowRoot?.querySelector(".input"));
  const root = chat.shadowRoot;
  return Object.assign(page, {
    root,
    all: (selector) => [...root.querySelectorAll(selector)].filter(isShown),
    one: (selector) => until(() => [...root.querySelectorAll(selector)].find(isShown), selector),
    texts: (selector) => [...root.querySelectorAll(selector)].filter(isShown).map(wordsOf),
    button: (name, within = root) => until(() => named(within, "button", name)[0], `button ${name}`),
    group: (name) => until(() => named(root, "[role=group], fieldset", name)[0], `group ${name}`),
    field: (name, within = root) => until(() => named(within, "input, textarea, select", name)[0], `field ${name}`),
    async press(name, within = root) {
      (await this.button(name, within)).click();
    },
    async fill(name, value, within = root) {
      type(await this.field(name, within), value);
    },
    say(words) {
      root.querySelector(".input").focus();
      assert.ok(chat.sendMessage(words));
    },
    async push(...events) {
      const stream = await until(() => page.stream);
      for (const event of events) stream.enqueue(frame(event));
    },
    /** Wait until the run has ended. */
    finished: () => until(() => !chat.session.busy && !root.querySelector(".log[aria-busy=true]")),
    async newChat() {
      page.stream = null;
      chat.newChat();
      await until(() => !root.querySelector(".messages .message"));
    },
  });
}

export function type(field, value) {
  if (field.type === "checkbox" || field.type === "radio") {
    if (field.checked !== value) field.click();
    return;
  }
  if (field.localName === "select") field.selectedIndex = [...field.options].findIndex(({ text }) => text === value);
  else field.value = value;
  for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
}

export function press(element, key, options = {}) {
  return element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...options }));
}
