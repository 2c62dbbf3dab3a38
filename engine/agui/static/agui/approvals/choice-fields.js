// @ts-check
/** The fields of a form whose values the user chooses: boxes, radio buttons and menus. */
import { h } from "../dom/elements.js";
import { plainNumber } from "../json/exact.js";
import { described, labelled, list, named } from "./field-labels.js";

/** @typedef {import("./answer-form.js").Make} Make */

let count = 0;

/** @type {Make} */
export function check(field) {
  const box = h("input", { type: "checkbox", checked: field.initial });
  const read = () => (box.checked === field.initial ? field.kept : box.checked);
  const label = h("label", { class: "option" }, box, field.label);
  return { element: described(field, label, box), read };
}

/** @type {Make} */
export function choice(field, strings) {
  const { options, required, initial, kept, blank } = field;
  const boxes = typeof options[0] === "boolean" && required;
  if (boxes) {
    const name = `choice-${(count += 1)}`;
    const attributes = { type: "radio", required: required && kept === undefined, name };
    const { element, chosen } = list(field, strings, attributes, [initial]);
    return { element, read: () => (chosen()[0] === initial ? kept : chosen()[0]) };
  }
  const control = h("select", { class: "entry", required: required && kept === undefined });
  if (!required || initial == null) control.append(h("option", { value: "" }));
  for (const [index, option] of options.entries()) {
    const selected = option === plainNumber(initial);
    control.append(h("option", { value: index, selected }, named(option, strings)));
  }
  const untouched = control.value;
  const value = () => (control.value === "" ? blank : options[Number(control.value)]);
  const read = () => (control.value === untouched ? kept : value());
  return { element: labelled(field, control, strings), read };
}

/** @type {Make} */
export function choices(field, strings) {
  const initial = Array.isArray(field.initial) ? field.initial : [];
  const { element, chosen } = list(field, strings, { type: "checkbox" }, initial.map(plainNumber));
  const untouched = JSON.stringify(chosen());
  const read = () => {
    const now = chosen();
    if (JSON.stringify(now) === untouched) return field.kept;
    // Keep the initial order; new choices come last.
    const stays = initial.filter((option) => now.includes(plainNumber(option)));
    const before = initial.map(plainNumber);
    return [...stays, ...now.filter((option) => !before.includes(option))];
  };
  return { element, read };
}
