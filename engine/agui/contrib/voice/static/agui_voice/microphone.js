// @ts-check
/** The microphone beside the button that sends. The first press loads what records. */
import { iconButton } from "../agui/dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const MICROPHONE_WORDS = { dictate: "Dictate" };

const MICROPHONE =
  "M12 3.5a3 3 0 0 1 3 3V11a3 3 0 0 1-6 0V6.5a3 3 0 0 1 3-3zM5.5 11a6.5 6.5 0 0 0 13 0M12 17.5V21";

/**
 * Let the user speak instead of writing.
 * @param {import("../agui/composer/composer.js").Composer} composer
 * @param {import("../agui/composer/composer.js").Context} context
 */
export function join(composer, context) {
  const { host, strings, load } = context;
  // Browsers offer microphones only to pages that are served securely.
  const canRecord = globalThis.MediaRecorder && navigator.mediaDevices;
  if (!host.dataset.transcribeUrl || !canRecord) return undefined;
  const { input, box } = composer;
  const { dictate } = { ...MICROPHONE_WORDS, ...strings };
  /** @type {import("./voice.js").Voice | undefined} */
  let voice;
  const press = async () => {
    const module = await load(() => import("./voice.js"));
    const invite = () => composer.invite();
    if (module) voice ??= new module.Voice({ ...context, box, button, input, invite });
    voice?.press();
  };
  const look = { part: "microphone", "aria-pressed": "false" };
  const button = iconButton("microphone", dictate, press, look, MICROPHONE);
  composer.actions.element.after(button);
  return { rest: () => voice?.discard() };
}
