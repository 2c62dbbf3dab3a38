// @ts-check
/** Read an answer with a voice of the browser. */
import { phrasesOf } from "./speech-text.js";

/** @type {string | undefined} the message that is read */
let reading;

/**
 * Read an answer aloud, or stop if it is being read.
 * @param {import("../types.d.ts").PageContext} context
 * @param {{ text: string, messageId?: string }} about
 */
export function readAloud({ host, strings }, { text, messageId }) {
  const isStop = reading === messageId && speechSynthesis.speaking;
  speechSynthesis.cancel();
  reading = undefined;
  if (isStop) return;
  reading = messageId;
  for (const phrase of phrasesOf(text)) {
    const utterance = new SpeechSynthesisUtterance(phrase);
    utterance.lang = strings.lang;
    speechSynthesis.speak(utterance);
  }
  const stop = () => speechSynthesis.cancel();
  host.addEventListener("ag-ui-thread", stop, { once: true });
  addEventListener("pagehide", stop, { once: true });
}
