// MathML of two sources, in a form that can be compared: what looks the same is the same.

/** Characters that Temml chooses otherwise. */
const SAME = { "ˆ": "^", "˜": "~", "‾": "¯", "∣": "|", "∥": "‖", "″": "′′", "‴": "′′′", "⁗": "′′′′", "-": "−", "*": "∗", "·": "⋅", "⌀": "∅", "∕": "/" };
/** Without a sign, or only for gaps. */
const NOTHING = /[\s\u2061\u2062\ufe0e]/g;
const ITALIC = /^[a-zA-Zα-ωϑϕϖϱϵϰ∂ıȷ]$/u;
const ITALIC_LETTERS = 0x1d434;
const LINES = { top: "over", bottom: "under", box: "box" };

/** Elements as our reader describes them. @param {string} xml */
export function parse(xml) {
  const root = ["root", {}, []];
  const open = [root];
  for (const [, end, tag, attributes, text] of xml.matchAll(/<(\/?)(\w+)((?:\s+[\w-]+="[^"]*")*)\s*>|([^<]+)/g)) {
    if (text) open.at(-1)[2].push(text.replace(/&#x27;/g, "'").replace(/&quot;/g, '"').replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&"));
    else if (end) open.pop();
    else {
      const node = [tag, Object.fromEntries([...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value])), []];
      open.at(-1)[2].push(node);
      open.push(node);
    }
  }
  return root;
}

const textOf = (node) => (typeof node === "string" ? node : node[2].map(textOf).join(""));

/** An italic letter stands in ‹›. */
function token([tag, { mathvariant }, children]) {
  const text = children.map(textOf).join("").normalize("NFC").replace(NOTHING, "");
  if (tag === "mi" && mathvariant !== "normal" && ITALIC.test(text)) return `‹${text}›`;
  const plain = text.replace(/[\u{1d434}-\u{1d467}]/gu, (letter) => {
    const index = letter.codePointAt(0) - ITALIC_LETTERS;
    return `‹${String.fromCharCode(index < 26 ? 65 + index : 71 + index)}›`;
  });
  return plain.replace(/[^\w]/gu, (character) => SAME[character] ?? character).replace(/ℎ/g, "‹h›");
}

/** What stands in a row: texts, and arrays with a name and rows. */
function row(node) {
  const items = [];
  for (const item of itemsOf(node)) {
    if (typeof item === "string" && typeof items.at(-1) === "string") items.push(items.pop() + item);
    else items.push(item);
  }
  return items;
}

function itemsOf(node) {
  if (typeof node === "string") return [];
  const [tag, attributes, children] = node;
  const line = LINES[attributes.notation] ?? (Object.values(LINES).includes(attributes.class) && attributes.class);
  if (["mi", "mo", "mn", "mtext"].includes(tag)) return [token(node)].filter(Boolean);
  if (tag === "mspace") return [];
  if (line) return [[line, children.flatMap(row)]];
  if (tag === "mphantom") return [["phantom"]];
  if (tag === "mtable") return [["table", ...children.map(([, , cells]) => cells.filter(isCell).map(row))]];
  if (tag === "msqrt") return [["msqrt", row(["mrow", {}, children])]];
  if (/^m(?:sub|sup|under|over|frac|root)/.test(tag)) return withScripts(tag, attributes, children);
  return children.flatMap(itemsOf);
}

/** Temml leaves room for the numbers of equations. */
const isCell = ([, { style = "" }]) => !style.includes("width:50%");

/** Whether limits are below or beside is the browser's choice. A bracket with a power is one sign, or all up to it. */
function withScripts(tag, { linethickness = "" }, children) {
  const name = tag.replace("munder", "msub").replace("over", "sup") + (linethickness.startsWith("0") ? " without a line" : "");
  const [base, ...others] = children.map(row);
  if (others.every((other) => !other.length)) return base;
  const last = base.at(-1);
  const isBracket = name !== "mroot" && !name.startsWith("mfrac") && /[)\]}⟩|‖]$/.test(last);
  if (!isBracket) return [[name, base, ...others]];
  return [...base.slice(0, -1), last.slice(0, -1), [name, [last.at(-1)], ...others]].filter((item) => item !== "");
}

/** Two formulas with the same text here look the same. */
export const looksOf = (node) => JSON.stringify(row(node));
