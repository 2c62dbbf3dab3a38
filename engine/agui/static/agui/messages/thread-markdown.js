// @ts-check
/** A conversation as a Markdown document, and the name of its file: without the DOM. */
import { textOf } from "../conversation/messages.js";

/** @typedef {{ you: string, title: string, lang: string }} Words */
/** @typedef {import("../types.d.ts").Message} Message */

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** Controls, what turns the direction of a text, and what is invisible but joins no emoji. */
const UNSEEN =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}]|(?![\u200c\u200d\u{e0020}-\u{e007f}])\p{Cf}/gu;
/** What file systems refuse. */
const REFUSED = /[<>:"/\\|?*]/g;
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
const READ_CHARS = 1000;
const NAME_CHARS = 80;

/**
 * Write the texts of user and agent, with the names of the tools that were called.
 * @param {{ title: string, messages: Message[] }} thread @param {Words} words
 */
export function toMarkdown({ title, messages }, words) {
  const parts = [`# ${plain(title)}`];
  let speaker = "";
  for (const message of messages) {
    const { role } = message;
    if (role !== "user" && role !== "assistant") continue;
    const text = role === "user" ? quote(userText(message)) : answerText(message);
    if (!text) continue;
    if (role !== speaker) parts.push(`## ${plain(role === "user" ? words.you : words.title)}`);
    parts.push(text);
    speaker = role;
  }
  return `${parts.join("\n\n")}\n`;
}

/**
 * A name that every file system takes, and that looks like what it is.
 * @param {string} title
 */
export function fileName(title) {
  const line = title.slice(0, READ_CHARS).normalize("NFC").replace(/\s+/g, " ").replace(UNSEEN, "");
  const safe = line.replace(REFUSED, " ").replace(/\s+/g, " ").replace(/^[. ]+/, "");
  const cut = [...safe].slice(0, NAME_CHARS).join("").replace(/[. ]+$/, "");
  const name = RESERVED.test(cut) ? `_${cut}` : cut;
  return `${name || "conversation"}.md`;
}

/** Make each line of a text a quotation. @param {string} text */
export function quote(text) {
  const lines = text.trim() && text.trim().split(/\r\n?|\n/);
  return lines && lines.map((line) => (line ? `> ${line}` : ">")).join("\n");
}

/** One line in which nothing is Markdown. @param {string} text */
function plain(text) {
  return text.replace(/\s+/g, " ").trim().replace(/[\\`*_{}[\]<>#|~&!]/g, "\\$&");
}

/** @param {Message} message */
function userText({ content, metadata, attachments }) {
  const files = metadata?.attachments ?? attachments ?? [];
  const names = Array.isArray(files) ? files.map(({ name }) => `*${plain(String(name))}*`) : [];
  return [textOf(content), ...names].filter(Boolean).join("\n\n");
}

/** @param {Message} message */
function answerText({ content, toolCalls = [], metadata }) {
  const calls = toolCalls.map(({ function: { name } }) => `*${plain(name)}*`);
  const text = closeFence(textOf(content).trim());
  const blocks = [text, calls.join(", "), sourceList(metadata?.sources)];
  return blocks.filter(Boolean).join("\n\n");
}

/** @param {unknown} sources as the server sends them */
function sourceList(sources) {
  const all = /** @type {any[]} */ (Array.isArray(sources) ? sources : []).filter(Boolean);
  const lines = all.map(({ number, title, url = "" }) => `${number}. ${plain(`${title} ${url}`)}`);
  return lines.join("\n");
}

/**
 * End a block of code that an answer has left open: it would take in all that follows.
 * @param {string} text
 */
function closeFence(text) {
  let open = "";
  for (const line of text.split("\n")) {
    const [, fence = "", rest = ""] = FENCE.exec(line) ?? [];
    if (!open) open = fence;
    else if (fence.startsWith(open) && !rest.trim()) open = "";
  }
  return open ? `${text}\n${open}` : text;
}
