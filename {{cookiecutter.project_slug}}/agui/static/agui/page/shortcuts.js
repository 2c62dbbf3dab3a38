// @ts-check
/** The page of shortcuts. */
import { closeOnBack } from "../dom/back.js";
import { h, iconButton } from "../dom/elements.js";
import { moduleAddress } from "../dom/lazy.js";
import { keyNames } from "./key-names.js";

/** In English; the tables of other languages have these, too. */
export const SHORTCUT_WORDS = {
  shortcuts: "Keyboard shortcuts",
  whileWriting: "While you write",
  elsewhere: "Elsewhere",
  inTheList: "In the list of conversations",
  shortcutSend: "Send",
  shortcutLine: "New line",
  shortcutSkills: "Skills",
  shortcutMention: "Mention a record",
  shortcutEdit: "Edit your last message (in an empty input)",
  shortcutCommands: "Search conversations and commands",
  shortcutFind: "Find in the conversation; again: of the browser",
  shortcutNew: "New chat",
  shortcutInput: "Go to the input",
  shortcutStop: "Stop the answer, or close the chat",
  shortcutHelp: "This page",
  shortcutBar: "From button to button below a message",
  shortcutRows: "From conversation to conversation",
  shortcutRename: "Rename",
  shortcutDelete: "Delete",
  shortcutUndo: "Take back",
};

/** @typedef {import("../words/strings.js").Strings & typeof SHORTCUT_WORDS} Words */
/** @type {[keyof typeof SHORTCUT_WORDS, [string, keyof typeof SHORTCUT_WORDS][]][]} */
const SECTIONS = [
  [
    "whileWriting",
    [
      ["Enter", "shortcutSend"],
      ["Shift+Enter", "shortcutLine"],
      ["/", "shortcutSkills"],
      ["@", "shortcutMention"],
      ["↑", "shortcutEdit"],
    ],
  ],
  [
    "elsewhere",
    [
      ["Ctrl+K", "shortcutCommands"],
      ["Ctrl+F", "shortcutFind"],
      ["Alt+Shift+N", "shortcutNew"],
      ["/", "shortcutInput"],
      ["Esc", "shortcutStop"],
      ["?", "shortcutHelp"],
      ["← →", "shortcutBar"],
    ],
  ],
  [
    "inTheList",
    [
      ["↑ ↓", "shortcutRows"],
      ["F2", "shortcutRename"],
      ["Delete", "shortcutDelete"],
      ["Ctrl+Z", "shortcutUndo"],
    ],
  ],
];

/** @param {import("../types.d.ts").PageContext} context */
export function showShortcuts({ host, panel, strings }) {
  if (panel.querySelector(".shortcuts")) return;
  /** @type {Words} */
  const words = { ...SHORTCUT_WORDS, ...strings };
  const close = iconButton("close", words.close, () => dialog.close());
  const look = { class: "shortcuts", part: "shortcuts", "aria-label": words.shortcuts };
  const canMention = host.dataset.mentionsUrl && moduleAddress(host, "mentions");
  /** @type {HTMLDialogElement} */
  const dialog = h(
    "dialog", look,
    h("header", {}, h("h2", {}, words.shortcuts), close),
    ...SECTIONS.flatMap(([title, rows]) => {
      const usable = rows.filter(([key]) => canMention || key !== "@");
      return [h("h3", {}, words[title]), list(usable, words)];
    }),
  );
  dialog.addEventListener("close", () => (release(), dialog.remove()));
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  panel.append(dialog);
  dialog.showModal();
  const release = closeOnBack(() => dialog.close());
}

/** @param {[string, keyof typeof SHORTCUT_WORDS][]} rows @param {Words} words */
function list(rows, words) {
  const lines = rows.map(([keys, name]) =>
    h("div", {}, h("dt", {}, h("kbd", { dir: "ltr" }, keyNames(keys))), h("dd", {}, words[name])),
  );
  return h("dl", {}, ...lines);
}
