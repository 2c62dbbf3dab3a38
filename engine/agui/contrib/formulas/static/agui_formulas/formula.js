// @ts-check
/** The TeX of an answer becomes MathML, which browsers draw and screen readers read. */
import { adopt } from "../agui/dom/own-style.js";
import { h, setAttribute } from "../agui/dom/elements.js";
import { readTex } from "./tex.js";

/** @typedef {import("./tex-nodes.js").Node} Node */

const MATHML = "http://www.w3.org/1998/Math/MathML";
const STYLE = `
.prose .math:has(math) { background: none; font-size: 1em; padding: 0; }
.block-math:has(math) { display: block; }
.formula { display: inline-flex; max-width: 100%; overflow: auto hidden; vertical-align: baseline; }
.block-math > .formula { display: block; padding-block: .3em; }
@supports (animation-timeline: scroll()) {
  .formula { animation: cut linear both; animation-timeline: scroll(self inline); }
}
.formula > math {
  flex: none;
  font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math;
  line-height: normal;
}
.formula :is(.align, .rows) mtd { padding-inline: 0; }
.formula .align mtd:nth-child(odd) { padding-inline-start: 2em; text-align: right; }
.formula .align mtd:nth-child(even) { text-align: left; }
.formula .align mtd:first-child { padding-inline-start: 0; }
.formula .cases mtd { text-align: left; }
.formula .l { text-align: left; }
.formula .r { text-align: right; }
.formula .line { border-inline-start: 1px solid; }
.formula .end { border-inline-end: 1px solid; }
.formula mtr.line { border: 0; }
.formula mtr.line > mtd { border-top: 1px solid; }
.formula .over { border-top: .06em solid; padding-top: .15em; }
.formula .under { border-bottom: .06em solid; padding-bottom: .15em; }
.formula .box { border: 1px solid; padding: .3em; }
.formula .cross {
  background: linear-gradient(to top left, #0000 48%, currentcolor 48% 52%, #0000 52%);
}
`;
/** Can a formula be scrolled? Then it must have the focus for that. */
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    setAttribute(target, "tabindex", target.scrollWidth > target.clientWidth ? "0" : null);
  }
});

/**
 * Draw formulas, unless they are drawn or not understood.
 * @param {Element[]} codes with their TeX
 */
export function drawFormulas(codes) {
  adopt(codes[0], STYLE);
  for (const code of codes) {
    const tex = code.textContent ?? "";
    const node = code.firstElementChild ? null : readTex(tex);
    if (!node) continue;
    /** @type {Node} */
    const source = ["annotation", { encoding: "application/x-tex" }, [tex]];
    const display = code.matches(".block-math") ? "block" : "inline";
    const math = element(["math", { display }, [["semantics", {}, [node, source]]]]);
    const box = h("span", { class: "formula" }, math);
    code.replaceChildren(box);
    observer.observe(box);
  }
}

/** @param {Node} node */
function element([tag, attributes, children]) {
  const made = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) made.append(typeof child === "string" ? child : element(child));
  return made;
}
