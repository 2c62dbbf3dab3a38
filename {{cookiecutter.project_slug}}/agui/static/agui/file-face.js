// @ts-check
/** How a file looks, in the message being written and in those that were sent: icon, name, size, what went wrong. */
import { h, icon } from "./dom.js";
import { format } from "./strings.js";

/** @typedef {import("./strings.js").Strings} Strings */

/** In English; the tables of other languages have these, too. */
export const FILE_WORDS = {
  attachments: "Attached files",
  download: "Download {name}",
  file_too_large: "This file is too large.",
  file_over_limit: "This file is too large: at most {limit}.",
  too_many_files: "A message can't have more files.",
  file_unreadable: "This can't be read: it is a folder, or has changed.",
};

/** The files that a client says a message has. @param {any} named @returns {import("./uploads.js").Attachment[]} */
export function readFiles(named) {
  if (!Array.isArray(named)) return [];
  return named.filter((one) => one?.id).map(({ id, name, mime, size }) => ({ id: String(id), name: String(name ?? id), mime, size }));
}

/** The text of a message, but none if it is only the names of its files. @param {string} text @param {{ name: string }[]} files */
export function ownText(text, files) {
  return text === files.map(({ name }) => name).join(", ") ? "" : text;
}

const SHEET = "M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5";
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/** "1.2 MB", in the words of the page's language. @param {number} bytes @param {string} [locale] */
export function formatSize(bytes, locale) {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const options = { style: "unit", unit: UNITS[step], unitDisplay: step ? "short" : "long", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, /** @type {any} */ (options)).format(bytes / 1000 ** step);
}

/** "PDF · 1.2 MB": the end of a long name is cut off. @param {string} name @param {any} size @param {string} [locale] */
export function describe(name, size, locale) {
  const kind = /\.(\w{1,5})$/.exec(name)?.[1].toUpperCase();
  return [kind, Number.isFinite(size) && formatSize(size, locale)].filter(Boolean).join(" · ");
}

/** @param {string} name @param {any} size @param {string} lang */
export function fileFace(name, size, lang) {
  const note = h("span", { class: "file-note" }, describe(name, size, lang));
  const face = h("span", { class: "file-icon" }, icon("file", SHEET));
  return { face, note, nodes: [face, h("span", { class: "file-text" }, h("bdi", { class: "file-name", title: name }, name), note)] };
}

/** Why it failed, as a person reads it. @param {{ code?: string, message?: string }} error @param {Strings} strings @param {number} [maxBytes] */
export function reasonOf({ code, message }, strings, maxBytes) {
  const words = { ...FILE_WORDS, ...strings };
  if (code === "file_over_limit") return format(words.file_over_limit, { limit: formatSize(Number(maxBytes), strings.lang) });
  return words[code ?? ""] ?? message ?? strings.failedTitle;
}

/** The way back in; a page of its own, so that nothing of this one is lost. @param {{ code?: string }} error @param {Strings} strings @param {string} [url] */
export function signInLink({ code }, { signIn }, url) {
  return code === "unauthorized" && url && h("a", { href: url, target: "_blank", rel: "noopener" }, signIn);
}
