// @ts-check
/** A block of code gets colours, and a button that wraps long lines. */
import { coloured } from "./code-lexer.js";
import { h, setAttribute } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";

/** The most places with a colour in one block: each is an element. */
const MOST = 5000;
/** Contrast with both surfaces is at least 4.5:1. */
const STYLE = `
.code .comment { color: var(--agui-code-comment, var(--_muted)); font-style: italic; }
.code .keyword { color: var(--agui-code-keyword, light-dark(#8b2f97, #d9a0e8)); }
.code .string { color: var(--agui-code-string, light-dark(#0b6b3a, #8fd3a4)); }
.code .number { color: var(--agui-code-number, light-dark(#9a4a00, #f0b27a)); }
.code .name { color: var(--agui-code-name, light-dark(#1a5fb4, #8fbdf5)); }
.code .added { color: var(--agui-code-added, light-dark(#0b6b3a, #8fd3a4)); }
.code .removed { color: var(--agui-code-removed, light-dark(#b3261e, #ff9b93)); }
.code-head > .copy { margin-inline-start: auto; }
.wrap { background: none; border: 0; border-radius: 6px; padding: .25rem .5rem; }
.wrap:hover, .wrap[aria-pressed="true"] { color: var(--_text); }
.wrap[aria-pressed="true"] { text-decoration: underline; }
@media (pointer: coarse) { .wrap { min-height: 2.75rem; min-width: 2.75rem; } }
.code[data-wrap] pre { overflow-wrap: anywhere; white-space: pre-wrap; }
@media (forced-colors: active) {
  .code .keyword { font-weight: 700; }
  .code .removed { text-decoration: line-through; }
}
`;
/** Has a block lines that are wider than it? @type {ResizeObserver | undefined} */
let observer;

/** @param {Element[]} codes the blocks, with their heads @param {{ wrapLines: string }} strings */
export function dressCode(codes, strings) {
  adopt(codes[0], STYLE);
  observer ??= new ResizeObserver((entries) => entries.forEach(({ target }) => offer(target)));
  for (const code of codes) {
    colour(code.querySelector("code"));
    if (!code.querySelector(".wrap")) addButton(code, strings);
  }
}

/** Colour a text, unless it has its colours. @param {Element | null} code */
function colour(code) {
  const language = /^language-(.+)/.exec(code?.className ?? "")?.[1];
  if (!code || !language || code.childElementCount) return;
  const text = code.textContent ?? "";
  const pieces = [];
  let at = 0;
  for (const { kind, start, end } of coloured(text, language, MOST)) {
    pieces.push(text.slice(at, start), h("span", { class: kind }, text.slice(start, end)));
    at = end;
  }
  if (at) code.replaceChildren(...pieces.filter(Boolean), text.slice(at));
}

/** @param {Element} code @param {{ wrapLines: string }} strings */
function addButton(code, { wrapLines }) {
  const wrap = () => {
    const wraps = code.toggleAttribute("data-wrap");
    setAttribute(button, "aria-pressed", String(wraps));
  };
  /** @type {HTMLElement} */
  const button = h(
    "button",
    { type: "button", class: "wrap", "aria-pressed": "false", "data-own": "wrap", onclick: wrap },
    wrapLines,
  );
  button.hidden = true;
  code.querySelector(".code-head")?.append(button);
  const pre = code.querySelector("pre");
  if (pre) observer?.observe(pre);
}

/** Show the button if it does something. @param {Element} pre */
function offer(pre) {
  const code = pre.parentElement;
  const button = code?.querySelector(".wrap");
  if (!button || code?.hasAttribute("data-wrap")) return;
  setAttribute(button, "hidden", pre.scrollWidth <= pre.clientWidth);
}
