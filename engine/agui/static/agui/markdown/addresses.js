// @ts-check
/** Bare addresses, which are links by themselves. */
import { shapes } from "./shapes-reader.js";
import { matchAt } from "./text.js";

const BARE_URL = /(?:(?:https?|ftp):\/\/|www\.)(?=[\p{L}\p{N}])[^\s<“”…]*/iuy;
const BARE_MAIL = /(?:mailto:)?[a-z\d.+_-]{1,64}@[a-z\d_-]+(?:\.[a-z\d_-]*[a-z\d])+(?![-_])/iy;
/** What does not belong to an address at its end: punctuation, or a character reference. */
const PUNCTUATION = /(?:[?!.,:;*_'"~)‘’—]|&[a-z\d]{1,31};)$/i;
const LONGEST_PUNCTUATION = 34;

/** @param {string} text @param {string} href @returns {import("./spans.js").Span} */
function autolink(text, href) {
  return { type: "link", href, text, autolink: true, length: text.length };
}

/** The link that begins there, if one does. @param {string} text @param {number} at */
export function addressAt(text, at) {
  if (/[a-z\d]/i.test(text[at - 1] ?? " ")) return null;
  const url = matchAt(shapes.reader?.BARE_URL ?? BARE_URL, text, at)?.[0];
  if (url) {
    const shown = url.slice(0, addressEnd(url));
    return autolink(shown, shown.replace(/^(?=www)/i, "http://"));
  }
  const mail = matchAt(BARE_MAIL, text, at)?.[0];
  return mail ? autolink(mail, mail.replace(/^(?!mailto:)/i, "mailto:")) : null;
}

/** @param {string} url */
function addressEnd(url) {
  let end = url.length;
  let unopened = count(url, ")") - count(url, "(");
  for (;;) {
    const tail = PUNCTUATION.exec(url.slice(Math.max(end - LONGEST_PUNCTUATION, 0), end))?.[0];
    if (!tail || (tail === ")" && unopened-- <= 0)) return end;
    end -= tail.length;
  }
}

/** @param {string} text @param {string} character */
const count = (text, character) => text.split(character).length - 1;
