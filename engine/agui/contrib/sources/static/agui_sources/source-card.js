// @ts-check
/**
 * The card of the sources behind a mark such as [1] in an answer: it is a look while the pointer or
 * the focus is on the mark, and takes the focus if the mark is pressed. The first use loads this.
 */
import { h, icon, iconButton, setAttribute, setText } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";
import { format } from "../agui/words/strings.js";
import { siteOf } from "./source-text.js";
import { NEW_TAB, SOURCE_WORDS } from "./source-words.js";

/** @typedef {import("./source-text.js").Source} Source */
/** @typedef {import("../agui/words/strings.js").Strings & typeof SOURCE_WORDS} Words */
/** @typedef {{ mark: HTMLElement, sources: Source[], toList: (number: number) => void }} Cited */

/** How long the pointer rests on a mark before the card comes, and is away before it goes. */
const REST_MS = 200;
const AWAY_MS = 300;
/** The space around the card, in pixels. */
const MARGIN = 8;
const GAP = 6;
const OUT = "M14 4.5h5.5V10M19 5l-8 8M10 5.5H5.5v13h13V14";

const STYLE = `
.source-card {
  background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_radius);
  box-shadow: var(--_shadow); color: var(--_text); font-size: .9rem; inset: auto; line-height: 1.45;
  margin: 0; max-height: min(24rem, 70dvh); overflow: auto; overscroll-behavior: contain;
  padding: .8rem .95rem; position: fixed; width: min(22rem, calc(100vw - 16px));
}
.source-card:focus-visible { outline: 2px solid var(--_accent); outline-offset: -1px; }
.source-card > :not([hidden]) ~ * { margin-top: .4rem; }
.source-card header { align-items: center; color: var(--_muted); display: flex; font-size: .8rem; }
.source-card header span { flex: 1; font-variant-numeric: tabular-nums; }
.source-card header .icon-button { height: 1.75rem; margin: -.25rem 0; width: 1.75rem; }
.source-card .icon-button .icon { height: 1rem; width: 1rem; }
.source-card .icon-chevron { rotate: none; }
.source-card .previous .icon, .source-card .next:dir(rtl) .icon { scale: -1 1; }
.source-card .previous:dir(rtl) .icon { scale: 1 1; }
.source-card p { margin-bottom: 0; }
#source-title { font-size: .95rem; font-weight: 600; line-height: 1.35; overflow-wrap: anywhere; }
.source-card .site { color: var(--_muted); font-size: .8rem; overflow-wrap: anywhere; }
.source-card bdi { direction: ltr; unicode-bidi: isolate; }
.source-card blockquote {
  border-inline-start: 3px solid var(--_border); margin-inline: 0; overflow-wrap: anywhere;
  padding-inline-start: .7rem; white-space: pre-line;
}
.source-card footer { align-items: center; display: flex; gap: 1rem; margin-top: .65rem; }
.source-card footer :is(a, button) {
  align-items: center; background: none; border: 0; border-radius: 4px; color: var(--_accent);
  display: inline-flex; font: inherit; font-size: .85rem; gap: .3rem; padding: .1rem 0;
}
.source-card footer a { font-weight: 600; text-decoration: none; }
.source-card footer :is(a, button):hover { text-decoration: underline; text-underline-offset: 3px; }
.source-card footer .icon { height: .95rem; width: .95rem; }
.source-card footer :dir(rtl) .icon { scale: -1 1; }
@media (pointer: coarse) {
  .source-card header .icon-button { height: 2.75rem; width: 2.75rem; }
  .source-card footer :is(a, button) { min-height: 2.75rem; }
}
@media (forced-colors: active) { .source-card { border: 1px solid; } }
@media print { .source-card { display: none; } }
`;

/** @type {WeakMap<Element, SourceCard>} */
const cards = new WeakMap();

/** The one card of a chat. @param {Element} panel @param {Words} words */
export function cardOf(panel, words) {
  const card = cards.get(panel) ?? new SourceCard(panel, words);
  cards.set(panel, card);
  return card;
}

export class SourceCard {
  #panel;
  #words;
  /** @type {Cited | null} what the card shows, if it is open */
  #cited = null;
  #index = 0;
  #isPinned = false;
  /** @type {HTMLElement | null} the mark whose card the user has just closed */
  #dismissed = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #place = h("span");
  #header;
  #title = h("p", { id: "source-title" });
  #site = h("p", { class: "site" });
  #quote = h("blockquote", { id: "source-quote", dir: "auto" });
  #link;
  #footer;
  element;

  /** @param {Element} panel @param {Words} words */
  constructor(panel, words) {
    this.#panel = panel;
    this.#words = words;
    /** @param {string} name @param {string} label @param {number} step */
    const button = (name, label, step) =>
      iconButton("chevron", label, () => this.#step(step), { class: `icon-button ${name}` });
    const { previousSource, nextSource, openSource, allSources } = words;
    const steps = [button("previous", previousSource, -1), button("next", nextSource, 1)];
    this.#header = h("header", {}, this.#place, ...steps);
    this.#link = h("a", { ...NEW_TAB }, openSource, icon("out", OUT));
    const all = h("button", { type: "button", onclick: () => this.#toList() }, allSources);
    this.#footer = h("footer", {}, this.#link, all);
    const shown = { "aria-live": "polite", dir: "auto" };
    const about = h("div", shown, this.#title, this.#site, this.#quote);
    const look = {
      class: "source-card", part: "source-card", id: "source-card", role: "dialog", tabindex: "-1",
      popover: "manual", "aria-labelledby": "source-title", "aria-describedby": "source-quote",
    };
    this.element = h("div", look, this.#header, about, this.#footer);
    this.element.addEventListener("pointerenter", () => clearTimeout(this.#timer));
    this.element.addEventListener("pointerleave", (event) => this.#away(event));
    this.element.addEventListener("focusout", ({ relatedTarget }) => this.#left(relatedTarget));
    this.element.addEventListener("keydown", (event) => this.#walk(event));
  }

  /** Show the card soon, if the pointer or the focus stays on the mark. @param {Cited} cited */
  look(cited) {
    clearTimeout(this.#timer);
    if ([this.#cited?.mark, this.#dismissed].includes(cited.mark) || this.#isPinned) return;
    this.#timer = setTimeout(() => {
      if (cited.mark.matches(":hover, :focus-visible")) this.#open(cited);
    }, this.#cited ? 0 : REST_MS);
    cited.mark.addEventListener("pointerleave", (event) => this.#away(event), { once: true });
  }

  /** Show the card now, and take the focus. @param {Cited} cited */
  pin(cited) {
    clearTimeout(this.#timer);
    if (this.#isPinned && cited.mark === this.#cited?.mark) return this.close();
    if (cited.mark !== this.#cited?.mark) this.#open(cited);
    this.#isPinned = true;
    this.element.focus({ preventScroll: true });
  }

  close() {
    clearTimeout(this.#timer);
    const mark = this.#cited?.mark;
    if (!mark) return;
    const hadFocus = this.element.matches(":focus-within");
    this.#cited = null;
    this.#isPinned = false;
    setAttribute(mark, "aria-expanded", "false");
    this.element.hidePopover();
    removeEventListener("keydown", this.#escape, { capture: true });
    removeEventListener("pointerdown", this.#pressed, { capture: true });
    if (!hadFocus || !mark.isConnected) return;
    // The focus comes back, and must not open the card again.
    this.#dismissed = mark;
    mark.focus({ preventScroll: true });
    mark.addEventListener("blur", () => (this.#dismissed = null), { once: true });
  }

  /** @param {Cited} cited */
  #open(cited) {
    this.close();
    if (!cited.mark.isConnected) return;
    this.#cited = cited;
    this.#index = 0;
    if (!this.element.isConnected) this.#panel.append(this.element);
    adopt(this.element, STYLE);
    this.#show();
    setAttribute(cited.mark, "aria-expanded", "true");
    /** @type {any} */ (this.element).showPopover({ source: cited.mark });
    this.#follow(cited);
    addEventListener("keydown", this.#escape, { capture: true });
    addEventListener("pointerdown", this.#pressed, { capture: true });
    const { mark } = cited;
    mark.addEventListener("blur", ({ relatedTarget }) => this.#left(relatedTarget), { once: true });
  }

  #show() {
    const { sources } = /** @type {Cited} */ (this.#cited);
    const { title, url, quote } = sources[this.#index];
    const count = sources.length;
    this.#header.hidden = count < 2;
    setText(this.#place, format(this.#words.sourcePlace, { number: this.#index + 1, count }));
    setText(this.#title, title);
    this.#site.hidden = this.#link.hidden = !url;
    if (url) {
      this.#site.replaceChildren(h("bdi", {}, siteOf(url)));
      this.#link.href = url.href;
    }
    this.#quote.hidden = !quote;
    setText(this.#quote, quote);
    this.element.scrollTop = 0;
  }

  /** @param {number} by */
  #step(by) {
    const count = this.#cited?.sources.length ?? 0;
    if (count < 2) return;
    this.#index = (this.#index + by + count) % count;
    this.#show();
  }

  /** Arrow keys lead to the other sources of the mark. @param {KeyboardEvent} event */
  #walk(event) {
    event.stopPropagation();
    const isRtl = getComputedStyle(this.element).direction === "rtl";
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: isRtl ? 1 : -1, ArrowRight: isRtl ? -1 : 1 };
    if (!steps[event.key] || (this.#cited?.sources.length ?? 0) < 2) return;
    event.preventDefault();
    this.#step(steps[event.key]);
  }

  #toList() {
    const { toList, sources } = /** @type {Cited} */ (this.#cited);
    const { number } = sources[this.#index];
    this.close();
    toList(number);
  }

  /** Keep the card at its mark, and on the screen. @param {Cited} cited */
  #follow(cited) {
    if (this.#cited !== cited) return;
    if (!cited.mark.isConnected) return this.close();
    const at = cited.mark.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height, style } = this.element;
    const isRtl = getComputedStyle(cited.mark).direction === "rtl";
    const start = isRtl ? at.right - width : at.left;
    const right = document.documentElement.clientWidth - MARGIN - width;
    const below = at.bottom + GAP;
    const fits = below + height <= innerHeight - MARGIN || at.top < innerHeight / 2;
    const top = fits ? below : at.top - GAP - height;
    style.left = `${Math.max(MARGIN, Math.min(start, right))}px`;
    style.top = `${Math.max(MARGIN, Math.min(top, innerHeight - MARGIN - height))}px`;
    requestAnimationFrame(() => this.#follow(cited));
  }

  /** The pointer may be on its way to the card, or back. @param {PointerEvent} event */
  #away({ pointerType }) {
    clearTimeout(this.#timer);
    if (pointerType !== "mouse" || this.#isPinned) return;
    this.#timer = setTimeout(() => {
      const isThere = this.#cited?.mark.matches(":hover, :focus-visible");
      if (!isThere && !this.element.matches(":hover")) this.close();
    }, AWAY_MS);
  }

  /** @param {EventTarget | null} to where the focus has gone; null is another window, or nowhere */
  #left(to) {
    const { mark } = this.#cited ?? {};
    const stays = to === mark || this.element.contains(/** @type {Node | null} */ (to));
    if (mark && !stays && !(to === null && this.element.matches(":hover"))) this.close();
  }

  /** @param {KeyboardEvent} event */
  #escape = (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopImmediatePropagation();
      this.close();
    } else if (this.#cited?.mark.matches(":focus")) this.#walkAtMark(event);
  };

  /** @param {KeyboardEvent} event */
  #walkAtMark(event) {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.#walk(event);
  }

  /** @param {PointerEvent} event */
  #pressed = (event) => {
    const path = event.composedPath();
    if (!path.includes(this.element) && !path.includes(this.#cited?.mark ?? this.element)) {
      this.close();
    }
  };
}
