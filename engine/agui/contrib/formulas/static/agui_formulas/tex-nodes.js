// @ts-check
/** Descriptions of MathML elements, for what the reader of TeX finds. */
import { TEX_CHARACTERS, COMMANDS, styled } from "./tex-symbols.js";
import { refuse } from "./tex-tokens.js";

/**
 * @typedef {[tag: string, attributes: Record<string, string>, children: (Node | string)[]]} Node
 * @typedef {{ node: Node, kind: string, hasLimits?: boolean }} Piece `kind`: letter, function,
 *   operator, open, close or space, for the gaps around it
 * @typedef {{ cells: Node[], hasLine: boolean }} Row
 * @typedef {import("./tex-symbols.js").Command} Command
 */

const THIN = 0.1667;
/** Without gaps. */
export const TIGHT = { lspace: "0", rspace: "0" };
/** @type {Record<string, string>} */
const SIZES = { big: "1.2em", Big: "1.8em", bigg: "2.4em", Bigg: "3em" };
/** @type {Record<string, string>} */
const SIDES = { l: "open", r: "close", m: "operator" };
/** Signs without a command, and the same signs with one. @type {Map<string, Command>} */
const SIGNS = new Map([
  ...TEX_CHARACTERS,
  ["|", { kind: "letter", text: "|" }],
  ["-", { kind: "operator", text: "−" }],
  ["*", { kind: "operator", text: "∗" }],
  ["(", { kind: "open", text: "(" }],
  ["[", { kind: "open", text: "[" }],
  [")", { kind: "close", text: ")" }],
  ["]", { kind: "close", text: "]" }],
]);

/** @param {Node} node @returns {Piece} */
export const asLetter = (node) => ({ node, kind: "letter" });

/** @param {number} width in em @returns {Node} */
export const gapOf = (width) => ["mspace", { width: `${width}em` }, []];

/** @param {Node | string} node @returns {string} */
export function textInNode(node) {
  if (typeof node === "string") return node;
  return node[0] === "mspace" ? "\u2009" : node[2].map(textInNode).join("");
}

/** @param {Command} sign @param {string} font @returns {Piece} */
export function signPiece({ kind, text }, font) {
  if (kind === "letter") {
    const isUpright = font === "rm" || (!font && /[Α-Ω∇]/.test(text));
    return asLetter(["mi", isUpright ? { mathvariant: "normal" } : {}, [styled(text, font)]]);
  }
  if (kind === "open" || kind === "close") return { node: stretched(text, false), kind };
  return { node: ["mo", {}, [text]], kind: "operator", hasLimits: kind === "large" };
}

/** What a single character stands for. @param {string} character @param {string} font */
export function characterPiece(character, font) {
  if (/[#$%]/.test(character)) refuse();
  const kind = /[\p{L}/|.!?@"`]/u.test(character) ? "letter" : "operator";
  return signPiece(SIGNS.get(character) ?? { kind, text: character }, font);
}

/** @param {string} token */
export function isOperator(token) {
  const sign = SIGNS.get(token) ?? COMMANDS.get(token.slice(1));
  return sign ? sign.kind === "operator" : /^[+=<>]$/.test(token);
}

/** @param {string} name @param {boolean} hasLimits @returns {Piece} */
export function functionPiece(name, hasLimits) {
  /** @type {Node} */
  const node = hasLimits
    ? ["mo", { movablelimits: "true", ...TIGHT }, [name]]
    : ["mi", { mathvariant: "normal" }, [name]];
  return { node, kind: "function", hasLimits };
}

/** @param {string} text @param {string} size @param {string} side @returns {Piece} */
export function sizedPiece(text, size, side) {
  const height = SIZES[size];
  const attributes = { stretchy: "true", minsize: height, maxsize: height, ...TIGHT };
  return { node: ["mo", attributes, [text]], kind: SIDES[side] ?? "letter" };
}

/** What a delimiter looks like: nothing, if it is a dot. @param {string} token */
export function delimiterOf(token) {
  if (/^[()[\]|/]$/.test(token)) return token;
  if (token === ".") return "";
  if (token === "<") return "⟨";
  if (token === ">") return "⟩";
  return (token[1] && COMMANDS.get(token.slice(1))?.text) || refuse();
}

/**
 * A delimiter that is as high as what is beside it.
 * @param {string} text @param {string} form @returns {Node}
 */
export const fenceOf = (text, form) => ["mo", { stretchy: "true", form }, [text]];

/**
 * @param {string} left @param {Node[]} inside @param {string} right each may be empty
 * @returns {Node}
 */
export function fenced(left, inside, right) {
  const nodes = left ? [fenceOf(left, "prefix"), ...inside] : inside;
  return ["mrow", {}, right ? [...nodes, fenceOf(right, "postfix")] : nodes];
}

/** @param {string} text @param {boolean} isWide @returns {Node} */
export const stretched = (text, isWide) => ["mo", { stretchy: String(isWide) }, [text]];

/** What is above an arrow, which is longer than that. @param {Node} node @returns {Node} */
export const withGaps = (node) => ["mrow", {}, [gapOf(0.5), node, gapOf(0.5)]];

/** @param {string} name @param {Node} above @param {Node} below @returns {Node} */
export function fractionOf(name, above, below) {
  const isBare = /binom|atop/.test(name);
  /** @type {Node} */
  const bar = ["mfrac", isBare ? { linethickness: "0" } : {}, [above, below]];
  const node = /binom/.test(name) ? fenced("(", [bar], ")") : bar;
  const style = { d: "true", c: "true", t: "false" }[/^[dct](?=frac|binom)/.exec(name)?.[0] ?? ""];
  return style ? ["mstyle", { displaystyle: style }, [node]] : node;
}

/** Words as they are written, in a font. @param {string} words @param {string} font */
export function asWords(words, font) {
  if (/\\(?![ %_&#$])|(?<!\\)\$/.test(words)) refuse();
  const plain = words.replace(/[\\{}]/g, "").replace(/[\s~]/g, "\u00a0");
  return [...plain].map((character) => styled(character, font)).join("");
}

/**
 * @param {Row[]} rows @param {string} look a class of the style
 * @param {string} [columns] of an array, such as c|r
 * @returns {Node}
 */
export function tableOf(rows, look, columns = "") {
  const classes = [...columns.matchAll(/(\|?)\s*([lcr])(\|\s*$)?/g)].map(
    ([, before, side, after]) => `${side}${before && " line"}${after ? " end" : ""}`,
  );
  /** @type {Node[]} */
  const trs = rows.map(({ cells, hasLine }) => {
    /** @type {Node[]} */
    const tds = cells.map((cell, index) => ["mtd", classed(classes[index]), [cell]]);
    return ["mtr", classed(hasLine && "line"), tds];
  });
  return ["mtable", { class: look, ...(/align|rows/.test(look) && { displaystyle: "true" }) }, trs];
}

/** @param {string | false | undefined} name @returns {Record<string, string>} */
const classed = (name) => (name ? { class: name } : {});

/**
 * Pieces side by side, with the gaps that MathML does not know of.
 * @param {Piece[]} pieces @returns {Node}
 */
export function rowOf(pieces) {
  /** @type {Node[]} */
  const nodes = [];
  let last = "";
  for (const { node, kind } of pieces) {
    const before = nodes.at(-1);
    const isAfter = kind === "function" && /letter|close|function/.test(last);
    if (isAfter || (last === "function" && kind === "letter")) nodes.push(gapOf(THIN));
    const isSign = node[0] === "mo" && /^[−+±∓]$/.test(textInNode(node));
    if (isSign && /^$|operator|open/.test(last)) nodes.push(["mo", { form: "prefix" }, node[2]]);
    else if (before && isUpright(before) && isUpright(node)) {
      before[2] = [textInNode(before) + textInNode(node)];
    } else nodes.push(node);
    if (kind !== "space") last = kind;
  }
  return nodes.length === 1 ? nodes[0] : ["mrow", {}, nodes];
}

/** @param {Node} node */
const isUpright = (node) => node[0] === "mi" && node[1].mathvariant === "normal";
