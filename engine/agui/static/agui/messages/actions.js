// @ts-check
/**
 * The toolbars below complete messages: one below each answer, and one below each message of the
 * user.
 */
import { AnswerBar } from "./answer-bar.js";
import { reconcile } from "../dom/keyed.js";
import { isPrompt, textOf, turnsOf } from "../conversation/messages.js";
import { PromptBar } from "./prompt-bar.js";

/** @typedef {import("../types.d.ts").MessageContext} Context */
/** @typedef {import("./toolbar.js").Shown} Shown */

export class MessageActions {
  #context;
  /** @type {Map<string, PromptBar | AnswerBar>} */
  #bars = new Map();
  /** @type {Element | null} */
  #near = null;
  #observer;

  #joins;

  /**
   * @param {Context} context @param {HTMLElement} list
   * @param {import("../types.d.ts").AnswerModule[]} joins modules that add to answers' toolbars
   */
  constructor(context, list, joins) {
    this.#context = context;
    this.#joins = joins;
    // A long conversation has thousands of toolbars, so their buttons are made when they scroll
    // near.
    /** @param {IntersectionObserverEntry[]} entries */
    const fill = (entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) this.#fill(target);
    };
    this.#observer = new IntersectionObserver(fill, {
      root: list.closest(".log"),
      rootMargin: "100%",
    });
    list.addEventListener("pointerover", ({ target }) =>
      this.#point(/** @type {Element} */ (target)),
    );
    list.addEventListener("pointerleave", () => this.#point(null));
  }

  /** @type {import("./extras.js").Extra["render"]} */
  render(session, views, messages) {
    const { status, failures } = session.conversation;
    const idle = !session.busy && !session.loading && status !== "waiting";
    const turns = turnsOf(messages);
    /** @type {import("../types.d.ts").Message[]} the same answer before a message inside it */
    let before = [];
    const wanted = turns.flatMap((turn, index) => {
      const isLast = index === turns.length - 1;
      const shown = { session, turn, isLast, idle };
      const next = turns[index + 1]?.prompt;
      const goesOn = next && !isPrompt(next);
      const parts = [...before, ...turn.parts];
      before = goesOn ? parts : [];
      const prompt = turn.prompt && views.get(turn.prompt.id)?.element;
      const last = turn.parts.findLast(
        ({ id, content, toolCalls }) => views.has(id) && (textOf(content) || toolCalls),
      );
      const end = last ? views.get(last.id)?.element : prompt;
      // If a turn has no answer, the notice of the failure has the retry button.
      // The user has sent another message before the answer, which is to both.
      const isLater = !last && !isLast && !failures[turn.prompt?.id ?? ""];
      const isOpen = isLast && (!idle || (!last && status === "failed"));
      const isComplete = end && !goesOn && !isLater && !isOpen;
      return [
        ...(prompt ? [{ Kind: PromptBar, shown, place: prompt }] : []),
        ...(isComplete
          ? [{ Kind: AnswerBar, shown: { ...shown, turn: { ...turn, parts } }, place: end }]
          : []),
      ];
    });
    const bars = reconcile(this.#bars, wanted, {
      key: ({ Kind, shown }) => `${Kind === PromptBar} ${shown.turn.prompt?.id}`,
      make: ({ Kind }) => this.#make(Kind),
      drop: (bar) => this.#drop(bar),
    });
    for (const [index, { Kind, shown, place }] of wanted.entries()) {
      const { element } = bars[index];
      bars[index].show(shown);
      if (Kind === AnswerBar && place.nextElementSibling !== element) place.after(element);
      if (Kind === PromptBar && element.parentElement !== place) place.append(element);
    }
  }

  /** @param {typeof PromptBar | typeof AnswerBar} Kind @returns {PromptBar | AnswerBar} */
  #make(Kind) {
    const context = this.#context;
    const bar = Kind === PromptBar ? new Kind(context) : new AnswerBar(context, this.#joins);
    this.#observer.observe(bar.element);
    return bar;
  }

  /** @param {PromptBar | AnswerBar} bar */
  #drop(bar) {
    this.#observer.unobserve(bar.element);
    bar.remove();
  }

  /** @param {Element} target */
  #fill(target) {
    this.#observer.unobserve(target);
    for (const bar of this.#bars.values()) if (bar.element === target) bar.fill();
  }

  /** Show the toolbar of the answer that the pointer is over. @param {Element | null} target */
  #point(target) {
    let near = target?.closest(".messages > *") ?? null;
    while (near && !near.matches(".actions, .user")) near = near.nextElementSibling;
    if (near === this.#near) return;
    this.#near?.classList.remove("near");
    near?.classList.add("near");
    this.#near = near;
  }
}
