// @ts-check
/**
 * Activities of tools: plans, tables, charts, the page's own drawings, and everything else as
 * folded JSON. The first activity loads this module, and the first activity of a type loads its
 * view.
 */
import { h, icon, setText } from "./dom.js";
import { fetchModule } from "./lazy.js";

/**
 * @typedef {Record<string, unknown>} Content
 * @typedef {{ activityType: string, content: Content }} Activity
 * @typedef {{ element: HTMLElement, update: (content: Content) => void }} View `update` throws for
 *   what it can't show
 * @typedef {(content: any, element: HTMLElement) => void} Draw
 * @typedef {{
 *   strings: import("./strings.js").Strings, load: import("./lazy.js").Load,
 *   activities: Map<string, Draw>, host: HTMLElement,
 * }} Context
 */

/** @type {Record<string, (context: Context) => Promise<View>>} */
const VIEWS = {
  // @ts-ignore: without a prototype, "toString" is not a type
  __proto__: null,
  plan: async (context) => (await fetchModule(() => import("./plan.js"))).planView(context),
  table: async (context) => {
    const loading = fetchModule(() => import("./table.js"));
    const { tableView } = await fetchModule(() => import("./table-activity.js"));
    return tableView(context, (await loading).DataTable);
  },
  chart: async (context) => (await fetchModule(() => import("./chart.js"))).chartView(context),
};

/** @type {WeakMap<HTMLElement, { message: Activity, views: Record<string, View> }>} */
const shown = new WeakMap();
let count = 0;

/**
 * Show an activity in this element. An activity of the same type changes the existing view.
 * @param {HTMLElement} element
 * @param {Activity} message
 * @param {Context} context
 */
export async function showActivity(element, message, context) {
  const state = shown.get(element) ?? { message, views: {} };
  shown.set(element, state);
  state.message = message;
  const { activityType } = message;
  const own = context.activities.get(activityType);
  const kind = own ? `own ${activityType}` : activityType in VIEWS ? activityType : "";
  try {
    const make = VIEWS[kind] ?? jsonView;
    const view = (state.views[kind] ??= own ? pageView(own, context) : await make(context));
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
  const isAlone = element.firstChild === view.element && element.childNodes.length === 1;
  if (!isAlone) element.replaceChildren(view.element);
}

/**
 * Let the page draw in an element of its own, so that its styles apply.
 * @param {Draw} draw @param {Context} context @returns {View}
 */
function pageView(draw, { host }) {
  const slot = `activity-${(count += 1)}`;
  const element = h("slot", { name: slot, class: "activity-body" });
  const light = h("div", { slot });
  /** @param {Content} content */
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
  /** @param {Content} message */
  const update = (message) => {
    setText(title, String(message.activityType));
    setText(content, JSON.stringify(message.content, null, 2));
  };
  return { element, update };
}
