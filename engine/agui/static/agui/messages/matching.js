// @ts-check
/**
 * Where a text has what the user looks for. Case, width and ligatures make no difference, as in a
 * search of the server. This module doesn't use the DOM.
 */

/** @typedef {[start: number, end: number]} Place */

const MAX_TERMS = 10;

/** The words of a search. @param {string} query */
export function termsOf(query) {
  return query.split(/\s+/).filter(Boolean).slice(0, MAX_TERMS);
}

/** @param {string} text */
function fold(text) {
  return text.normalize("NFKC").toLowerCase().replace(/[‘’]/g, "'");
}

/**
 * Fold a text, and say where each of its folded characters comes from; null if nothing has moved.
 * @param {string} text @returns {{ folded: string, from: number[] | null }}
 */
function foldPlaces(text) {
  const folded = fold(text);
  if (folded.length === text.length && text === text.normalize("NFKC")) {
    return { folded, from: null };
  }
  const from = [];
  let whole = "";
  let at = 0;
  for (const character of text) {
    const part = fold(character);
    for (let index = 0; index < part.length; index++) from.push(at);
    whole += part;
    at += character.length;
  }
  return { folded: whole, from: [...from, at] };
}

/**
 * Find all places of the terms, in order. Places don't overlap.
 * @param {string} text @param {string[]} terms @returns {Place[]}
 */
export function placesOf(text, terms) {
  const { folded, from } = foldPlaces(text);
  /** @type {Place[]} */
  const places = [];
  for (const term of terms.map(fold)) {
    let at = term ? folded.indexOf(term) : -1;
    while (at >= 0) {
      const end = at + term.length;
      // A ligature counts as a whole.
      places.push(from ? [from[at], endOf(from, end)] : [at, end]);
      at = folded.indexOf(term, end);
    }
  }
  places.sort(([a, aEnd], [b, bEnd]) => a - b || bEnd - aEnd);
  let last = 0;
  return places.filter(([start, end]) => {
    const isApart = start >= last;
    if (isApart) last = end;
    return isApart;
  });
}

/** The end of the character to which the folded one before `end` belongs. @param {number[]} from */
function endOf(from, /** @type {number} */ end) {
  const start = from[end - 1];
  let next = end;
  while (from[next] === start) next++;
  return from[next];
}

/** What a reader sees of Markdown's nodes. @param {import("../markdown/nodes.js").Node[]} nodes */
export function textOfNodes(nodes) {
  let text = "";
  for (const node of nodes) {
    if (typeof node === "string") text += node;
    else if (node[0] !== "button") text += textOfNodes(node[2]);
  }
  return text;
}
