// @ts-check
/**
 * The activity `mcp-apps`: the app of another MCP server, in a frame of its own. Whatever it asks
 * for goes to its server through ours, or to the user as a question. Its result's text stands
 * there until it has opened, on paper, and where no frame is allowed.
 */
import { AppFrame, MAX_HEIGHT } from "./app-frame.js";
import { appContext, followTheme } from "./app-context.js";
import { AppQuestion } from "./app-question.js";
import { STYLE } from "./view-style.js";
import { VIEW_WORDS } from "./view-words.js";
import { h, setText } from "../agui/dom/elements.js";
import { SEEN_WORDS } from "../agui/approvals/seen.js";
import { adopt } from "../agui/dom/own-style.js";
import { format } from "../agui/words/strings.js";

/**
 * @typedef {Record<string, unknown>} Values
 * @typedef {{ result?: Values, question?: { id: string, message: string } }} Answer
 */

const APP_STYLE = `
.app-source { color: var(--_muted); font-size: .8em; margin: 0 0 .4rem; }
.app-asks:not(:empty) {
  border-block-end: 1px solid var(--_border);
  margin-block-end: .6rem;
  padding-block-end: .6rem;
}
.app-asks p { display: flex; flex-wrap: wrap; font-weight: 600; gap: .5rem; margin: 0; }
.app-asks pre {
  margin-block: .4rem .6rem; max-height: 12rem; overflow-wrap: anywhere; white-space: pre-wrap;
}
`;
/** What a server is asked at the same time for one app. */
const MAX_OPEN = 8;
/** What it is asked in a minute, beside what the user does in the app: each call is recorded. */
const MAX_CALLS = 60;
const MAX_MESSAGE = 4000;
const MAX_ADDRESS = 2000;
const REFUSED = "The user has not allowed this.";
/** What nobody sees, and models read: all but the joiners that scripts and pictures need. */
const UNSEEN = /(?![\n\t\u200c\u200d\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{DI}]/gu;
const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]+/g;
const JOINER = /^(?:\u200c|\ufe0f?\u200d|[\ufe0e\ufe0f])$/;

/**
 * More joiners in a row join nothing: they could be the letters of a hidden text.
 * @param {string} text
 */
const shown = (text) =>
  text
    .replace(UNSEEN, "")
    .replace(JOINERS, (row) => (JOINER.test(row) ? row : ""))
    .trim();

/** @type {import("../agui/types.d.ts").ActivityModule["view"]} */
export function view({ strings: given, host: element, client }) {
  const host = /** @type {import("../agui/agui-chat.d.ts").AguiChatElement} */ (element);
  const strings = { ...VIEW_WORDS, ...SEEN_WORDS, ...given };
  const source = h("p", { class: "app-source" });
  const question = new AppQuestion();
  const text = h("p", { class: "view-text", dir: "auto" });
  const body = h("div", { class: "activity-body view" }, source, question.element, text);
  let server = "";
  let address = "";
  let open = 0;
  let isDenied = false;
  let called = { since: 0, count: 0 };
  /** @type {AppFrame | null} */
  let frame = null;

  /** Raises if the user says no. @param {string} asked @param {string} [detail] */
  const ask = async (asked, detail) => {
    const { appAllow: yes, appDeny: no, readFirst } = strings;
    // Somebody who has said no is asked again only about what they do in the app.
    const isNew = !isDenied || frame?.isUsed;
    isDenied = !(isNew && (await question.ask({ text: asked, detail, yes, no, readFirst })));
    if (isDenied) throw new Error(REFUSED);
  };

  /** @param {Values} request @returns {Promise<Answer>} */
  const post = async (request) => {
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    const body = JSON.stringify({ server, ...request });
    const url = host.dataset.appsUrl ?? "";
    const response = await client.send(url, { method: "POST", headers, body });
    const answer = await response.json();
    if (answer.error) throw new Error(answer.error);
    return answer;
  };

  /** @param {string} method @returns {(params: Values) => Promise<unknown>} */
  const relay = (method) => async (params) => {
    const now = performance.now();
    if (now - called.since > 60_000) called = { since: now, count: 0 };
    const isFree = frame?.isUsed || (called.count += 1) <= MAX_CALLS;
    if (!isFree || open >= MAX_OPEN) throw new Error("Too many requests.");
    open += 1;
    try {
      const answer = await post({ method, params });
      if (!answer.question) return answer.result;
      const { id, message } = answer.question;
      const decision = await ask(format(strings.appCalls, { app: server }), message).then(
        () => true,
        () => false,
      );
      const decided = await post({ method, params, answer: { id, approved: decision } });
      if (decided.question) throw new Error(REFUSED);
      return decided.result;
    } finally {
      open -= 1;
    }
  };

  /** @param {Values} link */
  const openLink = async ({ url }) => {
    const isShort = String(url).length <= MAX_ADDRESS;
    const target = isShort && URL.canParse(String(url)) && new URL(String(url));
    // A name before the host would look like one.
    if (!target || !/^https?:$/.test(target.protocol) || target.username || target.password) {
      throw new Error("Only web addresses.");
    }
    await ask(format(strings.appLinks, { app: server }), target.href);
    window.open(target.href, "_blank", "noopener,noreferrer");
    return {};
  };

  /** @param {Values} message */
  const say = async ({ content }) => {
    const blocks = /** @type {Values[]} */ (Array.isArray(content) ? content : [content]);
    const texts = blocks.filter((block) => block?.type === "text");
    const words = shown(texts.map((block) => String(block.text)).join("\n"));
    if (!words || words.length > MAX_MESSAGE) throw new Error("A message is a text.");
    await ask(format(strings.appSays, { app: server }), words);
    if (!host.sendMessage(words)) throw new Error(strings.viewRefused);
    return {};
  };

  const make = () =>
    new AppFrame(address, {
      title: format(strings.appOf, { app: server }),
      context: () => ({
        ...appContext(host, strings.lang),
        containerDimensions: { maxHeight: MAX_HEIGHT },
      }),
      answer: {
        "tools/call": relay("tools/call"),
        "resources/read": relay("resources/read"),
        "ui/open-link": openLink,
        "ui/message": say,
        "ui/request-display-mode": () => ({ mode: "inline" }),
        ping: () => ({}),
      },
      opened: () => body.toggleAttribute("data-open", true),
      closed: () => body.toggleAttribute("data-open", false),
    });

  /** @param {Values} content */
  const update = ({ serverId, resourceUri, toolInput, result, title, text: words }) => {
    const url = host.dataset.appsUrl;
    if (!url || typeof serverId !== "string" || typeof resourceUri !== "string") {
      throw new TypeError("This page shows no such app.");
    }
    if (host.shadowRoot) adopt(host.shadowRoot, STYLE + APP_STYLE);
    server = serverId;
    const name = format(strings.appOf, { app: server });
    setText(source, name);
    setText(text, String(words || title || name));
    const wanted = `${url}?${new URLSearchParams({ server, uri: resourceUri })}`;
    if (wanted !== address) {
      frame?.element.remove();
      address = wanted;
      frame = make();
      body.append(frame.element);
      followTheme(host, frame);
    }
    if (!frame) return;
    frame.element.title = String(title || name);
    frame.show(/** @type {Values} */ (result), /** @type {Values} */ (toolInput));
  };
  return { element: body, update };
}
