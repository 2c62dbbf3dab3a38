// @ts-check
/**
 * Markdown to elements: the only module that lets HTML into the page, and only sanitised.
 * `marked` and `DOMPurify` are loaded from URLs; without them the text stays readable as text.
 */
import { h } from "./dom.js";

const TAGS =
  "p br strong em del s code pre kbd sub sup blockquote ul ol li h1 h2 h3 h4 h5 h6 hr a table thead tbody tr th td details summary";
const BARE_TAG = /^<\/?(?:br|b|i|em|strong|del|s|kbd|sub|sup|details|summary)\s*\/?>$/i;
const ATTRIBUTES = "href title class align start";

/** @type {{ marked: any, sanitise: (html: string) => DocumentFragment } | null} */
let engine = null;

/**
 * Load the two libraries, once for the page. Never throws: without them there is plain text.
 * @param {string | undefined} markedUrl
 * @param {string | undefined} purifyUrl
 */
export async function loadMarkdown(markedUrl, purifyUrl) {
  if (engine || !markedUrl || !purifyUrl) return;
  try {
    const [{ Marked }, purify] = await Promise.all([import(markedUrl), import(purifyUrl)]);
    // The ES build exports it; the minified build, half the size, puts it on the window.
    const create = purify.default ?? (globalThis).DOMPurify;
    const renderer = { checkbox: ({ checked }) => (checked ? "☑ " : "☐ "), html: ({ text }) => tamed(text) };
    engine = { marked: new Marked({ gfm: true, breaks: true, renderer }), sanitise: sanitiser(create) };
  } catch (error) {
    console.warn("agui-chat: Markdown could not be loaded; texts stay plain.", error);
  }
}

/**
 * Raw HTML in Markdown: bare tags that only format stay, all others become readable text. The sanitiser would
 * drop them too, but only after a parser has seen them, which the Content-Security-Policy reports.
 * @param {string} html
 */
function tamed(html) {
  return html.replaceAll(/<[^>]*>?|>/g, (tag) => (BARE_TAG.test(tag) ? tag : escaped(tag)));
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** @param {any} create DOMPurify: a function that makes an instance of our own, so its hooks touch nobody else */
function sanitiser(create) {
  const purify = create(globalThis);
  purify.addHook("uponSanitizeAttribute", (node, data) => {
    if (data.attrName === "class") data.keepAttr = node.tagName === "CODE" && /^language-[\w+#.-]+$/.test(data.attrValue);
  });
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.tagName !== "A") return;
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  });
  const rules = {
    ALLOWED_TAGS: TAGS.split(" "),
    ALLOWED_ATTR: ATTRIBUTES.split(" "),
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|[/#?])/i,
    RETURN_DOM_FRAGMENT: true,
  };
  return (html) => purify.sanitize(html, rules);
}

/** Shows a text that grows: only the blocks that changed are made anew, so nothing flickers and selections stay. */
export class MarkdownView {
  element = h("div", { class: "prose", part: "prose" });
  /** @type {string[]} */
  #sources = [];
  #text = "";
  #plain = true;
  #strings;

  /** @param {{ copy: string, copied: string }} strings */
  constructor(strings) {
    this.#strings = strings;
  }

  /** @param {string} text */
  update(text) {
    if (text === this.#text && this.#plain === !engine) return;
    if (this.#plain) this.element.replaceChildren();
    this.#text = text;
    this.#plain = !engine;
    this.#sources = this.#plain ? [] : this.#sources;
    this.element.classList.toggle("plain", this.#plain);
    if (engine) this.#render(text);
    else this.element.textContent = text;
  }

  /** @param {string} text */
  #render(text) {
    const { marked, sanitise } = /** @type {NonNullable<typeof engine>} */ (engine);
    const tokens = marked.lexer(text);
    const blocks = tokens.filter((token) => !["space", "def"].includes(token.type));
    // A link defined further down changes blocks above: their own source alone doesn't show it.
    const links = JSON.stringify(tokens.links);
    const sources = blocks.map((token) => token.raw + links);
    const children = this.element.children;
    blocks.forEach((token, index) => {
      if (sources[index] === this.#sources[index]) return;
      const block = h("div", { class: "block" }, sanitise(marked.parser([token])));
      for (const code of block.querySelectorAll("pre > code")) this.#dress(code);
      for (const table of block.querySelectorAll("table")) frame(table);
      if (children[index]) children[index].replaceWith(block);
      else this.element.append(block);
    });
    while (children.length > blocks.length) children[blocks.length].remove();
    this.#sources = sources;
  }

  /** Give a block of code its language and a button to copy it. @param {Element} code */
  #dress(code) {
    const { copy, copied } = this.#strings;
    const language = code.className.replace("language-", "");
    const button = h("button", { type: "button", class: "copy" }, copy);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent ?? "");
      button.textContent = copied;
      setTimeout(() => (button.textContent = copy), 2000);
    });
    const pre = /** @type {HTMLElement} */ (code.parentElement);
    pre.setAttribute("tabindex", "0"); // it scrolls: the keyboard must reach it
    const box = h("div", { class: "code", part: "code" }, h("div", { class: "code-head" }, h("span", {}, language), button));
    pre.replaceWith(box);
    box.append(pre);
  }
}

/** Let a wide table scroll by itself. @param {Element} table */
function frame(table) {
  const box = h("div", { class: "table", tabindex: "0" });
  table.replaceWith(box);
  box.append(table);
}
