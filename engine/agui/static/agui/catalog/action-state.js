// @ts-check
/**
 * How the page's own buttons stand: there or not, usable, pressed, or failed. The first button that
 * says so loads this module.
 */
import { h, setAttribute } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";
import { format } from "../words/strings.js";

/** @typedef {import("../agui-chat.d.ts").Action} Action */

/** In English; the tables of other languages have these, too. */
export const ACTION_STATE_WORDS = { actionFailed: "“{action}” did not work." };

const SECONDS = 8;
const STYLE = `
[data-action][aria-disabled="true"] { cursor: default; opacity: .4; }
[data-action][aria-disabled="true"]:hover { background: none; color: var(--_muted); }
[data-action][aria-pressed="true"] { background: var(--_surface); color: var(--_accent); }
.action-failure { background: var(--_text); border-radius: var(--_radius); }
.action-failure { color: var(--_background); font-size: .92rem; inset-inline: .75rem; }
.action-failure { margin-inline: auto; max-width: max-content; overflow-wrap: anywhere; }
.action-failure { padding: .6rem .9rem; position: absolute; top: 4rem; z-index: 3; }
@media (forced-colors: active) { .action-failure { border: 1px solid; } }
`;

/** @typedef {import("../agui-chat.d.ts").About} About */
/** @typedef {Map<Action, HTMLElement>} Buttons */

/** @type {WeakSet<HTMLElement>} */
const watched = new WeakSet();

/**
 * Ask the page about its buttons.
 * @param {HTMLElement} element that they are in @param {Buttons} buttons @param {() => About} about
 */
export function showStates(element, buttons, about) {
  const isAnew = !watched.has(element);
  watched.add(element);
  if (isAnew) watch(element, buttons, about);
  for (const [action, button] of buttons) {
    adopt(button, STYLE);
    /** @param {"when" | "disabled" | "pressed"} name @param {boolean} otherwise */
    const ask = (name, otherwise) => {
      try {
        return action[name] ? Boolean(action[name](about())) : otherwise;
      } catch (error) {
        console.error("agui-chat:", error); // The failure is the page's, and the chat goes on.
        return false;
      }
    };
    show(button, ask("when", true));
    // A button that can't be used stays focusable: the arrow keys must reach those behind it.
    setAttribute(button, "aria-disabled", ask("disabled", false) ? "true" : null);
    setAttribute(button, "aria-pressed", action.pressed ? String(ask("pressed", false)) : null);
  }
}

/**
 * Press the buttons instead of their own listeners, and follow what the user types.
 * @param {HTMLElement} element @param {Buttons} buttons @param {() => About} about
 */
function watch(element, buttons, about) {
  const refresh = () => showStates(element, buttons, about);
  element.closest(".composer")?.addEventListener("input", refresh);
  /** @param {Event} event */
  const pressed = async (event) => {
    const target = /** @type {Element} */ (event.target).closest("button");
    for (const [action, button] of buttons) {
      if (button !== target) continue;
      event.stopImmediatePropagation();
      if (button.ariaDisabled !== "true") await press(action, button, about());
    }
    refresh();
  };
  element.addEventListener("click", pressed, { capture: true });
}

/** @param {HTMLElement} button @param {boolean} isThere */
function show(button, isThere) {
  button.hidden = !isThere;
  if (isThere || button.tabIndex) return;
  /** @type {HTMLElement | null | undefined} */
  const next = button.closest("[role=toolbar]")?.querySelector("button:not([hidden])");
  if (next) [button.tabIndex, next.tabIndex] = [-1, 0];
}

/**
 * Do what a button does; if that fails, the chat says so.
 * @param {Action} action @param {Element} button @param {About} about
 */
async function press(action, button, about) {
  try {
    await action.run(about);
  } catch (error) {
    console.error("agui-chat:", error);
    tellFailure(button, action.label);
  }
}

/** @param {Element} button @param {string} label */
function tellFailure(button, label) {
  const root = button.getRootNode();
  const panel = button.closest(".panel");
  if (!(root instanceof ShadowRoot) || !panel) return;
  const host = /** @type {import("../agui-chat.d.ts").AguiChatElement} */ (root.host);
  const words = { ...ACTION_STATE_WORDS, ...host.strings };
  adopt(panel, STYLE);
  panel.querySelector(".action-failure")?.remove();
  const notice = h("p", { class: "action-failure", role: "alert" });
  panel.append(notice);
  notice.textContent = format(words.actionFailed, { action: label });
  setTimeout(() => notice.remove(), SECONDS * 1000);
}
