// @ts-check
/** The fields in which a question is answered. Loaded with the first question. */
import { h, icon, iconButton } from "./dom.js";
import { plainNumber } from "./exact.js";
import { fieldOf, fromInput, own, toInput } from "./schema.js";
import { format } from "./strings.js";
import { TIME_WORDS } from "./times.js";

/**
 * @typedef {import("./schema.js").Field} Field
 * @typedef {import("./strings.js").Strings & typeof FORM_WORDS} Strings
 * @typedef {{ element: HTMLElement, read: () => any }} View `read` when the browser finds it valid
 */

/** @type {Record<import("./schema.js").Kind, (field: Field, strings: Strings) => View>} */
const VIEWS = { text: entry, number: entry, json: entry, check, choice, choices, group, list: several, tuple, map: several, union, fixed };

/** The words of a form. */
export const FORM_WORDS = {
  ...TIME_WORDS,
  optional: "optional",
  invalidJson: "This is not valid JSON.",
  addItem: "Add",
  removeItem: "Remove {name}",
  entryName: "Name",
  entryValue: "Value",
  sameName: "There is an entry of this name already.",
  kindText: "Text",
  kindNumber: "Number",
  kindChoice: "Choice",
  kindList: "List",
};


/** Of those that a schema demands, so many are there at once. */
const MAX_ROWS = 20;
let count = 0;

/**
 * A part of `initial` that nobody touches comes back as it is, and what is not in it stays away.
 * @param {any} schema JSON Schema of the answer; without one a text is asked for
 * @param {import("./strings.js").Strings} words
 * @param {any} [initial] what it is at first
 * @returns {View}
 */
export function answerForm(schema, words, initial) {
  const strings = { ...FORM_WORDS, ...words };
  const field = fieldOf(schema, { initial });
  return view(field.kind === "group" ? field : { ...field, label: field.label || strings.answer }, strings);
}

/** @param {Field} field @param {Strings} strings */
function view(field, strings) {
  return VIEWS[field.kind](field, strings);
}

/** What stands in one input. @param {Field} field @param {Strings} strings @returns {View} */
function entry(field, strings) {
  const { kind, kept, required } = field;
  const { lines, type, ...attributes } = field.attributes;
  const text = toInput(field);
  const many = kind === "json" || lines;
  const rows = kind === "json" ? 3 : 1;
  const control = h(many ? "textarea" : "input", { class: kind === "json" ? "entry json" : "entry", rows: many && rows, type: !many && type, required, ...attributes });
  control.value = text;
  if (text && !control.value && type !== "password") control.type = "text"; // The browser finds that it is no such text
  control.value = text;
  // What is there already may be sent again, whatever the browser thinks of it.
  const isNew = kept === undefined && field.initial == null;
  if (!isNew && !control.checkValidity()) {
    for (const name of ["required", "min", "max", "minlength", "maxlength", "pattern"]) control.removeAttribute(name);
    if (kind === "number") control.step = "any";
    else if (!many && type !== "password") control.type = "text";
  }
  const untouched = control.value;
  const read = () => (control.value === untouched ? kept : fromInput(field, control.value));
  if (kind === "json") control.addEventListener("input", () => control.setCustomValidity(readable(read) ? "" : strings.invalidJson));
  return { element: labelled(field, control, strings), read };
}

/** @param {Field} field @returns {View} */
function check(field) {
  const box = h("input", { type: "checkbox", checked: field.initial });
  const read = () => (box.checked === field.initial ? field.kept : box.checked);
  return { element: described(field, h("label", { class: "option" }, box, field.label), box), read };
}

/** @param {Field} field @param {Strings} strings @returns {View} */
function choice(field, strings) {
  const { options, required, initial, kept, blank } = field;
  const boxes = typeof options[0] === "boolean" && required;
  if (boxes) {
    const name = `choice-${(count += 1)}`;
    const { element, chosen } = list(field, strings, { type: "radio", required: required && kept === undefined, name }, [initial]);
    return { element, read: () => (chosen()[0] === initial ? kept : chosen()[0]) };
  }
  const control = h("select", { class: "entry", required: required && kept === undefined });
  if (!required || initial == null) control.append(h("option", { value: "" }));
  options.forEach((one, index) => control.append(h("option", { value: index, selected: one === plainNumber(initial) }, named(one, strings))));
  const untouched = control.value;
  const value = () => (control.value === "" ? blank : options[control.value]);
  return { element: labelled(field, control, strings), read: () => (control.value === untouched ? kept : value()) };
}

/** @param {Field} field @param {Strings} strings @returns {View} */
function choices(field, strings) {
  const initial = Array.isArray(field.initial) ? field.initial : [];
  const { element, chosen } = list(field, strings, { type: "checkbox" }, initial.map(plainNumber));
  const untouched = JSON.stringify(chosen());
  const read = () => {
    const now = chosen();
    if (JSON.stringify(now) === untouched) return field.kept;
    // In the order that they had; what is new comes last.
    return [...initial.filter((one) => now.includes(plainNumber(one))), ...now.filter((one) => !initial.some((other) => plainNumber(other) === one))];
  };
  return { element, read };
}

/** An object; one that may be left out is switched on in its legend. @param {Field} field @param {Strings} strings @returns {View} */
function group(field, strings) {
  const { initial, kept, blank, required, name } = field;
  /** @type {[string, View][]} */
  const views = field.fields.map((one) => [one.name, view(one, strings)]);
  const children = views.map(([, { element }]) => element);
  const read = () => {
    /** @type {[string, any][]} */
    const values = views.map(([key, one]) => [key, one.read()]);
    if (initial != null && values.every(([key, value]) => value === own(initial, key))) return kept;
    // What the schema doesn't name stays where it was.
    const all = new Map([...Object.entries(initial ?? {}), ...values]);
    return Object.fromEntries([...all].filter(([, value]) => value !== undefined));
  };
  if (!name && required) return { element: h("div", { class: "fields" }, ...children), read };
  const label = field.label || strings.answer;
  const optional = !required && (initial == null || blank === null);
  const box = optional && h("input", { type: "checkbox", checked: initial != null });
  const inner = h("fieldset", { class: "fields" }, h("legend", {}, box ? h("label", { class: "option" }, box, label) : label), ...children);
  const toggle = () => (inner.disabled = box && !box.checked);
  if (box) box.addEventListener("change", toggle);
  toggle();
  const off = initial == null ? kept : blank;
  return { element: described(field, inner, inner), read: () => (inner.disabled ? off : read()) };
}

/** A list of so many, each of its own kind. @param {Field} field @param {Strings} strings @returns {View} */
function tuple(field, strings) {
  const { fields, initial, kept, label, required } = field;
  const named = fields.map((one, index) => ({ ...one, name: String(index), label: one.label || `${label} ${index + 1}` }));
  const whole = group({ ...field, kind: "group", name: field.name || label, fields: named, initial: initial && { ...initial }, kept: initial ?? kept, required }, strings);
  const read = () => {
    const value = whole.read();
    if (value === initial) return kept;
    return value && !Array.isArray(value) ? named.map(({ name }) => value[name] ?? null) : value;
  };
  return { element: whole.element, read };
}

/** As many as are added; those of an object have names. @param {Field} field @param {Strings} strings @returns {View} */
function several(field, strings) {
  const { item, kind, initial, kept, least = 0, most = Infinity } = field;
  /** @type {{ element: HTMLElement, remove: HTMLButtonElement, name: any, read: () => any }[]} */
  let rows = [];
  const place = h("ol", { class: "entries" });
  const add = h("button", { type: "button", class: "button", onclick: () => focusIn(grow()) }, icon("add"), strings.addItem);
  /** @param {any} [value] @param {string} [key] */
  const grow = (value, key) => {
    const label = `${field.label} ${rows.length + 1}`.trim();
    const name = kind === "map" && h("input", { class: "entry", required: key === undefined });
    if (name) name.value = key ?? "";
    const shown = /** @type {any} */ (item)(value);
    const one = view({ ...shown, label: name ? strings.entryValue : label }, strings);
    const onclick = () => {
      rows = rows.filter((other) => other !== row);
      row.element.remove();
      settle();
      add.focus();
    };
    const remove = iconButton("trash", format(strings.removeItem, { name: label }), onclick);
    const fields = name ? h("div", { class: "pair" }, h("div", { class: "field" }, h("label", {}, h("span", {}, strings.entryName), name)), one.element) : one.element;
    const row = { element: h("li", {}, fields, remove), remove, name, read: one.read };
    rows.push(row);
    place.append(row.element);
    settle();
    return row.element;
  };
  const settle = () => {
    add.hidden = rows.length >= most;
    for (const { remove } of rows) remove.hidden = rows.length <= least;
    place.dispatchEvent(new Event("input", { bubbles: true })); // an answer that was sent is none any more
  };
  const tellApart = () => {
    for (const { name } of rows) name.setCustomValidity(rows.some((other) => other.name !== name && other.name.value === name.value) ? strings.sameName : "");
  };
  if (kind === "map") place.addEventListener("input", tellApart);
  const before = initial == null ? [] : Object.entries(initial);
  for (const [key, value] of before) grow(value, key);
  while (initial == null && rows.length < Math.min(least, MAX_ROWS)) grow();
  const grown = rows;
  const inner = h("fieldset", { class: "fields" }, h("legend", {}, ...caption(field, strings)), place, add);
  const read = () => {
    const values = rows.map((row) => row.read());
    const isSame = rows === grown && rows.length === before.length && rows.every(({ name }, index) => (!name || name.value === before[index][0]) && values[index] === before[index][1]);
    if (isSame) return kept;
    return kind === "map" ? Object.fromEntries(rows.map(({ name }, index) => [name.value, values[index] ?? null])) : values;
  };
  return { element: described(field, inner, inner), read };
}

/** Choose one of several kinds of answers. @param {Field} field @param {Strings} strings @returns {View} */
function union(field, strings) {
  const { fields, required, initial, kept, blank, chosen } = field;
  const views = fields.map((one) => view({ ...one, label: nameOf(one, strings) }, strings));
  const isChosen = (index) => index === chosen && (required || initial != null);
  const names = fields.map((one, index) => h("option", { value: index, selected: isChosen(index) }, nameOf(one, strings)));
  const control = h("select", { class: "entry" }, !required && h("option", { value: "", selected: initial == null }), ...names);
  const place = h("div", { class: "alternative" });
  const show = () => place.replaceChildren(...(control.value === "" ? [] : [views[control.value].element]));
  control.addEventListener("change", show);
  show();
  const untouched = control.value;
  const read = () => {
    const value = control.value === "" ? blank : views[control.value].read();
    return control.value === untouched && (control.value === "" || (initial != null && value === initial)) ? kept : value;
  };
  const element = h("div", { class: "field" }, labelled(field, control, strings), place);
  return { element, read };
}

/** What can be nothing else; only nothing is said. @param {Field} field @param {Strings} strings @returns {View} */
function fixed(field, strings) {
  const { initial, kept, label } = field;
  const element = initial === null ? described(field, h("p", {}, h("span", {}, label), " ", h("span", { class: "muted" }, strings.nothing))) : h("div", { hidden: true });
  return { element, read: () => kept };
}

/** @param {Field} field @param {Strings} strings */
function nameOf({ kind, label }, strings) {
  const known = { text: strings.kindText, number: strings.kindNumber, choice: strings.kindChoice, list: strings.kindList, json: "JSON" };
  return ["string", "number", "integer", "boolean", "array", "object", ""].includes(label) ? (known[kind] ?? label) : label;
}

/** @param {HTMLElement} element */
function focusIn(element) {
  /** @type {any} */ (element.querySelector("input, select, textarea"))?.focus();
}

/** Radio buttons or check boxes for the options. @param {Field} field @param {Strings} strings @param {Record<string, any>} attributes @param {any[]} initial */
function list(field, strings, attributes, initial) {
  const boxes = field.options.map((one) => h("input", { ...attributes, checked: initial.includes(one) }));
  const labels = boxes.map((box, index) => h("label", { class: "option" }, box, named(field.options[index], strings)));
  const inner = h("fieldset", { class: "options" }, h("legend", {}, ...caption(field, strings)), ...labels);
  return { element: described(field, inner, inner), chosen: () => field.options.filter((_, index) => boxes[index].checked) };
}

/** @param {Field} field @param {HTMLElement} control @param {Strings} strings */
function labelled(field, control, strings) {
  return described(field, h("label", {}, h("span", {}, ...caption(field, strings)), control), control);
}

/** @param {Field} field @param {Strings} strings */
function caption({ kind, label, required, initial, zone, attributes }, strings) {
  const unsaid = attributes.type === "datetime-local" && initial == null ? Intl.DateTimeFormat().resolvedOptions().timeZone : "";
  const at = zone === "" ? strings.noZone : zone || unsaid;
  const remarks = [kind === "json" && "JSON", at, !required && initial == null && strings.optional].filter(Boolean);
  return [label, remarks.length > 0 && h("small", { class: "muted" }, ` (${remarks.join(", ")})`)];
}

/** @param {Field} field @param {HTMLElement} element @param {HTMLElement} control what the help belongs to */
function described({ help }, element, control = element) {
  if (!help) return h("div", { class: "field" }, element);
  const id = `help-${(count += 1)}`;
  control.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, element, h("small", { class: "muted", id }, help));
}

/** @param {any} option @param {Strings} strings */
function named(option, strings) {
  if (typeof option === "boolean") return option ? strings.yes : strings.no;
  return typeof option === "string" ? option : JSON.stringify(option);
}

/** @param {() => any} read */
function readable(read) {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
