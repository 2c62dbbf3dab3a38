// @ts-check
/** The views of messages: the transcript makes one for every message. */
import { textOf } from "../conversation/messages.js";
import { h, icon, setText } from "../dom/elements.js";
import { lazy, moduleOf, partModules } from "../dom/lazy.js";
import { MarkdownView } from "../markdown/view.js";
import { toolLabel } from "../tools/names.js";

/** @typedef {import("../session/session.js").Session} Session */
/** @typedef {import("../types.d.ts").MessageContext} Context */
/** @typedef {import("../types.d.ts").MessageView} View */

/**
 * By role. Messages with other roles are not shown.
 * @type {Record<string, (context: Context) => View>}
 */
export const VIEWS = {
  user: userView,
  assistant: assistantView,
  reasoning: reasoningView,
  activity: activityView,
};

/** Longer texts of the user may be folded. */
const LONG = 300;

/** @param {Context} context */
function userView(context) {
  const { strings } = context;
  const tell = metadataTeller(context);
  const bubble = h("div", { class: "bubble", part: "user-message" });
  const element = h(
    "div",
    { class: "message user" },
    h("h2", { class: "visually-hidden" }, strings.you),
    bubble,
  );
  /** @type {unknown} */
  let shown;
  /** @param {import("../types.d.ts").Message} message */
  const update = (message) => {
    if (message === shown) return;
    shown = message;
    const text = textOf(message.content);
    setText(bubble, text);
    if (text.length > LONG || bubble.matches(".folded")) {
      lazy(() => import("./long-message.js")).then((it) => it?.foldLong(bubble, strings));
    }
    tell(element, message);
  };
  return { element, update };
}

/**
 * Let parts show what the metadata of a message has for them.
 * @param {Context} context
 */
function metadataTeller(context) {
  /** @type {unknown} */
  let told;
  /** @param {HTMLElement} element @param {import("../types.d.ts").Message} message */
  return (element, { metadata, attachments }) => {
    if (!metadata && !attachments) return;
    if (told === (metadata ?? attachments)) return;
    told = metadata ?? attachments;
    for (const [key, value] of Object.entries({ attachments, ...metadata })) {
      const name = /** @type {`metadata:${string}`} */ (`metadata:${key}`);
      const isThere = value && partModules(context.host)[name];
      if (!isThere) continue;
      moduleOf(context.host, name).then((it) => {
        if (it) it.show(element, value, context, key);
        else told = undefined; // The next change tries again.
      });
    }
  };
}

/** @type {typeof import("../tools/card.js").ToolCard | null} */
let ToolCard = null;

/** Most answers have no calls, so the first call loads the card. */
async function loadToolCard() {
  ToolCard = (await lazy(() => import("../tools/card.js")))?.ToolCard ?? null;
  return ToolCard;
}

/** @param {Context} context */
function assistantView(context) {
  const prose = new MarkdownView(context.strings);
  const element = h(
    "div",
    { class: "message assistant", part: "assistant-message" },
    // The style hides it in further messages of a turn.
    h("h2", { class: "visually-hidden" }, context.strings.title),
    prose.element,
  );
  const tell = metadataTeller(context);
  const tools = h("div", { class: "tools" });
  /**
   * @type {Map<string, import("../tools/card.js").ToolCard | HTMLElement>} a
   *   call's card, or its place until the card is loaded
   */
  const cards = new Map();
  /** @param {import("../types.d.ts").ToolCall} call */
  const cardOf = (call) => {
    let card = cards.get(call.id);
    if (!card) {
      const name = h("div", { class: "tool-place" }, toolLabel(call.function.name, context.tools));
      cards.set(call.id, (card = h("div", { class: "tool", part: "tool" }, name)));
      tools.append(card);
    }
    if (card instanceof HTMLElement && ToolCard)
      cards.set(call.id, (card = new ToolCard(context, card)));
    return card instanceof HTMLElement ? null : card;
  };
  /** @param {import("../types.d.ts").Message} message @param {Session} session */
  const update = (message, session) => {
    const { conversation } = session;
    const text = textOf(message.content);
    prose.element.hidden = !text.trim();
    const isCut = /stop|fail/.test(conversation.status) && "cut";
    prose.update(text, conversation.messages.at(-1) === message && (session.busy || isCut));
    tell(element, message);
    if (!message.toolCalls?.length) return;
    if (!tools.parentNode) prose.element.after(tools);
    if (!ToolCard) loadToolCard().then((isThere) => isThere && update(message, session));
    for (const call of message.toolCalls) {
      const state = conversation.calls[call.id];
      // When the card has come, another conversation may be open.
      if (!state) continue;
      const interrupt = conversation.interrupts.find((one) => one.toolCallId === call.id);
      cardOf(call)?.update(
        call,
        state,
        interrupt,
        interrupt && session.decisionOn(interrupt),
        conversation.messages,
      );
    }
  };
  return { element, update };
}

/** @param {Context} context */
function reasoningView({ strings }) {
  const prose = new MarkdownView(strings);
  const label = h("span");
  const summary = h("summary", {}, icon("chevron"), label);
  const element = h(
    "details",
    { class: "message reasoning", part: "reasoning" },
    summary,
    prose.element,
  );
  let since = 0;
  let took = "";
  /** @param {import("../types.d.ts").Message} message @param {Session} session */
  const update = (message, { busy, conversation }) => {
    const thinks = busy && conversation.messages.at(-1) === message;
    if (thinks) took = ` · ${Math.floor((Date.now() - (since ||= Date.now())) / 1000 + 1)} s`;
    element.classList.toggle("active", thinks);
    element.hidden = !message.content;
    setText(label, thinks ? `${strings.thinking}…` : strings.thought + took);
    prose.update(textOf(message.content), thinks);
  };
  return { element, update };
}

/** @param {Context} context */
function activityView(context) {
  const element = h("div", { class: "message activity", part: "activity" });
  /** @type {unknown[]} */
  let shown = [];
  /** @param {any} message */
  const update = async (message) => {
    const { seams } = context;
    if (message === shown[0] && seams === shown[1]) return;
    shown = [message, seams];
    const module = await context.withStyle(lazy(() => import("../tools/activity.js")));
    if (!module) shown = [];
    else if (message === shown[0]) module.showActivity(element, message, context);
  };
  /** A drawing of the page is an element outside the shadow root, so remove it with the message. */
  const remove = () =>
    element
      .querySelector("slot")
      ?.assignedElements()
      .forEach((one) => one.remove());
  return { element, update, remove };
}
