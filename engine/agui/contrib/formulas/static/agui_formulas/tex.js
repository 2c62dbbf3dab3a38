// @ts-check
/**
 * Read a formula in TeX as a description of MathML. A formula with anything that is not understood
 * is not read at all. No command makes a text longer, so the time is linear in the length of the
 * formula. Nothing here touches the page.
 */
import { asLetter, asWords, characterPiece, delimiterOf, fenceOf, fenced } from "./tex-nodes.js";
import { TIGHT, fractionOf, functionPiece, gapOf, isOperator, rowOf } from "./tex-nodes.js";
import { signPiece, sizedPiece, stretched, tableOf, textInNode, withGaps } from "./tex-nodes.js";
import { TexTokens, refuse } from "./tex-tokens.js";
import { COMMANDS, ENVIRONMENTS, styled } from "./tex-symbols.js";

/** @typedef {import("./tex-nodes.js").Node} Node */
/** @typedef {import("./tex-nodes.js").Piece} Piece */
/** @typedef {import("./tex-nodes.js").Row} Row */

/** What ends a row or a cell. */
const ENDS = ["", "}", "&", "\\\\", "\\cr", "\\right", "\\middle", "\\end"];
/** Elements within elements: the functions here are recursive. */
const DEEPEST = 80;
const LONGEST = 10_000;
/** @type {Node} */
const MOD = ["mi", {}, ["mod"]];

/** Between what is above and what is below. @type {Record<string, string>} */
const INFIX = { "\\over": "frac", "\\choose": "binom", "\\atop": "atop" };
/** @type {Record<string, string>} */
const STYLES = { "\\displaystyle": "true", "\\textstyle": "false", "\\scriptstyle": "false" };
/** Fonts for the rest of a group. @type {Record<string, string>} */
const FONTS = { "\\rm": "rm", "\\bf": "bf", "\\it": "it", "\\cal": "cal" };

/** @param {string} tex @returns {Node | null} null if it is not understood */
export function readTex(tex) {
  if (tex.length > LONGEST) return null;
  try {
    return new TexReader(tex, 0).read();
  } catch {
    return null;
  }
}

class TexReader {
  #tokens;
  #depth;
  #font = "";

  /** @param {string} text @param {number} depth */
  constructor(text, depth) {
    this.#tokens = new TexTokens(text);
    this.#depth = depth;
  }

  read() {
    const rows = this.#rows();
    this.#tokens.expect("");
    return rows.length > 1 || rows[0].cells.length > 1 ? tableOf(rows, "align") : rows[0].cells[0];
  }

  /** Rows of cells, up to the end of what they are in. */
  #rows() {
    /** @type {Row[]} */
    const rows = [];
    do {
      const hasLine = this.#tokens.skip("\\hline");
      const cells = [this.#row()];
      while (this.#tokens.skip("&")) cells.push(this.#row());
      rows.push({ cells, hasLine });
    } while (this.#tokens.skipLineEnd());
    const { cells, hasLine } = rows[rows.length - 1];
    const isEmpty = cells.length === 1 && !cells[0][2].length;
    if (rows.length > 1 && isEmpty && !hasLine) rows.pop(); // after the last line end
    return rows;
  }

  /** Pieces, up to the end of what they are in. @returns {Node} */
  #row() {
    if (++this.#depth > DEEPEST) refuse();
    const font = this.#font;
    /** @type {Piece[]} */
    let pieces = [];
    while (!ENDS.includes(this.#tokens.token)) {
      const token = this.#tokens.token;
      if (INFIX[token]) {
        this.#tokens.next();
        pieces = [asLetter(fractionOf(INFIX[token], rowOf(pieces), this.#row()))];
      } else if (STYLES[token]) {
        this.#tokens.next();
        pieces.push(asLetter(["mstyle", { displaystyle: STYLES[token] }, [this.#row()]]));
      } else if (FONTS[token]) {
        this.#tokens.next();
        this.#font = FONTS[token];
      } else pieces.push(...this.#scripted());
    }
    this.#font = font;
    this.#depth--;
    return rowOf(pieces);
  }

  /**
   * A piece with what is above and below it; none if a command shows nothing.
   * @returns {Piece[]}
   */
  #scripted() {
    const piece = "^_'".includes(this.#tokens.token) ? asLetter(["mrow", {}, []]) : this.#atom();
    if (!piece) return [];
    let { hasLimits } = piece;
    let primes = "";
    /** @type {(Node | undefined)[]} */
    let [above, below] = [];
    for (;;) {
      if (this.#tokens.skip("'")) primes += "′";
      else if (this.#tokens.skip("\\limits")) hasLimits = true;
      else if (this.#tokens.skip("\\nolimits")) hasLimits = false;
      else if (!above && this.#tokens.skip("^")) above = this.#argument();
      else if (!below && this.#tokens.skip("_")) below = this.#argument();
      else break;
    }
    /** @type {Node[]} */
    const prime = primes ? [["mo", {}, [primes]]] : [];
    if (primes) above = above ? ["mrow", {}, [...prime, above]] : prime[0];
    if (!above && !below) return [piece];
    const [under, over] = hasLimits ? ["under", "over"] : ["sub", "sup"];
    const tag = `m${below ? under : ""}${above ? over : ""}`;
    const children = [piece.node, below, above].filter((node) => node !== undefined);
    return [{ ...piece, node: [tag, {}, children] }];
  }

  /** @returns {Node} */
  #argument() {
    if (/^\d$/.test(this.#tokens.token)) {
      return ["mn", {}, [styled(this.#tokens.next(), this.#font)]];
    }
    return this.#atom()?.node ?? refuse();
  }

  /** @param {string} font @returns {Node} */
  #argumentIn(font) {
    const outer = this.#font;
    this.#font = font;
    const node = this.#argument();
    this.#font = outer;
    return node;
  }

  /** A piece without what is above and below it. @returns {Piece | null} */
  #atom() {
    if (ENDS.includes(this.#tokens.token)) refuse();
    const number = this.#tokens.number();
    if (number) {
      return asLetter(["mn", {}, [[...number].map((digit) => styled(digit, this.#font)).join("")]]);
    }
    if (++this.#depth > DEEPEST) refuse();
    const token = this.#tokens.next();
    /** @type {Piece | null} */
    let piece;
    if (token === "{") piece = asLetter(this.#group());
    else if (token === "~") piece = this.#command("\\ ");
    else piece = token[0] === "\\" ? this.#command(token) : characterPiece(token, this.#font);
    this.#depth--;
    return piece;
  }

  /** The rest of a group. @returns {Node} */
  #group() {
    const node = this.#row();
    this.#tokens.expect("}");
    // As in 1{,}000: there are no gaps around it.
    return node[0] === "mo" ? ["mo", TIGHT, node[2]] : node;
  }

  /** @param {string} token @returns {Piece | null} */
  #command(token) {
    const name = token.slice(1);
    const command = COMMANDS.get(name);
    if (name === "dots" && isOperator(this.#tokens.token)) return this.#command("\\cdots");
    if (/^[$%#&_]$/.test(name)) return asLetter(["mi", {}, [name]]);
    const [, size, side] = /^([bB]igg?)([lrm]?)$/.exec(name) ?? [];
    if (size) return sizedPiece(delimiterOf(this.#tokens.next()), size, side);
    return command ? this.#known(name, command) : this.#construct(name);
  }

  /**
   * @param {string} name @param {import("./tex-symbols.js").Command} command
   * @returns {Piece | null}
   */
  #known(name, command) {
    const { kind, text } = command;
    switch (kind) {
      case "font": return asLetter(this.#argumentIn(text));
      case "words": return asLetter(["mtext", {}, [asWords(this.#tokens.raw(), text)]]);
      case "space": return { node: gapOf(Number(text)), kind };
      case "accent": case "wide": {
        const tag = name === "underbrace" ? "munder" : "mover";
        const inner = this.#argument();
        const piece = asLetter([tag, {}, [inner, stretched(text, kind === "wide")]]);
        return { ...piece, hasLimits: name.endsWith("brace") };
      }
      case "arrow": return this.#arrow(text);
      case "line": return asLetter(["mrow", { class: text }, [this.#argument()]]);
      case "function": case "limits": return functionPiece(name, kind === "limits");
      case "fraction": return asLetter(fractionOf(name, this.#argument(), this.#argument()));
      case "inner": return asLetter(this.#argument());
      case "nothing": return null;
      default: return signPiece(command, this.#font);
    }
  }

  /** @param {string} name @returns {Piece | null} */
  #construct(name) {
    switch (name) {
      case "sqrt": {
        const option = this.#tokens.option();
        const root = option && new TexReader(option, this.#depth).read();
        const inner = this.#argument();
        return asLetter(root ? ["mroot", {}, [inner, root]] : ["msqrt", {}, [inner]]);
      }
      case "left": return asLetter(this.#fenced());
      case "begin": return asLetter(this.#environment());
      case "operatorname": {
        const hasLimits = this.#tokens.skip("*");
        return functionPiece(textInNode(this.#argumentIn("rm")), hasLimits);
      }
      case "mathop": return { node: this.#argument(), kind: "function", hasLimits: true };
      case "overset": case "stackrel": case "underset": {
        const script = this.#argument();
        const tag = name === "underset" ? "munder" : "mover";
        return { node: [tag, {}, [this.#argument(), script]], kind: "operator" };
      }
      case "substack": {
        this.#tokens.expect("{");
        const rows = this.#rows();
        this.#tokens.expect("}");
        return asLetter(tableOf(rows, "rows"));
      }
      case "not": {
        const node = this.#argument();
        const text = `${textInNode(node)}\u0338`.normalize("NFC");
        return { node: ["mo", {}, [text]], kind: "operator" };
      }
      case "bmod": return { node: ["mo", {}, ["mod"]], kind: "operator" };
      case "mod": return asLetter(["mrow", {}, [gapOf(1), MOD, gapOf(0.3333)]]);
      case "pmod": {
        const inside = [MOD, gapOf(0.3333), this.#argument()];
        return asLetter(["mrow", {}, [gapOf(1), fenced("(", inside, ")")]]);
      }
      case "phantom": return asLetter(["mphantom", {}, [this.#argument()]]);
      case "hspace": return { node: ["mspace", { width: this.#tokens.raw() }, []], kind: "space" };
      case "tag": {
        const words = `(${asWords(this.#tokens.raw(), "")})`;
        return asLetter(["mrow", {}, [gapOf(2), ["mtext", {}, [words]]]]);
      }
      case "textcolor":
        this.#tokens.raw(); // The page has colours with contrast.
        return asLetter(this.#argument());
      case "color": case "label":
        this.#tokens.raw();
        return null;
      default: refuse();
    }
  }

  /** @param {string} text @returns {Piece} */
  #arrow(text) {
    const option = this.#tokens.option();
    const below = option && new TexReader(option, this.#depth).read();
    const above = withGaps(this.#argument());
    const arrow = stretched(text, true);
    /** @type {Node} */
    const over = ["mover", {}, [arrow, above]];
    /** @type {Node} */
    const node = below ? ["munderover", {}, [arrow, withGaps(below), above]] : over;
    return { node, kind: "operator" };
  }

  /** @returns {Node} */
  #fenced() {
    const left = delimiterOf(this.#tokens.next());
    const inside = [this.#row()];
    while (this.#tokens.skip("\\middle")) {
      inside.push(fenceOf(delimiterOf(this.#tokens.next()), "infix"), this.#row());
    }
    this.#tokens.expect("\\right");
    return fenced(left, inside, delimiterOf(this.#tokens.next()));
  }

  /** @returns {Node} */
  #environment() {
    const whole = this.#tokens.raw();
    const name = whole.replace("*", "");
    const [left = "", right = "", look = "matrix"] = ENVIRONMENTS[name];
    if (/^(?:array|aligned|gathered)/.test(name)) this.#tokens.option();
    const columns = /^(?:array|align(?:ed)?at)/.test(name) ? this.#tokens.raw() : "";
    const rows = this.#rows();
    this.#tokens.expect("\\end");
    if (this.#tokens.raw() !== whole) refuse();
    const table = tableOf(rows, look, columns);
    if (name === "smallmatrix") return ["mstyle", { scriptlevel: "1" }, [table]];
    return fenced(left, [table], right);
  }
}
