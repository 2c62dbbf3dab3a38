// @ts-check
/** The conversation on paper: all of its messages, black on white, and nothing to press. */
import { h } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";

/** The letters in a line of the smallest usual page, and those that a cell's edges take. */
const [LINE, CELL_SPACE] = [75, 2];
/** How small the letters of a wide table may become. Below this, its words are broken instead. */
const SMALLEST = 0.65;

const STYLE = `
.paper { display: none; }
@media print {
  :host {
    color-scheme: light !important; font-size: 10.5pt; line-height: 1.5;
    --_background: #fff !important; --_surface: #fff !important; --_text: #000 !important;
    --_muted: #444 !important; --_border: #999 !important; --_accent: #000 !important;
    --_danger: #000 !important; --_shadow: none !important; --_radius: 6px !important;
    --_large: 6px !important; --_width: none !important;
  }
  :host, .panel, .log { height: auto; overflow: visible; }
  :host([placement]) { display: none !important; }
  .panel, .transcript, .log, .messages, .assistant, .user { display: block; }
  .panel { container-type: normal; padding: 0 !important; }
  .column, .log > .column { padding: 0; }
  .messages > * + *, .assistant > * + * { margin-top: .9rem; }
  .message, .code pre, .table { animation: none; mask-image: none; transition: none; }
  .messages > .user:not(:first-child) { margin-top: 1.75rem; }
  .paper {
    border-bottom: 1px solid #999; display: block; margin-bottom: 1.25rem; padding-bottom: .6rem;
  }
  .paper h1 {
    font-size: 1.4rem; line-height: 1.3;
    text-align: -webkit-match-parent; text-align: match-parent;
  }
  .paper p { color: #444; font-size: .85rem; }
  .bubble { background: none; border: 1px solid #999; border-radius: 6px; max-width: none; }
  .user > .bubble.folded { break-inside: auto; mask-image: none; max-height: none; }
  .actions, .header, .composer, .drawer, .chips, .working, .undo-bar, .earlier, .jump, .edge,
  .launcher, .notify, slot[name="footer"], input[type="search"],
  button:not(.sort, .tools-fold) {
    display: none !important;
  }
  .sort::after { display: none; }
  .code pre, .value, .prose pre {
    max-height: none; overflow: visible; overflow-wrap: anywhere; white-space: pre-wrap;
  }
  .table, .data-table > .table { max-height: none; overflow: visible; }
  .data-table table, .prose table { font-size: calc(1em * var(--_fit, 1)); width: 100%; }
  :is(th, td), .data-table :is(td, th) {
    max-width: none; overflow-wrap: break-word; padding: .3em .5em; white-space: normal;
  }
  .sort { display: contents; }
  [data-wide] { hyphens: auto; table-layout: fixed; }
  .panel .table thead th { padding: .3em .5em; position: static; }
  thead { display: table-header-group; }
  .code, .tool, .activity, .bubble, tr, blockquote, svg, img, .failure { break-inside: avoid; }
  :is(.tool, .activity):has(table) { break-inside: auto; }
  .prose :is(h1, h2, h3, h4, h5, h6), .code-head, .tool > summary { break-after: avoid; }
  .prose :is(p, li) { orphans: 3; widows: 3; }
  .user { break-after: avoid; }
  .prose a { color: #000; }
  .prose a[data-address]::after {
    color: #444; content: " (" attr(data-address) ")"; direction: ltr; display: inline;
    font-size: .85em; overflow-wrap: anywhere; unicode-bidi: isolate;
  }
}
`;

/** @param {HTMLElement} panel @param {import("./ready.js").Parts} parts */
export function preparePrint(panel, { transcript, host, strings }) {
  adopt(panel, STYLE);
  const head = h("div", { class: "paper" });
  const page = document.documentElement.style;
  let [from, docked] = [0, ""];
  addEventListener("beforeprint", () => {
    from = transcript.drawFrom(0);
    nameAddresses(panel);
    panel.querySelectorAll("table").forEach(fitToPaper);
    const { title } = host.session;
    const style = { dateStyle: "long", timeStyle: "short" };
    const date = new Intl.DateTimeFormat(strings.lang, /** @type {any} */ (style));
    head.replaceChildren(
      h("h1", { dir: "auto" }, title || strings.title), h("p", {}, date.format(new Date())),
    );
    panel.prepend(head);
    // A chat beside another page is not printed with that page.
    docked = page.getPropertyValue("--agui-docked-width");
    if (docked) page.setProperty("--agui-docked-width", "0px");
  });
  addEventListener("afterprint", () => {
    head.remove();
    transcript.drawFrom(from);
    if (docked) page.setProperty("--agui-docked-width", docked);
  });
}

/**
 * Make the letters of a table smaller until the longest words of all columns fit beside each other.
 * If they would become too small, the columns share the width, and words are broken.
 * @param {HTMLTableElement} table
 */
function fitToPaper(table) {
  /** @type {number[]} */
  const longest = [];
  for (const { cells } of table.rows) {
    for (const [column, { textContent }] of [...cells].entries()) {
      const words = (textContent ?? "").split(/[\s-]+/).map((word) => word.length + CELL_SPACE);
      longest[column] = Math.max(longest[column] ?? 0, ...words);
    }
  }
  const fit = LINE / longest.reduce((sum, letters) => sum + letters, 0);
  table.style.setProperty("--_fit", String(Math.min(1, Math.max(SMALLEST, fit))));
  table.toggleAttribute("data-wide", fit < SMALLEST);
}

/**
 * Paper has no links, so tell where each leads, unless its text does.
 * @param {HTMLElement} panel
 */
function nameAddresses(panel) {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = panel.querySelectorAll(".prose a[href]");
  for (const link of links) {
    const { href, textContent } = link;
    const isNamed = [href, href.replace(/\/$/, ""), href.replace(/^\w+:(\/\/)?/, "")];
    if (!isNamed.includes(textContent ?? "")) link.dataset.address = href;
  }
}
