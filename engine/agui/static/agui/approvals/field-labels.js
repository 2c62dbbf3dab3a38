// @ts-check
/** What stands around the controls of a form: labels, remarks, help, and lists of options. */
import { h } from "../dom/elements.js";

/** @typedef {import("./schema.js").Field} Field */
/**
 * @typedef {import("../types.d.ts").Strings
 *   & typeof import("./answer-form.js").FORM_WORDS} Strings
 */

/** Labels that are only the type of a schema, or none. */
const TYPES = ["string", "number", "integer", "boolean", "array", "object", ""];

let helps = 0;

/** @param {Field} field @param {HTMLElement} control @param {Strings} strings */
export function labelled(field, control, strings) {
  const words = h("span", {}, ...caption(field, strings));
  return described(field, h("label", {}, words, control), control);
}

/** @param {Field} field @param {Strings} strings */
export function caption({ kind, label, required, initial, zone, attributes }, strings) {
  const isUnsaid = attributes.type === "datetime-local" && initial == null;
  const unsaid = isUnsaid ? Intl.DateTimeFormat().resolvedOptions().timeZone : "";
  const at = zone === "" ? strings.noZone : zone || unsaid;
  const optional = !required && (initial ?? "") === "" && strings.optional;
  const remarks = [kind === "json" && "JSON", at, optional].filter(Boolean);
  return [label, remarks.length > 0 && h("small", { class: "muted" }, ` (${remarks.join(", ")})`)];
}

/**
 * @param {Field} field @param {HTMLElement} element
 * @param {HTMLElement} control the element that the help describes
 */
export function described({ help }, element, control = element) {
  if (!help) return h("div", { class: "field" }, element);
  const id = `help-${(helps += 1)}`;
  control.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, element, h("small", { class: "muted", id }, help));
}

/** @param {unknown} option @param {Strings} strings */
export function named(option, strings) {
  if (typeof option === "boolean") return option ? strings.yes : strings.no;
  return typeof option === "string" ? option : JSON.stringify(option);
}

/**
 * Radio buttons or check boxes for the options.
 * @param {Field} field @param {Strings} strings @param {Record<string, unknown>} attributes
 * @param {unknown[]} initial
 */
export function list(field, strings, attributes, initial) {
  const boxes = field.options.map((option) => {
    return h("input", { ...attributes, checked: initial.includes(option) });
  });
  const labels = boxes.map((box, index) => {
    return h("label", { class: "option" }, box, named(field.options[index], strings));
  });
  const legend = h("legend", {}, ...caption(field, strings));
  const inner = h("fieldset", { class: "options" }, legend, ...labels);
  const chosen = () => field.options.filter((_, index) => boxes[index].checked);
  return { element: described(field, inner, inner), chosen };
}

/**
 * A control for a name beside what it names.
 * @param {HTMLElement} name @param {string} label @param {HTMLElement} element
 */
export function pairOf(name, label, element) {
  const field = h("div", { class: "field" }, h("label", {}, h("span", {}, label), name));
  return h("div", { class: "pair" }, field, element);
}

/** The name of an alternative. @param {Field} field @param {Strings} strings */
export function nameOf({ kind, label }, strings) {
  /** @type {Record<string, string>} */
  const known = {
    text: strings.kindText,
    number: strings.kindNumber,
    choice: strings.kindChoice,
    list: strings.kindList,
    json: "JSON",
  };
  return TYPES.includes(label) ? (known[kind] ?? label) : label;
}
