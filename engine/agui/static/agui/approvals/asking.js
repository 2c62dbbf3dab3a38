// @ts-check
/** Questions of the agent: the first one loads the modules that show them. */
import { lazy } from "../dom/lazy.js";

export class Asking {
  /** @type {typeof import("./question.js").Question | null} */
  Question = null;
  #isLoading = false;
  #wasAsked = false;

  /**
   * Load everything that shows questions at once, because a question takes the focus.
   * @param {{ style: () => Promise<unknown>, loaded: () => void, missing: () => void }} page
   */
  async load({ style, loaded, missing }) {
    if (this.Question || this.#isLoading) return;
    this.#isLoading = true;
    const [question, ...others] = await Promise.all([
      lazy(() => import("./question.js")),
      lazy(() => import("./standing-questions.js")),
      lazy(() => import("./answer-form.js")),
      lazy(() => import("../tools/card.js")),
      // What several of these share, which a slow network would otherwise bring only after them.
      lazy(() => import("./guard.js")),
      lazy(() => import("./seen.js")),
      lazy(() => import("../json/exact.js")),
      lazy(() => import("../json/schema-parts.js")),
      lazy(() => import("../tools/item-name.js")),
      style(),
    ]);
    this.#isLoading = false;
    if (!question || others.includes(null)) return missing();
    this.Question = question.Question;
    loaded();
  }

  /** Whether the agent asks something, and the page can show it. @param {boolean} asks */
  begins(asks) {
    const isAsked = asks && this.Question !== null;
    const begins = isAsked && !this.#wasAsked;
    this.#wasAsked = isAsked;
    return begins;
  }
}
