// @ts-check
/** The card of a call that reads a file: the name of the file, and what was read of it. */
import { format } from "../agui/words/strings.js";

/** In English; the tables of other languages have these, too. */
export const READ_WORDS = {
  readFile: "Read {name}",
  readWhole: "The assistant was given the file as it is.",
};

/** @type {import("../agui/types.d.ts").CallModule["describeCall"]} */
export function describeCall({ args, status, result }, messages, strings) {
  const files = messages.flatMap(({ metadata }) => metadata?.attachments ?? []);
  const file = files.find((one) => one?.id === args.attachment_id);
  if (!file) return null;
  const words = { ...READ_WORDS, ...strings };
  const shown = status === "success" ? Object(result).text : result;
  return { label: format(words.readFile, { name: file.name }), shown: shown ?? words.readWhole };
}
