// @ts-check
/** How users who are no longer signed in come back. */
import { h } from "../dom/elements.js";
import { SIGN_IN_WORDS } from "../words/sign-in-words.js";

/**
 * A link to sign in, in a new tab, so that this page keeps its draft.
 * @param {{ code?: string }} error @param {import("../words/strings.js").Strings} strings
 * @param {string} [url]
 */
export function signInLink({ code }, strings, url) {
  const { signIn } = { ...SIGN_IN_WORDS, ...strings };
  if (code !== "unauthorized" || !url) return null;
  return h("a", { href: url, target: "_blank", rel: "noopener" }, signIn);
}
