// @ts-check
/** Sources as the server tells them, and their numbers in a text, without elements. */

/**
 * @typedef {{ number: number, title?: unknown, url?: unknown, quote?: unknown }} Told a source, as
 *   the server sends it
 */
/** @typedef {{ number: number, title: string, url: URL | null, quote: string }} Source */

const MARK = /\[(\d{1,3})\]/g;

/**
 * Find the numbers of sources in a text. Numbers that stand together are one mark; a number without
 * a source is none.
 * @param {string} text @param {Map<number, Source>} sources
 */
export function marksIn(text, sources) {
  /** @type {{ sources: Source[], start: number, end: number }[]} */
  const marks = [];
  for (const { 0: written, 1: digits, index } of text.matchAll(MARK)) {
    const source = sources.get(Number(digits));
    if (!source) continue;
    const last = marks.at(-1);
    const end = index + written.length;
    if (last && /^ ?$/.test(text.slice(last.end, index))) {
      last.end = end;
      if (!last.sources.includes(source)) last.sources.push(source);
    } else marks.push({ sources: [source], start: index, end });
  }
  return marks;
}

/** The longest path of an address that a card shows. */
const MAX_PATH = 80;

/**
 * Write where an address leads: its host as it goes over the wire, so that look-alike letters are
 * seen, and its path, in which no character is more than itself.
 * @param {URL} url
 */
export function siteOf({ protocol, host, pathname }) {
  const path = pathname === "/" ? "" : pathname;
  const cut = path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
  return `${protocol === "https:" ? "" : "http://"}${host}${cut}`;
}

/** @param {unknown} told @returns {Source[]} */
export function readSources(told) {
  /** @type {unknown[]} */
  const all = Array.isArray(told) ? told : [];
  return all
    .filter(isNumbered)
    .map(({ number, title, url, quote }) => {
      const address = addressOf(url);
      return {
        number,
        title: shownText(title || address?.host),
        url: address,
        quote: shownText(quote),
      };
    });
}

/** Letters that turn others around are seen, and turn nothing. @param {unknown} text */
const shownText = (text) => String(text ?? "").replace(/[\u202d\u202e]/g, "\ufffd");

/** @param {unknown} told @returns {told is Told} */
const isNumbered = (told) => Number.isInteger(Object(told).number);

/** The address that a source may link to. @param {unknown} url */
function addressOf(url) {
  if (typeof url !== "string" || !url) return null;
  try {
    const address = new URL(url, document.baseURI);
    return ["http:", "https:"].includes(address.protocol) ? address : null;
  } catch {
    return null;
  }
}
