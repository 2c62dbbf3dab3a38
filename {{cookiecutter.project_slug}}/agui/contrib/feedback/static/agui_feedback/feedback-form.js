// @ts-check
/** Ask what was bad about an answer, in the user's own words if they like. */
import { h, iconButton } from "../agui/dom/elements.js";

const MAX_CHARS = 2000;

/** The words of this module. */
export const FEEDBACK_WORDS = {
  feedbackAsk: "What was wrong with it? (optional)",
  feedbackSend: "Send",
  feedbackThanks: "Thank you.",
  feedbackFailed: "This could not be saved.",
  cancel: "Cancel",
};

export class FeedbackForm {
  element;

  /**
   * @param {import("../agui/words/strings.js").Strings} words
   * @param {{ send: (comment: string) => Promise<boolean>, closed: (sent: boolean) => void }} hooks
   */
  constructor(words, { send, closed }) {
    /** @param {boolean} isSent */
    const close = (isSent) => {
      this.element.remove();
      closed(isSent);
    };
    const strings = { ...FEEDBACK_WORDS, ...words };
    const { feedbackAsk } = strings;
    const input = h("textarea", {
      rows: "1", dir: "auto", maxlength: MAX_CHARS,
      "aria-label": feedbackAsk, placeholder: feedbackAsk,
    });
    const failed = h("p", { class: "notice", role: "alert" });
    const button = h("button", { class: "button" }, strings.feedbackSend);
    this.element = h(
      "form", { class: "feedback", part: "feedback", "aria-live": "off" }, input, button,
      iconButton("close", strings.cancel, () => close(false)), failed,
    );
    this.element.addEventListener("submit", async (event) => {
      event.preventDefault();
      const comment = input.value.trim();
      button.disabled = true;
      if (!comment || (await send(comment))) return close(Boolean(comment));
      button.disabled = false;
      failed.textContent = strings.feedbackFailed;
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close(false);
      else if (event.key === "Enter" && !event.shiftKey && event.target === input)
        this.element.requestSubmit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  focus() {
    this.element.querySelector("textarea")?.focus();
  }
}
