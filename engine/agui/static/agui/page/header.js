// @ts-check
/** The header of the chat: the list of conversations, a new one, and the page's own buttons. */
import { Actions } from "../catalog/actions.js";
import { h, iconButton } from "../dom/elements.js";

export class Header {
  #actions;
  element;

  /**
   * @param {import("../agui-chat.d.ts").AguiChatElement} host
   * @param {import("../words/strings.js").Strings} strings @param {() => unknown} toggleThreads
   */
  constructor(host, { threads, newChat, close, title }, toggleThreads) {
    const list = iconButton("threads", threads, toggleThreads, { "aria-haspopup": "dialog" });
    const collapse = { class: "icon-button collapse" };
    this.#actions = new Actions("header", () => ({ threadId: host.session.threadId }));
    this.element = h(
      "header",
      { class: "header", part: "header" },
      host.client.hasThreads && list,
      h("slot", { name: "header-start" }, h("span", { class: "title" }, title)),
      h("span", { class: "space" }),
      this.#actions.element,
      iconButton("compose", newChat, () => host.newChat()),
      h("slot", { name: "header-end" }),
      iconButton("close", close, () => host.toggle(true), collapse),
    );
  }

  /** @param {import("../catalog/catalog.js").Catalog} catalog */
  update(catalog) {
    this.#actions.update(catalog);
  }
}
