// @ts-check
/** Ask what was bad about an answer, in the user's own words if they like. */
import { h, iconButton } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";

const MAX_CHARS = 2000;
const STYLE = `
.feedback { align-items: center; border: 1px solid var(--_border); display: grid; gap: .5rem; }
.feedback { border-radius: var(--_large); grid-template-columns: 1fr auto auto; }
.feedback { padding-block: .6rem; padding-inline: 1rem .6rem; }
.feedback:focus-within {
  border-color: color-mix(in srgb, var(--_accent) 55%, var(--_border));
}
.feedback textarea { background: none; border: 0; field-sizing: content; line-height: 1.5; }
.feedback textarea { max-height: 40vh; min-width: 0; outline: 0; padding: 0; resize: none; }
.feedback textarea { width: 100%; }
.feedback .notice { grid-column: 1 / -1; margin: 0; }
`;

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
      "form", { class: "feedback answer-form", part: "feedback", "aria-live": "off" },
      input, button, iconButton("close", strings.cancel, () => close(false)), failed,
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
    adopt(this.element, STYLE);
    this.element.querySelector("textarea")?.focus();
  }
}
