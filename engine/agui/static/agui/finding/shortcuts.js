// @ts-check
/** The page of shortcuts. */
import { closeOnBack } from "../dom/back.js";
import { h, iconButton } from "../dom/elements.js";
import { moduleOf, modulesFor, partModules } from "../dom/lazy.js";
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
  shortcutEdit: "Edit your last message (in an empty input)",
  shortcutCommands: "Search conversations and commands",
  shortcutFind: "Find in the conversation; press again for the browser's search",
  shortcutNew: "New chat",
  shortcutInput: "Go to the input",
  shortcutStop: "Stop the answer, or close the chat",
  shortcutHelp: "This page",
  shortcutBar: "Move between the buttons below a message",
  shortcutRows: "Move between conversations",
  shortcutRename: "Rename",
  shortcutDelete: "Delete",
  shortcutUndo: "Take back",
};

/** The row that the signs of parts come before. */
const SIGNS_AT = 3;

/** @typedef {import("../words/strings.js").Strings & typeof SHORTCUT_WORDS} Words */
/** @type {[keyof typeof SHORTCUT_WORDS, [string, keyof typeof SHORTCUT_WORDS][]][]} */
const SECTIONS = [
  [
    "whileWriting",
    [
      ["Enter", "shortcutSend"],
      ["Shift+Enter", "shortcutLine"],
      ["/", "shortcutSkills"],
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
export async function showShortcuts({ host, panel, strings }) {
  /** @type {Words} */
  const words = { ...SHORTCUT_WORDS, ...strings };
  const signs = await signsOf(host, strings);
  const modules = await modulesFor(host, "thread");
  const keys = await Promise.all(modules.map(({ shortcuts }) => shortcuts?.(strings) ?? []));
  if (panel.querySelector(".shortcuts")) return;
  const close = iconButton("close", words.close, () => dialog.close());
  const look = { class: "shortcuts", part: "shortcuts", "aria-label": words.shortcuts };
  /** @type {HTMLDialogElement} */
  const dialog = h(
    "dialog", look,
    h("header", {}, h("h2", {}, words.shortcuts), close),
    ...SECTIONS.flatMap(([title, rows]) => {
      /** @type {[string, string][]} */
      const told = rows.map(([keys, name]) => [keys, words[name]]);
      if (title === "whileWriting") {
        told.splice(SIGNS_AT, 0, ...signs);
        told.push(...keys.flat());
      }
      return [h("h3", {}, words[title]), list(told)];
    }),
  );
  dialog.addEventListener("close", () => (release(), dialog.remove()));
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  panel.append(dialog);
  dialog.showModal();
  const release = closeOnBack(() => dialog.close());
}

/**
 * The signs behind which parts list something, and what that is.
 * @param {import("../agui-chat.d.ts").AguiChatElement} host
 * @param {import("../words/strings.js").Strings} strings
 */
async function signsOf(host, strings) {
  /** @type {[string, string][]} */
  const signs = [];
  for (const key of Object.keys(partModules(host))) {
    if (!key.startsWith("list:")) continue;
    const module = await moduleOf(host, /** @type {`list:${string}`} */ (key));
    const title = module?.titleOf(host, strings);
    if (title) signs.push([key.slice(5), title]);
  }
  return signs;
}

/** @param {[string, string][]} rows */
function list(rows) {
  const lines = rows.map(([keys, text]) =>
    h("div", {}, h("dt", {}, h("kbd", { dir: "ltr" }, keyNames(keys))), h("dd", {}, text)),
  );
  return h("dl", {}, ...lines);
}
