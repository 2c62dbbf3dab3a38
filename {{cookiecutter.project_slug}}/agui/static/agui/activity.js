// @ts-check
/**
 * What tools show: a plan, a table, a chart, what the page draws by itself, and anything else as folded JSON.
 * Loaded with the first activity; each view with the first one of its type.
 */
import { h, icon, setText } from "./dom.js";

/**
 * @typedef {{ element: HTMLElement, update: (content: any) => void }} View `update` throws for what it can't show
 * @typedef {(content: any, element: HTMLElement) => void} Draw
 * @typedef {{ strings: import("./strings.js").Strings, activities: Map<string, Draw>, host: HTMLElement }} Context
 */

/** @type {Record<string, (context: any) => Promise<View>>} */
const VIEWS = {
  // @ts-ignore: without a prototype, "toString" is not a type
  __proto__: null,
  plan: async (context) => (await import("./plan.js")).planView(context),
  table: async (context) => (await import("./table.js")).tableView(context),
  chart: async (context) => (await import("./chart.js")).chartView(context),
};

/** @type {WeakMap<HTMLElement, { type: string, message: any, views: Record<string, View> }>} */
const shown = new WeakMap();
let count = 0;

/**
 * Show an activity in this element; the same type again changes what is there.
 * @param {HTMLElement} element
 * @param {{ activityType: string, content: any }} message
 * @param {Context} context
 */
export async function showActivity(element, message, context) {
  const state = shown.get(element) ?? { type: "", message, views: {} };
  shown.set(element, state);
  state.message = message;
  const { activityType } = message;
  const own = context.activities.get(activityType);
  const kind = own ? `own ${activityType}` : activityType in VIEWS ? activityType : "";
  try {
    const view = (state.views[kind] ??= own ? pageView(own, context) : await (VIEWS[kind] ?? jsonView)(context));
    if (state.message !== message) return;
    view.update(kind ? message.content : message);
    place(element, view);
  } catch (error) {
    if (state.message !== message) return;
    if (own) console.error("agui-chat:", error);
    const view = (state.views[""] ??= jsonView());
    view.update(message);
    place(element, view);
  }
}

/** @param {HTMLElement} element @param {View} view */
function place(element, view) {
  if (element.firstChild !== view.element || element.childNodes.length > 1) element.replaceChildren(view.element);
}

/** Drawn by the page, in an element of the page: its styles apply. @param {Draw} draw @param {Context} context @returns {View} */
function pageView(draw, { host }) {
  const slot = `activity-${(count += 1)}`;
  const element = h("slot", { name: slot, class: "activity-body" });
  const light = h("div", { slot });
  const update = (content) => {
    if (!light.isConnected) host.append(light);
    draw(content, light);
  };
  return { element, update };
}

/** @returns {View} */
function jsonView() {
  const title = h("span");
  const content = h("pre", { class: "value", tabindex: "0" });
  const element = h("details", {}, h("summary", {}, icon("chevron"), title), content);
  /** @param {any} message */
  const update = (message) => {
    setText(title, message.activityType);
    setText(content, JSON.stringify(message.content, null, 2));
  };
  return { element, update };
}
