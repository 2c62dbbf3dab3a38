// @ts-check
/** The card of a call that reads a file: the name of the file, and what was read of it. */
import { h } from "../agui/dom/elements.js";
import { parse, readable, resultView } from "../agui/tools/values.js";
import { format } from "../agui/words/strings.js";

/** In English; the tables of other languages have these, too. */
export const READ_WORDS = {
  readFile: "Read {name}",
  readWhole: "The assistant was given the file as it is.",
};

/**
 * @param {import("../agui/types.d.ts").ToolCall} call
 * @param {import("../agui/types.d.ts").Call} state
 * @param {import("../agui/types.d.ts").Message[]} messages which may have the file
 * @param {import("../agui/words/strings.js").Strings} strings
 */
export function describeCall(call, { status, result }, messages, strings) {
  const id = parse(call.function.arguments)?.attachment_id;
  const files = messages.flatMap(({ metadata }) => metadata?.attachments ?? []);
  const file = files.find((one) => one?.id === id);
  if (!file) return null;
  const words = { ...READ_WORDS, ...strings };
  const parts = () => {
    if (result === undefined) return [];
    const page = /** @type {{ text?: unknown } | null} */ (readable(result));
    const text = status === "success" ? page?.text : result;
    if (text === undefined) return [h("p", { class: "muted" }, words.readWhole)];
    return [resultView(text, strings)];
  };
  return { label: format(words.readFile, { name: file.name }), parts };
}
