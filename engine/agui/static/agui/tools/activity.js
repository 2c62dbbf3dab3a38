// @ts-check
/**
 * Activities of tools: plans, tables, what parts and the page draw, and everything else as folded
 * JSON. The first activity loads this module, and the first activity of a type loads its view.
 */
import { h, icon, setText } from "../dom/elements.js";
import { fetchModule, moduleOf } from "../dom/lazy.js";

/**
 * @typedef {Record<string, unknown>} Content
 * @typedef {{ id: string, activityType: string, content: Content }} Activity
 * @typedef {import("../types.d.ts").View} View
 * @typedef {import("../agui-chat.d.ts").Draw} Draw
 * @typedef {import("../types.d.ts").MessageContext} MessageContext
 * @typedef {import("../types.d.ts").ViewContext & Pick<MessageContext, "seams">} Context
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
};

/** The page has taken back what drew such a card. */
const EVENT = "event ";

/** @type {WeakMap<HTMLElement, { message: Activity, views: Map<string, View> }>} */
const shown = new WeakMap();
let count = 0;

/**
 * Show an activity in this element. An activity of the same type changes the existing view.
 * @param {HTMLElement} element
 * @param {Activity} message
 * @param {Context} context
 */
export async function showActivity(element, message, context) {
  const state = shown.get(element) ?? { message, views: new Map() };
  shown.set(element, state);
  state.message = message;
  const own = /** @type {Draw | undefined} */ (
    context.seams.get(`activity ${message.activityType}`)
  );
  element.hidden = !own && message.activityType?.startsWith(EVENT);
  const kind = `${own ? "own" : "ours"} ${message.activityType}`;
  try {
    const made = state.views.get(kind) ?? (await makeView(message.activityType, own, context));
    const view = state.views.get(kind) ?? made; // Another change may have made it meanwhile.
    if (view) state.views.set(kind, view);
    if (state.message !== message) return;
    if (!view) return showJson(element, state.views, message);
    view.update(message.content, message.id);
    place(element, view);
  } catch (error) {
    if (state.message !== message) return;
    if (own) console.error("agui-chat:", error);
    showJson(element, state.views, message);
  }
}

/**
 * Make the view of a type; null if nothing here draws it.
 * @param {string} type @param {Draw | undefined} own @param {Context} context
 */
async function makeView(type, own, context) {
  if (own) return pageView(own, context);
  if (VIEWS[type]) return VIEWS[type](context);
  const module = await moduleOf(context.host, `activity:${type}`);
  return module && module.view(context);
}

/** @param {HTMLElement} element @param {Map<string, View>} views @param {Activity} message */
function showJson(element, views, message) {
  const view = views.get("") ?? jsonView();
  views.set("", view);
  view.update(message);
  place(element, view);
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
