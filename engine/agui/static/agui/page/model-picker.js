// @ts-check
/**
 * The choice of a model, beside the input. The attribute data-models names what the server offers;
 * the user's choice is kept in the browser, and goes with each run as `forwardedProps.model`.
 */
import { h } from "../dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const MODEL_WORDS = {
  model: "Model",
  standardModel: "Default",
};

const KEPT = "model";

/** @param {import("../types.d.ts").PageContext} context */
export function offerModels({ host, composer, memory, strings }) {
  const words = { ...MODEL_WORDS, ...strings };
  /** @type {string[]} */
  const names = JSON.parse(host.dataset.models ?? "[]");
  const options = names.map((name) => h("option", { value: name }, name));
  const select = h(
    "select", { class: "models", "aria-label": words.model, title: words.model },
    h("option", { value: "" }, words.standardModel), ...options,
  );
  const choose = () => {
    host.session.forwardedProps = select.value ? { model: select.value } : {};
    memory.note(KEPT, select.value);
  };
  // What was kept may be a model that the server no longer has.
  const kept = memory.noted(KEPT) ?? "";
  select.value = names.includes(kept) ? kept : "";
  choose();
  select.addEventListener("change", choose);
  composer.actions.element.before(select);
}
