// @ts-check
/** What users find around the messages, each loaded with its first use. */

/** @typedef {import("../types.d.ts").PageContext} Context */

const QUOTE = "M6 16.5c2.5-1 3.5-3 3.5-5H5V6.5h5.5v5M15 16.5c2.5-1 3.5-3 3.5-5H14V6.5h5.5v5";
const SPEAKER = "M4 10v4h3.5l5 4V6l-5 4zM16 9a4.2 4.2 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11";

export class Around {
  #context;
  #stop = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const { catalog, host, strings, log } = context;
    catalog.register("action quote", {
      name: "quote", label: strings.quote, icon: QUOTE, on: "answer",
      run: (about) => this.#quote((module) => module.quoteAnswer(context, about)),
    });
    if (globalThis.speechSynthesis) {
      catalog.register("action aloud", {
        name: "aloud", label: strings.readAloud, icon: SPEAKER, on: "answer",
        run: async (about) =>
          (await context.load(() => import("./aloud.js")))?.readAloud(context, about),
      });
    }
    if (host.dataset.models) this.#offerModels();
    const select = () => {
      if (`${getSelection()}`.trim()) this.#quote((module) => module.offerQuote(context));
    };
    for (const type of ["pointerup", "keyup"]) log.addEventListener(type, select);
  }

  connect() {
    const { signal } = (this.#stop = new AbortController());
    document.addEventListener("keydown", (event) => this.#keydown(event), { signal });
    document.addEventListener("visibilitychange", () => this.#leave(), { signal });
  }

  disconnect() {
    this.#stop.abort();
  }

  async shortcuts() {
    const module = await this.#context.load(() => import("./shortcuts.js"));
    module?.showShortcuts(this.#context);
  }

  /** A key counts that is pressed in the chat, or nowhere, and that nobody else has handled. */
  #keydown(/** @type {KeyboardEvent} */ event) {
    const [target] = /** @type {Element[]} */ (event.composedPath());
    const isHere = target === document.body || event.composedPath().includes(this.#context.panel);
    if (event.key !== "?" || !isHere || event.defaultPrevented) return;
    if (target.matches("input, textarea, select") || !this.#context.panel.offsetParent) return;
    event.preventDefault();
    this.shortcuts();
  }

  /** The user looks at another tab while a run is on. */
  async #leave() {
    const { host, load } = this.#context;
    if (!document.hidden || !host.session.busy) return;
    (await load(() => import("./background.js")))?.watch(this.#context);
  }

  async #offerModels() {
    (await this.#context.load(() => import("./model-picker.js")))?.offerModels(this.#context);
  }

  /** @param {(module: typeof import("./quoting.js")) => void} use */
  async #quote(use) {
    const module = await this.#context.load(() => import("./quoting.js"));
    if (module) use(module);
  }
}
