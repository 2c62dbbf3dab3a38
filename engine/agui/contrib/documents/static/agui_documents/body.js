// @ts-check
/** What a document consists of, drawn by its kind. */
import { h, setText } from "../agui/dom/elements.js";
import { lazy } from "../agui/dom/lazy.js";
import { MarkdownView } from "../agui/markdown/view.js";
import { GrowingText, addressOnSite, fenced } from "./versions.js";
import { titleOf } from "./words.js";

/** @typedef {import("./versions.js").Version} Version */
/** @typedef {import("./words.js").Words} Words */
/** @typedef {import("../agui/agui-chat.d.ts").AguiChatElement} Host */
/**
 * @typedef {{
 *   element: HTMLElement, update: (version: Version, growing: boolean) => void,
 *   text?: () => string, save?: () => { content: BlobPart[], type: string, extension?: string },
 * }} Body `text` is what a user copies; without `save` there is no file
 */

/** More is no picture that a page can hold. */
const MOST_PIXELS = 40_000_000;

/**
 * @param {import("./versions.js").Kind} kind @param {Host} host @param {Words} words
 * @returns {Body}
 */
export function bodyOf(kind, host, words) {
  if (kind === "table") return tableBody(words);
  if (kind === "image") return pictureBody(host, words);
  if (kind === "page") return pageBody(words);
  return textBody(kind, words);
}

/** @param {"markdown" | "code"} kind @param {Words} words @returns {Body} */
function textBody(kind, words) {
  const view = new MarkdownView(words);
  let growingText = new GrowingText();
  let [text, shown] = ["", ""];
  /** @param {Version} version @param {boolean} growing */
  const update = ({ content, language, messageId }, growing) => {
    if (messageId !== shown) growingText = new GrowingText();
    shown = messageId;
    text = growingText.join(content.text);
    const isCode = kind === "code" && text;
    view.update(isCode ? fenced(text, language) : text, growing);
  };
  const save = () => ({ content: [text], type: "text/plain;charset=utf-8" });
  return { element: view.element, update, text: () => text, save };
}

/** @param {Words} words @returns {Body} */
function tableBody(words) {
  const element = h("div");
  /** @type {unknown[][]} */
  let rows = [];
  /** @type {import("../agui/types.d.ts").View | null} */
  let view = null;
  /** @type {typeof import("../agui/markdown/csv.js") | null} */
  let csv = null;
  const loading = Promise.all([
    lazy(() => import("../agui/tools/table.js")),
    lazy(() => import("../agui/tools/table-activity.js")),
    lazy(() => import("../agui/markdown/csv.js")),
  ]);
  /** @param {Version} version */
  const update = async ({ content }) => {
    const cells = Array.isArray(content.rows) ? content.rows : [];
    const heads = Array.isArray(content.columns) ? content.columns : [];
    rows = [heads, ...cells.map((row) => (Array.isArray(row) ? row : [row]))];
    const [table, activity, file] = await loading;
    csv = file;
    if (!table || !activity) return setText(element, words.documentNotShown);
    try {
      view ??= activity.tableView({ strings: words }, table.DataTable);
      view.update({ columns: heads, rows: cells }); // The panel has the title.
      element.replaceChildren(view.element);
    } catch {
      view = null;
      setText(element, words.documentNotShown);
    }
  };
  const text = () => csv?.csvOf(rows) ?? "";
  const save = () => ({ content: ["\ufeff", text()], type: "text/csv;charset=utf-8" });
  return { element, update, text, save };
}

/**
 * A picture of this site. It is fetched first, because an image element would follow a redirect
 * to another site.
 * @param {Host} host @param {Words} words @returns {Body}
 */
function pictureBody(host, words) {
  const element = h("div", { class: "document-picture" });
  let shown = "";
  /** @type {Blob | null} */
  let file = null;
  /** @param {Version} version */
  const update = async (version) => {
    const path = String(version.content.path);
    if (path === shown) return;
    shown = path;
    setText(element, `${words.loading}…`);
    const picture = await load(host, path).catch(() => null);
    if (path !== shown) return;
    file = picture?.file ?? null;
    if (!picture) return setText(element, words.documentNotShown);
    picture.canvas.ariaLabel = titleOf(version, words);
    element.replaceChildren(picture.canvas);
  };
  const save = () => {
    const type = file?.type ?? "";
    const extension = /^image\/(\w+)/.exec(type)?.[1].replace("jpeg", "jpg") ?? "";
    return { content: file && extension ? [file] : [], type, extension };
  };
  return { element, update, save };
}

/** @param {Host} host @param {string} path */
async function load(host, path) {
  const address = addressOnSite(path, location.href);
  if (!address) throw new TypeError("not of this site");
  const response = await host.request(address.href, { redirect: "error" });
  const file = await response.blob();
  if (!response.ok || !/^image\/(?!svg)/.test(file.type)) throw new TypeError("no picture");
  const bitmap = await createImageBitmap(file);
  const { width, height } = bitmap;
  if (width * height > MOST_PIXELS) throw new RangeError("too large");
  const canvas = h("canvas", { role: "img", width, height });
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  bitmap.close();
  return { canvas, file };
}

/**
 * A page of this site, in a frame that may do nothing: no script, no form, and no access to the
 * site's data. The page decides by its headers whether it may be framed.
 * @param {Words} words @returns {Body}
 */
function pageBody(words) {
  const element = h("div", { class: "document-page" });
  let shown = "";
  /** @param {Version} version */
  const update = (version) => {
    const address = addressOnSite(String(version.content.path), location.href);
    if (!address) return setText(element, words.documentNotShown);
    if (address.href === shown) return;
    shown = address.href;
    const title = titleOf(version, words);
    element.replaceChildren(h("iframe", { sandbox: "", title, src: address.href }));
  };
  return { element, update };
}
