// @ts-check
/** The fields of an answer to a question. The first question loads this module. */
import { check, choice, choices } from "./choice-fields.js";
import { h, icon, iconButton, setAttribute } from "../dom/elements.js";
import { caption, described, labelled, nameOf, pairOf } from "./field-labels.js";
import { beginsFolded, foldedRow } from "./folded-row.js";
import { fieldOf, fromInput, toInput } from "./schema.js";
import { isObject, own } from "../json/schema-parts.js";
import { format } from "../words/strings.js";
import { TIME_WORDS } from "../words/time-words.js";

/**
 * @typedef {import("./schema.js").Field} Field
 * @typedef {import("../words/strings.js").Strings & typeof FORM_WORDS} Strings
 * @typedef {{ element: HTMLElement, read: () => unknown }} View `read` if the browser finds the
 *   form valid
 * @typedef {(field: Field, strings: Strings) => View} Make
 */

/** @type {Record<import("./schema.js").Kind, Make>} */
const VIEWS = {
  text: entry,
  number: entry,
  json: entry,
  check,
  choice,
  choices,
  group,
  list: several,
  tuple,
  map: several,
  union,
  fixed,
};

/** The words of a form. */
export const FORM_WORDS = {
  answer: "Your answer",
  ...TIME_WORDS,
  optional: "optional",
  invalidJson: "This is not valid JSON.",
  addItem: "Add",
  removeItem: "Remove {name}",
  entryName: "Name",
  entryValue: "Value",
  sameName: "There is already an entry with this name.",
  kindText: "Text",
  kindNumber: "Number",
  kindChoice: "Choice",
  kindList: "List",
};

/** At most this many required items are shown at first. */
const FIRST_ROWS = 20;
const LIMITS = ["required", "min", "max", "minlength", "maxlength", "pattern"];
const PLUS = "M12 5v14M5 12h14";

/**
 * Build a form. It returns untouched parts of `initial` unchanged, and adds no missing ones.
 * @param {import("../types.d.ts").Schema | null | undefined} schema of the answer; without a schema
 *   the form asks for a text
 * @param {import("../words/strings.js").Strings} words
 * @param {unknown} [initial] the first value
 * @returns {View}
 */
export function answerForm(schema, words, initial) {
  const strings = { ...FORM_WORDS, ...words };
  const field = fieldOf(schema, { initial });
  if (field.kind === "group") return view(field, strings);
  return view({ ...field, label: field.label || strings.answer }, strings);
}

/** @param {Field} field @param {Strings} strings */
function view(field, strings) {
  return VIEWS[field.kind](field, strings);
}

/** A field with one input. @type {Make} */
function entry(field, strings) {
  const { kind, kept, required } = field;
  const { lines, type, ...attributes } = field.attributes;
  const text = toInput(field);
  const many = kind === "json" || lines;
  const [name, rows] = kind === "json" ? ["entry json", 3] : ["entry", 1];
  // A number stays where the buttons that change it leave room for it.
  const dir = kind === "text" ? "auto" : undefined;
  const look = { class: name, dir, required, ...attributes };
  const control = many ? h("textarea", { ...look, rows }) : h("input", { ...look, type });
  control.value = text;
  // The browser rejects the text for this type.
  if (text && !control.value && type !== "password") setAttribute(control, "type", "text");
  control.value = text;
  // The initial value may be sent again, even if the browser finds it invalid.
  const isNew = kept === undefined && field.initial == null;
  if (!isNew && !control.checkValidity()) {
    for (const name of LIMITS) control.removeAttribute(name);
    if (kind === "number") setAttribute(control, "step", "any");
    else if (!many && type !== "password") setAttribute(control, "type", "text");
  }
  const untouched = control.value;
  const read = () => (control.value === untouched ? kept : fromInput(field, control.value));
  if (kind === "json") {
    control.addEventListener("input", () => {
      control.setCustomValidity(readable(read) ? "" : strings.invalidJson);
    });
  }
  return { element: labelled(field, control, strings), read };
}

/** An object. A checkbox in the legend switches an optional object on. @type {Make} */
function group(field, strings) {
  const { initial, kept, blank, required, name } = field;
  /** @type {[string, View][]} */
  const views = field.fields.map((one) => [one.name, view(one, strings)]);
  const children = views.map(([, { element }]) => element);
  const read = () => {
    /** @type {[string, unknown][]} */
    const values = views.map(([key, one]) => [key, one.read()]);
    if (initial != null && values.every(([key, value]) => value === own(initial, key))) return kept;
    // Properties that the schema doesn't name stay in place.
    const all = new Map([...Object.entries(initial ?? {}), ...values]);
    return Object.fromEntries([...all].filter(([, value]) => value !== undefined));
  };
  if (!name && required) return { element: h("div", { class: "fields" }, ...children), read };
  const label = field.label || strings.answer;
  const optional = !required && (initial == null || blank === null);
  const box = optional && h("input", { type: "checkbox", checked: initial != null });
  const title = box ? h("label", { class: "option" }, box, label) : label;
  const inner = h("fieldset", { class: "fields" }, h("legend", {}, title), ...children);
  const toggle = () => (inner.disabled = box && !box.checked);
  if (box) box.addEventListener("change", toggle);
  toggle();
  const off = initial == null ? kept : blank;
  return { element: described(field, inner, inner), read: () => (inner.disabled ? off : read()) };
}

/** A list of fixed length, each item of its own kind. @type {Make} */
function tuple(field, strings) {
  const { fields, initial, kept, label, required } = field;
  const named = fields.map((item, index) => {
    return { ...item, name: String(index), label: item.label || `${label} ${index + 1}` };
  });
  /** @type {Field} */
  const object = {
    ...field, kind: "group", name: field.name || label, fields: named,
    initial: initial && { ...initial }, kept: initial ?? kept, required,
  };
  const whole = group(object, strings);
  const read = () => {
    const value = whole.read();
    if (value === initial) return kept;
    return isObject(value) ? named.map(({ name }) => value[name] ?? null) : value;
  };
  return { element: whole.element, read };
}

/** Items that the user adds; those of an object have names. @type {Make} */
function several(field, strings) {
  const { item, kind, initial, kept, least = 0, most = Infinity } = field;
  /**
   * @type {(View & { remove: HTMLButtonElement, name: HTMLInputElement | null,
   *   renumber?: (index: number) => void })[]}
   */
  let rows = [];
  const before = initial == null ? [] : Object.entries(initial);
  const place = h("ol", { class: "entries" });
  const onclick = () => focusIn(grow());
  const look = { type: "button", class: "button", onclick };
  const add = h("button", look, icon("add", PLUS), strings.addItem);
  /** @param {unknown} [value] @param {string} [key] */
  const grow = (value, key) => {
    const label = `${field.label} ${rows.length + 1}`.trim();
    const isNew = key === undefined;
    const nameLook = { class: "entry", dir: "auto", required: isNew };
    const name = kind === "map" ? h("input", nameLook) : null;
    if (name) name.value = key ?? "";
    const shown = /** @type {NonNullable<Field["item"]>} */ (item)(value);
    const named = { ...shown, label: name ? strings.entryValue : label };
    const { element, read } = view(named, strings);
    const isFolded = value !== undefined && beginsFolded(before);
    const fold = !name && shown.kind === "group" && foldedRow(element, shown, strings, isFolded);
    const onremove = () => {
      rows = rows.filter((other) => other !== row);
      row.element.remove();
      settle();
      add.focus();
    };
    const remove = iconButton("trash", format(strings.removeItem, { name: label }), onremove);
    const fields = name ? pairOf(name, strings.entryName, element) : fold ? fold.element : element;
    const look = { class: fold && "numbered" };
    const { renumber } = fold || {};
    const row = { element: h("li", look, fields, remove), remove, name, read, renumber };
    rows.push(row);
    place.append(row.element);
    settle();
    return row.element;
  };
  const settle = () => {
    add.hidden = rows.length >= most;
    for (const [index, { remove, renumber }] of rows.entries()) {
      remove.hidden = rows.length <= least;
      renumber?.(index);
    }
    place.dispatchEvent(new Event("input", { bubbles: true })); // a change invalidates the answer
  };
  const tellApart = () => {
    for (const { name } of rows) {
      const isTwice = rows.some((row) => row.name !== name && row.name?.value === name?.value);
      name?.setCustomValidity(isTwice ? strings.sameName : "");
    }
  };
  if (kind === "map") place.addEventListener("input", tellApart);
  for (const [key, value] of before) grow(value, key);
  while (initial == null && rows.length < Math.min(least, FIRST_ROWS)) grow();
  const grown = rows;
  const legend = h("legend", {}, ...caption(field, strings));
  const inner = h("fieldset", { class: "fields" }, legend, place, add);
  const read = () => {
    const values = rows.map((row) => row.read());
    const isSame = rows.every(({ name }, index) => {
      const [key, value] = before[index] ?? [];
      return (!name || name.value === key) && values[index] === value;
    });
    if (rows === grown && rows.length === before.length && isSame) return kept;
    if (kind !== "map") return values;
    const entries = rows.map(({ name }, index) => [name?.value, values[index] ?? null]);
    return Object.fromEntries(entries);
  };
  return { element: described(field, inner, inner), read };
}

/** A choice between several kinds of answers. @type {Make} */
function union(field, strings) {
  const { fields, required, initial, kept, blank, chosen } = field;
  const views = fields.map((item) => view({ ...item, label: nameOf(item, strings) }, strings));
  /** @param {number} index */
  const isChosen = (index) => index === chosen && (required || initial != null);
  const names = fields.map((item, index) => {
    return h("option", { value: index, selected: isChosen(index) }, nameOf(item, strings));
  });
  const none = !required && h("option", { value: "", selected: initial == null });
  const control = h("select", { class: "entry" }, none, ...names);
  const place = h("div", { class: "alternative" });
  const show = () => {
    const shown = control.value === "" ? [] : [views[Number(control.value)].element];
    place.replaceChildren(...shown);
  };
  control.addEventListener("change", show);
  show();
  const untouched = control.value;
  const read = () => {
    const value = control.value === "" ? blank : views[Number(control.value)].read();
    const isInitial = control.value === "" || (initial != null && value === initial);
    return control.value === untouched && isInitial ? kept : value;
  };
  const element = h("div", { class: "field" }, labelled(field, control, strings), place);
  return { element, read };
}

/** A constant value. Words stand for null. @type {Make} */
function fixed(field, strings) {
  const { initial, kept, label } = field;
  const read = () => kept;
  if (initial !== null) return { element: h("div", { hidden: true }), read };
  const nothing = h("span", { class: "muted" }, strings.nothing);
  return { element: described(field, h("p", {}, h("span", {}, label), " ", nothing)), read };
}

/** @param {HTMLElement} element */
function focusIn(element) {
  /** @type {HTMLElement | null} */ (element.querySelector("input, select, textarea"))?.focus();
}

/** @param {() => unknown} read */
function readable(read) {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
