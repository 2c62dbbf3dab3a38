// @ts-check
/** The fields in which a question is answered. Loaded with the first question. */
import { h, icon, iconButton } from "./dom.js";
import { fieldOf, fromInput, toInput } from "./schema.js";
import { format } from "./strings.js";

/**
 * @typedef {import("./schema.js").Field} Field
 * @typedef {import("./strings.js").Strings} Strings
 * @typedef {{ element: HTMLElement, read: () => any }} View `read` when the browser finds it valid
 */

/** @type {Record<import("./schema.js").Kind, (field: Field, strings: Strings) => View>} */
const VIEWS = { text: entry, number: entry, json: entry, check, choice, choices, group, list: several, union, fixed };

/** Of those that a schema demands, so many are there at once. */
const MAX_ROWS = 20;
let count = 0;

/**
 * @param {any} schema JSON Schema of the answer; without one a text is asked for
 * @param {Strings} strings
 * @param {any} [initial] what it is at first
 * @returns {View}
 */
export function answerForm(schema, strings, initial) {
  const field = fieldOf(schema, { initial });
  return view(field.kind === "group" ? field : { ...field, label: field.label || strings.answer }, strings);
}

/** @param {Field} field @param {Strings} strings */
function view(field, strings) {
  return VIEWS[field.kind](field, strings);
}

/** @param {Field} field @param {Strings} strings @returns {View} */
function entry(field, strings) {
  const json = field.kind === "json";
  const control = h(json ? "textarea" : "input", { class: "entry", rows: json && 3, required: field.required, ...field.attributes });
  control.value = toInput(field);
  const read = () => fromInput(field, control.value);
  if (json) control.addEventListener("input", () => control.setCustomValidity(readable(read) ? "" : strings.invalidJson));
  return { element: labelled(field, control, strings), read };
}

/** @param {Field} field @returns {View} */
function check(field) {
  const box = h("input", { type: "checkbox", checked: field.initial });
  return { element: described(field, h("label", { class: "option" }, box, field.label), box), read: () => box.checked };
}

/** @param {Field} field @param {Strings} strings @returns {View} */
function choice(field, strings) {
  const { options, required, initial, blank } = field;
  const boxes = typeof options[0] === "boolean" && required;
  if (boxes) {
    const { element, chosen } = list(field, strings, { type: "radio", required, name: `choice-${(count += 1)}` }, [initial]);
    return { element, read: () => chosen()[0] };
  }
  const control = h("select", { class: "entry", required });
  if (!required || initial == null) control.append(h("option", { value: "" }));
  options.forEach((one, index) => control.append(h("option", { value: index, selected: one === initial }, named(one, strings))));
  return { element: labelled(field, control, strings), read: () => (control.value === "" ? blank : options[control.value]) };
}

/** @param {Field} field @param {Strings} strings @returns {View} */
function choices(field, strings) {
  const initial = Array.isArray(field.initial) ? field.initial : [];
  const { element, chosen } = list(field, strings, { type: "checkbox" }, initial);
  return { element, read: () => (chosen().length || field.required || initial.length ? chosen() : field.blank) };
}

/** An object; one that may be left out is switched on in its legend. @param {Field} field @param {Strings} strings @returns {View} */
function group(field, strings) {
  /** @type {[string, View][]} */
  const views = field.fields.map((one) => [one.name, view(one, strings)]);
  const children = views.map(([, { element }]) => element);
  const read = () => Object.fromEntries(views.map(([name, one]) => [name, one.read()]).filter(([, value]) => value !== undefined));
  if (!field.name && field.required) return { element: h("div", { class: "fields" }, ...children), read };
  const label = field.label || strings.answer;
  const optional = !field.required && (field.initial == null || field.blank === null);
  const box = optional && h("input", { type: "checkbox", checked: field.initial != null });
  const inner = h("fieldset", { class: "fields" }, h("legend", {}, box ? h("label", { class: "option" }, box, label) : label), ...children);
  const toggle = () => (inner.disabled = box && !box.checked);
  if (box) box.addEventListener("change", toggle);
  toggle();
  return { element: described(field, inner, inner), read: () => (inner.disabled ? field.blank : read()) };
}

/** As many as are added. @param {Field} field @param {Strings} strings @returns {View} */
function several(field, strings) {
  const { item, least = 0, most = Infinity } = field;
  /** @type {(View & { remove: HTMLButtonElement })[]} */
  let rows = [];
  const place = h("ol", { class: "entries" });
  const add = h("button", { type: "button", class: "button", onclick: () => focusIn(grow()) }, icon("add"), strings.addItem);
  /** @param {any} [initial] */
  const grow = (initial) => {
    const one = view({ .../** @type {any} */ (item)(initial), label: `${field.label} ${rows.length + 1}` }, strings);
    const onclick = () => {
      rows = rows.filter((other) => other !== row);
      row.element.remove();
      settle();
      add.focus();
    };
    const label = format(strings.removeItem, { name: `${field.label} ${rows.length + 1}` });
    const remove = iconButton("trash", label, onclick);
    const row = { element: h("li", {}, one.element, remove), remove, read: one.read };
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
  const initial = Array.isArray(field.initial) ? field.initial : [];
  for (let index = 0; index < Math.max(initial.length, Math.min(least, MAX_ROWS)); index += 1) grow(initial[index]);
  const inner = h("fieldset", { class: "fields" }, h("legend", {}, ...caption(field, strings)), place, add);
  const read = () => (rows.length || field.required || initial.length ? rows.map((row) => row.read()) : field.blank);
  return { element: described(field, inner, inner), read };
}

/** One of several kinds of answers. @param {Field} field @param {Strings} strings @returns {View} */
function union(field, strings) {
  const { fields, required, initial, blank, chosen } = field;
  const views = fields.map((one) => view({ ...one, label: nameOf(one, strings) }, strings));
  const isChosen = (index) => index === chosen && (required || initial != null);
  const names = fields.map((one, index) => h("option", { value: index, selected: isChosen(index) }, nameOf(one, strings)));
  const control = h("select", { class: "entry" }, !required && h("option", { value: "", selected: initial == null }), ...names);
  const place = h("div", { class: "alternative" });
  const show = () => place.replaceChildren(...(control.value === "" ? [] : [views[control.value].element]));
  control.addEventListener("change", show);
  show();
  const element = h("div", { class: "field" }, labelled(field, control, strings), place);
  return { element, read: () => (control.value === "" ? blank : views[control.value].read()) };
}

/** What can be nothing else. @param {Field} field @returns {View} */
function fixed({ initial }) {
  return { element: h("div", { hidden: true }), read: () => initial };
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
function caption({ kind, label, required, initial }, strings) {
  const remarks = [kind === "json" && "JSON", !required && initial == null && strings.optional].filter(Boolean);
  return [label, remarks.length > 0 && h("small", { class: "muted" }, ` (${remarks.join(", ")})`)];
}

/** @param {Field} field @param {HTMLElement} element @param {HTMLElement} control what the help belongs to */
function described({ help }, element, control) {
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
