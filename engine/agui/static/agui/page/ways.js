// @ts-check
/** The ways to what is around the messages, each loaded with its first use. */

/** @typedef {import("../types.d.ts").PageContext} Context */
/** @typedef {{ text: string, messageId: string }} Answer */

/** @type {WeakMap<HTMLElement, import("../threads/drawer.js").ThreadsDrawer>} of each chat */
const drawers = new WeakMap();

export const WAYS = {
  /** The list of conversations; null if it can't be had. @param {Context} context */
  async drawer(context) {
    const { host, panel, strings, memory, load } = context;
    const { client, session } = host;
    const module = await load(() => import("../threads/drawer.js"));
    if (!module) return null;
    const known = drawers.get(panel);
    if (known) return known;
    const drawer = new module.ThreadsDrawer({
      strings, memory, client, panel,
      newChat: () => host.newChat(),
      open: (threadId) => host.openThread(threadId),
      showFound: (...found) => WAYS.found(context, ...found),
      focus: () => host.focus(),
      href: (threadId) => memory.hrefOf(threadId),
      renamed: (threadId, title) => session.hear({ kind: "renamed", threadId, title }),
    });
    drawers.set(panel, drawer);
    let last = host.threadId;
    host.addEventListener("ag-ui-thread", ({ detail: { threadId } }) => {
      if (threadId === last) drawer.update(threadId); // It has another title.
      last = threadId;
    });
    session.addEventListener("heard", () => drawer.update(host.threadId));
    return drawer;
  },

  /** @param {Context} context */
  async shortcuts(context) {
    (await context.load(() => import("../finding/shortcuts.js")))?.showShortcuts(context);
  },

  /** @param {Context} context */
  async find(context) {
    (await context.load(() => import("../finding/find-bar.js")))?.openFindBar(context);
  },

  /** @param {Context} context */
  async commands(context) {
    (await context.load(() => import("../finding/commands.js")))?.openCommands(context);
  },

  /** @param {Context} context */
  async newChat({ host }) {
    host.newChat();
  },

  /** @param {Context} context */
  async input({ composer }) {
    composer.focus();
  },

  /**
   * @param {Context} context @param {import("../types.d.ts").FoundThread} found
   * @param {string} query
   */
  async found(context, found, query) {
    const module = await context.load(() => import("../finding/found-message.js"));
    await module?.showFound(context, found, query);
  },

  /** @param {Context} context @param {Answer} answer */
  async quote(context, answer) {
    (await context.load(() => import("./quoting.js")))?.quoteAnswer(context, answer);
  },

  /** @param {Context} context */
  async selection(context) {
    (await context.load(() => import("./quoting.js")))?.offerQuote(context);
  },

  /** @param {Context} context @param {Answer} answer */
  async aloud(context, answer) {
    (await context.load(() => import("./aloud.js")))?.readAloud(context, answer);
  },

  /** @param {Context} context */
  async models(context) {
    (await context.load(() => import("./model-picker.js")))?.offerModels(context);
  },

  /** The user looks at another tab while a run is on. @param {Context} context */
  async leave(context) {
    (await context.load(() => import("./background.js")))?.watch(context);
  },
};
