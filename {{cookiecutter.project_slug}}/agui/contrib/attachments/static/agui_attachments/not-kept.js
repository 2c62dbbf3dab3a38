// @ts-check
/** Below an answer: tell that not every image of it is kept. */
import { tell } from "./left-out.js";

/** In English; the tables of other languages have these, too. */
export const NOT_KEPT_WORDS = {
  imagesNotKept: "Not every image of this answer is kept: there are too many, or one is too large.",
};

/** @type {import("../agui/types.d.ts").MetadataModule["show"]} */
export function show(answer, _, { strings }) {
  tell(answer, "not-kept", { ...NOT_KEPT_WORDS, ...strings }.imagesNotKept);
}
