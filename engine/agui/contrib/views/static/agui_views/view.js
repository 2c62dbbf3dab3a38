// @ts-check
/**
 * The activity `view`: a card from a template of the project, in a frame. Its text stands there
 * until the frame has opened, on paper, and where no frame is allowed.
 */
import { AppFrame } from "./app-frame.js";
import { appContext, followTheme } from "./app-context.js";
import { STYLE } from "./view-style.js";
import { VIEW_WORDS } from "./view-words.js";
import { h, setText } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";

/** @typedef {{ tool: string, arguments: string, label: string }} Action */

/** @type {import("../agui/types.d.ts").ActivityModule["view"]} */
export function view({ strings: given, host: element }) {
  const host = /** @type {import("../agui/agui-chat.d.ts").AguiChatElement} */ (element);
  const strings = { ...VIEW_WORDS, ...given };
  const text = h("p", { class: "view-text", dir: "auto" });
  const body = h("div", { class: "activity-body view" }, text);
  /** @type {Action[]} */
  let actions = [];

  /** @param {Record<string, unknown>} call */
  const press = ({ name, arguments: values }) => {
    const json = JSON.stringify(values);
    const action = actions.find(
      (one) => one.tool === name && JSON.stringify(JSON.parse(one.arguments)) === json,
    );
    // The words and the arguments are the server's: the frame only says which button it was.
    const isAsked = action && frame?.isUsed;
    if (!isAsked || !host.sendMessage(`${action.label} (${action.tool} ${action.arguments})`)) {
      throw new Error(strings.viewRefused);
    }
    return { content: [] };
  };
  /** @param {Record<string, unknown>} link */
  const openLink = ({ url }) => {
    const isWeb = /^https?:\/\//i.test(String(url));
    if (!isWeb || !frame?.isUsed) throw new Error(strings.viewRefused);
    window.open(String(url), "_blank", "noopener,noreferrer");
    return {};
  };

  const address = host.dataset.viewFrameUrl;
  const frame = address
    ? new AppFrame(address, {
        title: strings.viewCard,
        context: () => appContext(host, strings.lang),
        answer: { "tools/call": press, "ui/open-link": openLink },
        opened: () => body.toggleAttribute("data-open", true),
        closed: () => body.toggleAttribute("data-open", false),
      })
    : null;
  if (frame) {
    body.append(frame.element);
    followTheme(host, frame);
  }

  /** @param {Record<string, unknown>} content */
  const update = (content) => {
    const { html, lang, dir, title } = content;
    if (typeof html !== "string") throw new TypeError("This is no view.");
    if (host.shadowRoot) adopt(host.shadowRoot, STYLE);
    actions = /** @type {Action[]} */ (Array.isArray(content.actions) ? content.actions : []);
    setText(text, String(content.text || title || strings.viewCard));
    if (frame) frame.element.title = String(title || strings.viewCard);
    const card = { html, lang, dir, base: location.origin };
    frame?.show({ content: [], _meta: { "agui/view": card } });
  };
  return { element: body, update };
}
