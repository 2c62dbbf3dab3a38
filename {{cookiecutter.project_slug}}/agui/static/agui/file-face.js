// @ts-check
/** How a file looks, in the input and in sent messages: icon, name, size, error. */
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

/**
 * Read the files that a message names.
 * @param {any} named @returns {import("./uploads.js").Attachment[]}
 */
export function readFiles(named) {
  if (!Array.isArray(named)) return [];
  return named.filter((one) => one?.id).map(({ id, name, mime, size }) => ({ id: String(id), name: String(name ?? id), mime, size }));
}

/**
 * Return the text of a message; "" if it has only the names of its files.
 * @param {string} text @param {{ name: string }[]} files
 */
export function ownText(text, files) {
  return text === files.map(({ name }) => name).join(", ") ? "" : text;
}

const SHEET = "M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5";
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/**
 * Write a size, such as "1.2 MB", in the page's language.
 * @param {number} bytes @param {string} [locale]
 */
export function formatSize(bytes, locale) {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const options = { style: "unit", unit: UNITS[step], unitDisplay: step ? "short" : "long", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, /** @type {any} */ (options)).format(bytes / 1000 ** step);
}

/**
 * Write "PDF · 1.2 MB": the end of a long name is not visible.
 * @param {string} name @param {any} size @param {string} [locale]
 */
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

/**
 * Say why the upload failed.
 * @param {{ code?: string, message?: string }} error @param {Strings} strings
 * @param {number} [maxBytes]
 */
export function reasonOf({ code, message }, strings, maxBytes) {
  const words = { ...FILE_WORDS, ...strings };
  if (code === "file_over_limit") return format(words.file_over_limit, { limit: formatSize(Number(maxBytes), strings.lang) });
  const known = /** @type {Record<string, any>} */ (words)[code ?? ""];
  return known ?? message ?? strings.failedTitle;
}

/**
 * A link to sign in, in a new tab, so that this page keeps its draft.
 * @param {{ code?: string }} error @param {Strings} strings @param {string} [url]
 */
export function signInLink({ code }, { signIn }, url) {
  return code === "unauthorized" && url && h("a", { href: url, target: "_blank", rel: "noopener" }, signIn);
}
