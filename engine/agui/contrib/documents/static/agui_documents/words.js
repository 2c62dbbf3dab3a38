// @ts-check
/** The words of documents, and how their kinds look. */

/** In English; the tables of other languages have these, too. */
export const DOCUMENT_WORDS = {
  documentMarkdown: "Document",
  documentCode: "Code",
  documentTable: "Table",
  documentImage: "Image",
  documentPage: "Page",
  documentVersion: "Version {number}",
  documentVersionOf: "Version {number} of {count}",
  documentGrowing: "Being written",
  documentUpdated: "The document is updated.",
  documentWidth: "Width of the document",
  saveDocument: "Save as a file",
  openPage: "Open in a new tab",
  documentNotShown: "This can't be shown here.",
};

/** @typedef {import("../agui/types.d.ts").Strings & typeof DOCUMENT_WORDS} Words */
/** @typedef {import("./versions.js").Version} Version */

const SHEET =
  "M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 " +
  "1.5-1.5V8.5zM13.5 3.5v5h5M9 13h6M9 16.5h4";
/** @type {Record<import("./versions.js").Kind, [keyof typeof DOCUMENT_WORDS, string]>} */
export const KINDS_SHOWN = {
  markdown: ["documentMarkdown", SHEET],
  code: ["documentCode", "m8.5 8-4.5 4 4.5 4M15.5 8l4.5 4-4.5 4M13.5 5l-3 14"],
  table: ["documentTable", "M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9"],
  image: ["documentImage", "M4 5h16v14H4zM4 16l4.5-4.5 4 4 2.5-2.5 5 5M15.5 9.5v.01"],
  page: ["documentPage", "M4 5h16v14H4zM4 9h16M6.5 7v.01M9 7v.01"],
};

/** @param {Version} version @param {Words} words */
export function titleOf({ title, kind }, words) {
  return title || words[KINDS_SHOWN[kind][0]];
}
