// @ts-check
/** Announce a run to screen readers, because the log itself is silent while text streams in. */
import { h, setText } from "../dom/elements.js";
import { openText } from "../tools/names.js";

export class RunStatus {
  element = h("p", { class: "visually-hidden", role: "status" });
  #wasBusy = false;

  /**
   * @param {import("../session/session.js").Session} session
   * @param {import("../words/strings.js").Strings} strings
   */
  update({ busy, conversation }, strings) {
    const { status, steps, interrupts } = conversation;
    const hasEnded = this.#wasBusy || this.element.textContent;
    this.#wasBusy ||= busy;
    let text = hasEnded ? strings.answered : "";
    if (busy) text = steps.at(-1) ?? strings.answering;
    if (["failed", "stopped"].includes(status)) text = "";
    if (status === "waiting") text = strings[openText(interrupts[0])];
    setText(this.element, text);
  }
}
