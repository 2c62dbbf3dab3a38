// @ts-check
/** How users who are no longer signed in come back. */
import { h } from "../dom/elements.js";

/**
 * A link to sign in, in a new tab, so that this page keeps its draft.
 * @param {{ code?: string }} error @param {{ signIn: string }} strings @param {string} [url]
 */
export function signInLink({ code }, { signIn }, url) {
  if (code !== "unauthorized" || !url) return null;
  return h("a", { href: url, target: "_blank", rel: "noopener" }, signIn);
}
