// @ts-check
/** How a file looks, in the input and in sent messages: icon, name, size, error. */
import { h, icon } from "../agui/dom/elements.js";
import { format } from "../agui/words/strings.js";

/** @typedef {import("../agui/words/strings.js").Strings} Strings */

/** In English; the tables of other languages have these, too. */
export const FILE_WORDS = {
  attachments: "Attached files",
  download: "Download {name}",
  showFile: "Show {name}",
  file_too_large: "This file is too large.",
  file_over_limit: "This file is too large: at most {limit}.",
  too_many_files: "A message can't have any more files.",
  file_unreadable: "This can't be read: it is a folder, or has changed.",
  unknown_kind: "This kind of file can't be read. You can send: {kinds}.",
  unknown_encoding: "The encoding of this text is unclear. Save it as UTF-8 and send it again.",
  texts: "texts",
};

/**
 * Read the files that a message names.
 * @param {unknown} named @returns {import("../agui/types.d.ts").Attachment[]}
 */
export function readFiles(named) {
  if (!Array.isArray(named)) return [];
  const files = named.filter((one) => one?.id);
  return files.map(({ id, name, mime, size }) => {
    return { id: String(id), name: String(name ?? id), mime, size };
  });
}

/**
 * Return the text of a message; "" if it has only the names of its files.
 * @param {string} text @param {{ name: string }[]} files
 */
export function ownText(text, files) {
  return text === files.map(({ name }) => name).join(", ") ? "" : text;
}

/** The list of a message's files. @param {Strings} strings @param {...HTMLElement} items */
export function fileList(strings, ...items) {
  const { attachments } = { ...FILE_WORDS, ...strings };
  const look = { class: "files", part: "attachments", "aria-label": attachments };
  return h("ul", look, ...items);
}

const SHEET =
  "M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 " +
  "1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5";
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/**
 * Write a size, such as "1.2 MB", in the page's language.
 * @param {number} bytes @param {string} [locale]
 */
export function formatSize(bytes, locale) {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const written = new Intl.NumberFormat(locale, {
    style: "unit",
    unit: UNITS[step],
    unitDisplay: step ? "short" : "long",
    maximumFractionDigits: 1,
  });
  return written.format(bytes / 1000 ** step);
}

/**
 * Write "PDF · 1.2 MB": the end of a long name is not visible.
 * @param {string} name @param {number} size @param {string} [locale]
 */
export function describe(name, size, locale) {
  const kind = /\.(\w{1,5})$/.exec(name)?.[1].toUpperCase();
  return [kind, Number.isFinite(size) && formatSize(size, locale)].filter(Boolean).join(" · ");
}

/** @param {string} name @param {number} size @param {string} lang */
export function fileFace(name, size, lang) {
  const note = h("span", { class: "file-note" }, describe(name, size, lang));
  const face = h("span", { class: "file-icon" }, icon("file", SHEET));
  const title = h("bdi", { class: "file-name", title: name }, name);
  return { face, note, nodes: [face, h("span", { class: "file-text" }, title, note)] };
}

/**
 * Say why the upload failed.
 * @param {import("./uploads.js").Failure} error @param {Strings} strings
 * @param {number} [maxBytes]
 */
export function reasonOf({ code, message, kinds }, strings, maxBytes) {
  /** @type {Record<string, unknown> & typeof FILE_WORDS} */
  const words = { ...FILE_WORDS, ...strings };
  if (code === "file_over_limit") {
    return format(words.file_over_limit, { limit: formatSize(Number(maxBytes), strings.lang) });
  }
  if (code === "unknown_kind" && kinds) {
    const named = kinds.map((kind) => (kind === "texts" ? words.texts : kind));
    return format(words.unknown_kind, { kinds: named.join(", ") });
  }
  return String(words[code ?? ""] ?? message ?? strings.failedTitle);
}
