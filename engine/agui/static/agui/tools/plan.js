// @ts-check
/** The activity `plan`: the steps of a task, and their progress. */
import { h, icon, setAttribute, setText } from "../dom/elements.js";
import { reconcile } from "../dom/keyed.js";
import { format } from "../words/strings.js";

const MAX_STEPS = 500;
/** @type {Record<string, string>} */
const STATUS = {
  running: "running",
  in_progress: "running",
  done: "done",
  completed: "done",
  failed: "failed",
};
const CIRCLE = "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z";
const DOT = "M12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z";
/** Paths of the icons that only this module knows. */
/** @type {Record<string, string>} */
const PATHS = { pending: CIRCLE, active: CIRCLE + DOT };
/** @type {Record<string, string>} */
const ICONS = { pending: "pending", running: "active", done: "check", failed: "alert" };

/** The words of this module. */
export const PLAN_WORDS = {
  plan: "Plan",
  planCount: "{done} of {count} done",
  stepPending: "To do",
};

/** @param {{ strings: import("../words/strings.js").Strings }} context */
export function planView(context) {
  const strings = { ...PLAN_WORDS, ...context.strings };
  const names = {
    pending: strings.stepPending,
    running: strings.toolRunning,
    done: strings.toolSuccess,
    failed: strings.toolFailed,
  };
  const title = h("span");
  const count = h("small", { class: "muted" });
  const list = h("ol", { class: "steps" });
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map();
  const head = h("p", { class: "activity-title" }, title, count);
  const element = h("div", { class: "activity-body" }, head, list);
  /** @param {Record<string, unknown>} content */
  const update = ({ title: text, steps }) => {
    if (!Array.isArray(steps) || steps.length > MAX_STEPS) throw new TypeError("This is no plan.");
    const read = steps.map(readStep);
    setText(title, typeof text === "string" && text ? text : strings.plan);
    const done = read.filter(({ status }) => status === "done").length;
    setText(count, format(strings.planCount, { done, count: read.length }));
    const items = reconcile(shown, read, {
      key: (_, index) => String(index),
      make: () => addStep(list),
      drop: (item) => item.remove(),
    });
    for (const [index, item] of items.entries()) drawStep(item, read[index], names);
  };
  return { element, update };
}

/** @param {string | { title?: unknown, name?: unknown, status?: string }} step */
function readStep(step) {
  /** @type {Exclude<typeof step, string>} */
  const { title, name, status = "" } = typeof step === "string" ? { title: step } : step;
  const text = title ?? name;
  if (typeof text !== "string" && typeof text !== "number") throw new TypeError("This is no step.");
  return { text: String(text), status: Object.hasOwn(STATUS, status) ? STATUS[status] : "pending" };
}

/** @param {HTMLElement} list */
function addStep(list) {
  const mark = h("span", { class: "step-icon" });
  const state = h("span", { class: "visually-hidden" });
  const item = h("li", {}, mark, state, h("span"));
  list.append(item);
  return item;
}

/**
 * @param {HTMLElement} item @param {{ text: string, status: string }} step
 * @param {Record<string, string>} names
 */
function drawStep(item, { text, status }, names) {
  const [mark, state, words] = item.children;
  const name = ICONS[status];
  if (item.dataset.status !== status) mark.replaceChildren(icon(name, PATHS[name]));
  item.dataset.status = status;
  setAttribute(item, "aria-current", status === "running" ? "step" : null);
  setText(state, `${names[status]}: `);
  setText(words, text);
}
