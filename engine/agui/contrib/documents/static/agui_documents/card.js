// @ts-check
/** The card of a version in the conversation: a button that opens it. */
import { h, icon, setAttribute, setText } from "../agui/dom/elements.js";
import { format } from "../agui/words/strings.js";
import { readVersion } from "./versions.js";
import { KINDS_SHOWN, titleOf } from "./words.js";

/** @typedef {import("./versions.js").Version} Version */

/** The style of all cards. */
export const CARD_STYLE = `
.activity:has(> .document-card) { border: 0; min-height: 0; padding: 0; }
.document-card {
  align-items: center; background: var(--_background); border: 1px solid var(--_border);
  border-radius: var(--_radius); display: flex; gap: .75rem;
  padding-block: .6rem; padding-inline: .6rem .9rem; text-align: start; width: 100%;
}
.document-card:hover { background: var(--_surface); }
.document-card[aria-expanded="true"] {
  border-color: color-mix(in srgb, var(--_accent) 55%, var(--_border));
}
.document-icon {
  background: var(--_surface); border-radius: var(--_small); color: var(--_muted); display: grid;
  flex: none; height: 2.75rem; place-items: center; width: 2.75rem;
}
.document-card:is(:hover, [aria-expanded="true"]) .document-icon {
  background: color-mix(in srgb, var(--_accent) 12%, var(--_background)); color: var(--_accent);
}
.document-text { display: grid; flex: 1; line-height: 1.4; min-width: 0; }
.document-name {
  font-weight: 550; overflow: hidden; text-align: -webkit-match-parent; text-align: match-parent;
  text-overflow: ellipsis; white-space: nowrap;
}
.document-about { color: var(--_muted); font-size: .85rem; }
.document-card[data-growing] .document-icon { animation: pulse 1.6s ease-in-out infinite; }
.document-card > .icon-chevron { rotate: none; }
@media (forced-colors: active) {
  .document-card[aria-expanded="true"] { border: 2px solid Highlight; }
}
@media print { .document-card { display: flex !important; } }
`;

export class DocumentCard {
  #words;
  #icon = h("span", { class: "document-icon" });
  #name = h("span", { class: "document-name", dir: "auto" });
  #about = h("span", { class: "document-about" });
  #kind = "";
  /** @type {Version | null} */
  version = null;
  element;

  /**
   * @param {import("./words.js").Words} words @param {(version: Version) => void} toggle
   */
  constructor(words, toggle) {
    this.#words = words;
    const onclick = () => this.version && toggle(this.version);
    this.element = h(
      "button", { type: "button", class: "document-card", onclick, "aria-expanded": "false" },
      this.#icon, h("span", { class: "document-text" }, this.#name, this.#about), icon("chevron"),
    );
  }

  /** @param {import("../agui/types.d.ts").Message} message */
  read(message) {
    this.version = readVersion(message);
    if (!this.version) throw new TypeError("This is no document.");
  }

  /** @param {{ number: number, isGrowing: boolean, isOpen: boolean }} state */
  draw({ number, isGrowing, isOpen }) {
    const { version } = this;
    if (!version) return;
    const words = this.#words;
    const [kind, path] = KINDS_SHOWN[version.kind];
    if (version.kind !== this.#kind) this.#icon.replaceChildren(icon("document", path));
    this.#kind = version.kind;
    const about = [
      words[kind],
      number && format(words.documentVersion, { number }),
      isGrowing && `${words.documentGrowing}…`,
    ];
    setText(this.#name, titleOf(version, words));
    setText(this.#about, about.filter(Boolean).join(" · "));
    setAttribute(this.element, "aria-expanded", String(isOpen));
    setAttribute(this.element, "data-growing", isGrowing);
  }
}
