// @ts-check
/** How each kind of message looks: what the transcript makes one of for every message. */
import { textOf } from "./conversation.js";
import { h, icon, setText } from "./dom.js";
import { lazy } from "./lazy.js";
import { MarkdownView } from "./markdown.js";
import { toolLabel } from "./tool-names.js";

/** @typedef {import("./session.js").Session} Session */
/**
 * @typedef {import("./tool-card.js").Context & {
 *   retry: () => void, client: import("./client.js").AgentClient,
 *   regenerate: (promptId: string) => boolean, edit: (promptId: string, text: string) => boolean, switchBranch: (branchId: string) => void,
 *   feedback: (messageId: string, value: number, comment?: string) => Promise<boolean>,
 *   unqueue: () => any, rewrite: (message: any) => void,
 *   activities: Map<string, (content: any, element: HTMLElement) => void>, host: HTMLElement, style: () => Promise<any>,
 * }} Context
 */

/** By role; messages of others are not shown. @type {Record<string, (context: Context) => { element: HTMLElement, update: (message: any, session: Session) => void, remove?: () => void }>} */
export const VIEWS = { user: userView, assistant: assistantView, reasoning: reasoningView, activity: activityView };

/** @param {Context} context */
function userView(context) {
  const { client, strings } = context;
  const bubble = h("div", { class: "bubble", part: "user-message" });
  const element = h("div", { class: "message user" }, h("span", { class: "visually-hidden" }, `${strings.you}: `), bubble);
  /** @type {any} */
  let shown;
  /** @param {any} message */
  const update = async (message) => {
    if (message === shown) return;
    shown = message;
    setText(bubble, textOf(message.content));
    const files = message.metadata?.attachments ?? message.attachments;
    if (!files || !client.attachmentsUrl) return;
    const { showFiles } = await import("./sent-files.js");
    showFiles(bubble, files, context);
  };
  return { element, update };
}

/** @type {typeof import("./tool-card.js").ToolCard | null} */
let ToolCard = null;

/** Most answers call nothing: what shows a call comes with the first one. */
async function loadToolCard() {
  ({ ToolCard } = await lazy(() => import("./tool-card.js")));
}

/** @param {Context} context */
function assistantView(context) {
  const prose = new MarkdownView(context.strings);
  const element = h("div", { class: "message assistant", part: "assistant-message" }, prose.element);
  const tools = h("div", { class: "tools" });
  /** @type {Map<string, import("./tool-card.js").ToolCard | HTMLElement>} a card's place until there are cards */
  const cards = new Map();
  /** @param {any} call */
  const cardOf = (call) => {
    let card = cards.get(call.id);
    if (!card) {
      const name = h("div", { class: "tool-place" }, toolLabel(call.function.name, context.tools));
      cards.set(call.id, (card = h("div", { class: "tool", part: "tool" }, name)));
      tools.append(card);
    }
    if (card instanceof HTMLElement && ToolCard) cards.set(call.id, (card = new ToolCard(context, card)));
    return card instanceof HTMLElement ? null : card;
  };
  /** @param {any} message @param {Session} session */
  const update = (message, session) => {
    const { conversation } = session;
    const text = textOf(message.content);
    prose.element.hidden = !text;
    prose.update(text, session.busy && conversation.messages.at(-1) === message);
    if (!message.toolCalls?.length) return;
    if (!tools.parentNode) prose.element.after(tools);
    if (!ToolCard) loadToolCard().then(() => update(message, session), () => {}); // tried again with the next change
    for (const call of message.toolCalls) {
      const interrupt = conversation.interrupts.find((one) => one.toolCallId === call.id);
      cardOf(call)?.update(call, conversation.calls[call.id], interrupt, interrupt && session.decisionOn(interrupt), conversation.messages);
    }
  };
  return { element, update };
}

/** @param {Context} context */
function reasoningView({ strings }) {
  const prose = new MarkdownView(strings);
  const label = h("span");
  const summary = h("summary", {}, icon("chevron"), label);
  const element = h("details", { class: "message reasoning", part: "reasoning" }, summary, prose.element);
  /** @param {any} message @param {Session} session */
  const update = (message, { busy, conversation }) => {
    const thinks = busy && conversation.messages.at(-1) === message;
    element.classList.toggle("active", thinks);
    element.hidden = !message.content;
    setText(label, thinks ? `${strings.thinking}…` : strings.thought);
    prose.update(textOf(message.content), thinks);
  };
  return { element, update };
}

/** @param {Context} context */
function activityView(context) {
  const element = h("div", { class: "message activity", part: "activity" });
  /** @type {any[]} */
  let shown = [];
  /** @param {any} message */
  const update = async (message) => {
    const { activities } = context;
    if (message === shown[0] && activities === shown[1]) return;
    shown = [message, activities];
    try {
      const [{ showActivity }] = await Promise.all([import("./activity.js"), context.style()]);
      if (message === shown[0]) showActivity(element, message, context);
    } catch {
      shown = []; // tried again with the next change
    }
  };
  /** What the page drew is the page's element: it goes with the message. */
  const remove = () => element.querySelector("slot")?.assignedElements().forEach((one) => one.remove());
  return { element, update, remove };
}
