// @ts-check
/**
 * Values in values: lists are numbered and name their items, what lies deep folds with a count, and
 * long lists show their first items. Everything is there, and nothing is cut.
 */
import { h, icon } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";
import { plainNumber } from "../json/exact.js";
import { counted, words } from "../words/strings.js";
import { localTime, zoneOf } from "../words/times.js";
import { itemName } from "./item-name.js";
import { NESTED_STYLE } from "./nested-style.js";
import { textBlock } from "./text-block.js";

/** In English; the tables of other languages have these, too. */
export const NESTED_WORDS = {
  empty: "Empty",
  /** @type {Record<string, string>} */
  itemCount: { one: "{count} item", other: "{count} items" },
  /** @type {Record<string, string>} */
  fieldCount: { one: "{count} field", other: "{count} fields" },
  /** @type {Record<string, string>} */
  showItems: { one: "Show all {count}", other: "Show all {count}" },
};

/**
 * @typedef {import("../words/strings.js").Strings & typeof NESTED_WORDS
 *   & typeof import("../words/time-words.js").TIME_WORDS} Words
 */
/** @typedef {import("../json/schema-parts.js").Secrets | undefined} Secrets */
/** @typedef {{ strings: Words, secrets: Secrets, depth: number }} Place where a value stands */

const MAX_DEPTH = 8;
const MAX_FIELDS = 100;
const MAX_ITEMS = 1000;
/** So many items of a long list are shown at first. */
const FIRST = 5;
/** A list that is only a little longer is shown whole. */
const FEW = FIRST + 2;
/** From this depth on, more than a few values fold. */
const DEEP = 2;
const LONG_VALUE = 3000;
/** A text of this length has the whole width. */
const WIDE_VALUE = 120;
/** A field up to this length stands beside others. */
const SHORT_VALUE = 40;
const MASK = "••••••••";

/**
 * Show the arguments of a call.
 * @param {object} all @param {Words} strings @param {Secrets} secrets
 */
export function argumentsView(all, strings, secrets) {
  const view = valueView(all, { strings, secrets, depth: 0 });
  // The caller puts the view on the page at once.
  if (view instanceof Element) queueMicrotask(() => adopt(view, NESTED_STYLE));
  return view;
}

/** @param {unknown} value @param {Place} place @returns {HTMLElement | string} */
function valueView(value, place) {
  const { strings, secrets, depth } = place;
  const muted = (/** @type {string} */ text) => h("span", { class: "muted" }, text);
  if (value === null) return muted(strings.nothing);
  if (typeof value === "boolean") return value ? strings.yes : strings.no;
  if (typeof value === "string" && value) return secrets?.hides ? MASK : textView(value, strings);
  if (typeof value === "number" || plainNumber(value) !== value)
    return secrets?.hides ? MASK : String(value);
  const size = Object.keys(Object(value)).length;
  if (!size) return muted(strings.empty);
  if (secrets?.hides) return MASK;
  const most = Array.isArray(value) ? MAX_ITEMS : MAX_FIELDS;
  if (depth >= MAX_DEPTH || size > most) return textBlock(value, strings);
  if (Array.isArray(value)) return listView(value, place);
  return fieldsView(/** @type {Record<string, unknown>} */ (value), place);
}

/** @param {string | number} key @param {Place} place @returns {Place} */
function within(key, { strings, secrets, depth }) {
  return { strings, secrets: secrets?.within(key), depth: depth + 1 };
}

/** @param {Record<string, unknown>} fields @param {Place} place */
function fieldsView(fields, place) {
  const rows = Object.entries(fields).flatMap(([key, value]) => {
    const inner = within(key, place);
    const view = valueView(value, inner);
    const wide = isWide(value) ? "wide" : undefined;
    const shown = view instanceof Element && isDeep(value, inner) ? fold(value, view, inner) : view;
    return [h("dt", { class: wide }, words(key)), h("dd", { class: wide }, shown)];
  });
  return h("dl", { class: "arguments" }, ...rows);
}

/** @param {unknown[]} list @param {Place} place */
function listView(list, place) {
  const isNumbered = list.some(isContainer);
  /** @param {unknown} item @param {number} index */
  const row = (item, index) => {
    const inner = within(index, place);
    return isNumbered ? numbered(item, index, inner) : h("li", {}, valueView(item, inner));
  };
  const shown = list.length > FEW ? list.slice(0, FIRST) : list;
  const look = { class: isNumbered ? "items" : "values" };
  const rows = h(isNumbered ? "ol" : "ul", look, ...shown.map(row));
  if (shown === list) return rows;
  const onclick = () => {
    rows.append(...list.slice(FIRST).map((item, index) => row(item, FIRST + index)));
    const next = /** @type {HTMLElement} */ (rows.children[FIRST]);
    next.tabIndex = -1;
    next.focus();
    more.remove();
  };
  const label = counted(place.strings, "showItems", list.length);
  const more = h("button", { type: "button", class: "button more", onclick }, label);
  return h("div", { class: "list" }, rows, more);
}

/**
 * An item with its number and its name.
 * @param {unknown} item @param {number} index @param {Place} place
 */
function numbered(item, index, place) {
  const { strings, secrets } = place;
  const number = `${new Intl.NumberFormat(strings.lang).format(index + 1)}.`;
  const name = itemName(item, (key) => Boolean(secrets?.within(key).hides));
  if (!isContainer(item)) {
    return h("li", {}, h("p", {}, h("span", {}, number), " ", valueView(item, place)));
  }
  const title = name && (name.isKey ? `${words(name.key)} ${name.text}` : name.text);
  const head = h("p", {}, h("span", {}, number), title && ` ${title}`);
  if (Array.isArray(item)) return h("li", {}, head, valueView(item, place));
  const rest = Object.entries(item).filter(([key]) => key !== name?.key);
  if (!rest.length) return h("li", {}, head);
  const fields = Object.fromEntries(rest);
  const isShort = rest.every(([, value]) => !isContainer(value) && !isLong(value, SHORT_VALUE));
  return h("li", {}, head, isShort ? besideView(fields, place) : valueView(fields, place));
}

/** Short fields beside each other. @param {Record<string, unknown>} fields @param {Place} place */
function besideView(fields, place) {
  const pairs = Object.entries(fields).map(([key, value]) => {
    const shown = valueView(value, within(key, place));
    return h("div", {}, h("dt", {}, words(key)), h("dd", {}, shown));
  });
  return h("dl", { class: "arguments beside" }, ...pairs);
}

/** @param {unknown} value @param {HTMLElement} view @param {Place} place */
function fold(value, view, place) {
  const name = Array.isArray(value) ? "itemCount" : "fieldCount";
  const count = counted(place.strings, name, Object.keys(Object(value)).length);
  const hint = h("small", { dir: "auto" }, preview(Object(value), place));
  const summary = h("summary", {}, icon("chevron"), h("span", {}, count), hint);
  return h("details", { class: "fold" }, summary, view);
}

/** The first short values. @param {object} value @param {Place} place */
function preview(value, { secrets }) {
  const texts = Object.entries(value).flatMap(([key, one]) => {
    const inner = secrets?.within(Array.isArray(value) ? Number(key) : key);
    const name = itemName(one, (field) => Boolean(inner?.within(field).hides));
    const text = isContainer(one) ? (name?.text ?? "") : String(one ?? "");
    return text && !inner?.hides && !isLong(text, SHORT_VALUE) ? [text] : [];
  });
  return texts.slice(0, FIRST).join(" · ");
}

/** @param {string} text @param {Words} strings */
function textView(text, strings) {
  if (isDiff(text)) return diffView(text);
  if (text.length > LONG_VALUE) return textBlock(text, strings);
  const zone = zoneOf(text);
  if (zone === undefined) return text;
  const time = localTime(text, strings.lang) ?? text;
  return h("span", { title: text }, `${time} (${zone || strings.noZone})`);
}

/** Whether a text is a unified diff. @param {string} text */
function isDiff(text) {
  return text.length < 100_000 && /^@@ -\d/m.test(text) && /^[+-]/m.test(text);
}

/** @param {string} text */
function diffView(text) {
  const lines = text.replace(/\n$/, "").split("\n").map((line) => {
    const isPlace = /^(@@|---|\+\+\+|diff |index )/.test(line);
    const sign = line.startsWith("+") ? "added" : line.startsWith("-") && "removed";
    return h("span", { class: isPlace ? "place" : sign }, line);
  });
  return h("pre", { class: "value diff", dir: "ltr", tabindex: "0" }, h("code", {}, ...lines));
}

// --- What kind of value it is

/** @param {unknown} value @returns {value is object} */
function isContainer(value) {
  return value !== null && typeof value === "object" && plainNumber(value) === value;
}

/** @param {unknown} value @param {number} most */
function isLong(value, most) {
  return typeof value === "string" && (value.length > most || value.includes("\n"));
}

/** Whether a value needs the whole width. @param {unknown} value */
function isWide(value) {
  if (!isContainer(value)) return isLong(value, WIDE_VALUE);
  return !Array.isArray(value) || value.some(isContainer);
}

/** Whether a value lies so deep that it folds. @param {unknown} value @param {Place} place */
function isDeep(value, { secrets, depth }) {
  if (depth < DEEP || !isContainer(value) || secrets?.hides) return false;
  const parts = Object.values(value);
  return parts.length > 3 || parts.some(isContainer);
}
