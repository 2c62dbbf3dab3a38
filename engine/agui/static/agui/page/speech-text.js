// @ts-check
/** What a voice says of an answer. This module doesn't use the DOM. */
import { ADDRESS } from "../markdown/cjk-address.js";

const MAX_CHARS = 50_000;
/** Some voices break off after about a quarter of a minute. */
const PHRASE_CHARS = 220;
const URLS = new RegExp(`<?https?://${ADDRESS}`, "giu");
const ENVIRONMENT = /\\begin\{(\w{1,20}\*?)\}(?:(?!\\begin)[^])*?\\end\{\1\}/g;
const MATH =
  /\$\$[^]+?\$\$|\\[([](?:(?!\\[([])[^])+?\\[)\]]|\$(?![\s$])[^$]+(?<!\s)\$(?!\d)/g;

/**
 * The phrases of an answer in Markdown, without code and signs, and without formulas that have
 * commands.
 * @param {string} markdown
 */
export function phrasesOf(markdown) {
  const text = markdown
    .slice(0, MAX_CHARS)
    .replace(/^ {0,3}(```|~~~)[^\n]*\n[\s\S]*?(^ {0,3}\1[^\n]*$|$(?![\s\S]))/gm, "")
    .replace(ENVIRONMENT, "")
    .replace(MATH, (math) => (/\\[a-z]/i.test(math) ? "" : math.replace(/\$|\\[([\])]/g, "")))
    .replace(/\[\^[^\s\][]+\]:?/g, "")
    .replace(/!?\[([^\][]*)\]\([^()\s]*\)/g, "$1")
    .replace(URLS, "")
    .replace(/^[ \t>]*(#{1,6}|[-*+]|\d{1,9}[.)]) +/gm, "")
    .replace(/^[\s|:-]+$/gm, "")
    .replace(/[|]/g, ", ")
    .replace(/[*_`~#>\\]+/g, "");
  const phrases = text.split(/\n+/).flatMap((line) => shorten(line.trim()));
  return phrases.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase));
}

/**
 * Cut a line after sentences, if it has any, and between words.
 * @param {string} line @returns {string[]}
 */
function shorten(line) {
  const phrases = [];
  let rest = line;
  while (rest.length > PHRASE_CHARS) {
    const head = rest.slice(0, PHRASE_CHARS);
    const sentence = Math.max(...[". ", "! ", "? ", "。", "؟ "].map((end) => head.lastIndexOf(end)));
    const at = sentence > 0 ? sentence + 1 : Math.max(head.lastIndexOf(" "), 0) || PHRASE_CHARS;
    phrases.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return [...phrases, rest];
}
