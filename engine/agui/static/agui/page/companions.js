// @ts-check
/**
 * What stands around the chat when it is wanted: the list of conversations, and the frame of a chat
 * that is a guest on another page. Each is loaded with its first use.
 */

import { lazy } from "../dom/lazy.js";

/** @typedef {import("../threads/drawer.js").ThreadsDrawer} ThreadsDrawer */
/** @typedef {import("./placement.js").Placement} Placement */

/** What a page asks for once it is visible is loaded first. */
const READY_MS = 2000;

export class Companions {
  #parts;
  #panel;
  #around;
  /** @type {ThreadsDrawer | undefined} */
  #drawer;
  /** @type {Placement | undefined} */
  #placement;

  /**
   * @param {import("./chat-page.js").Parts
   *   & { transcript: import("../messages/transcript.js").Transcript }} parts
   * @param {HTMLElement} panel @param {import("./around.js").Around} around
   */
  constructor(parts, panel, around) {
    this.#parts = parts;
    this.#panel = panel;
    this.#around = around;
    const { host, memory } = parts;
    const isFilling = !host.hasAttribute("placement");
    if (host.client.hasThreads && isFilling && memory.sidebar) this.#loadDrawer();
  }

  // --- The list of conversations

  async toggleThreads() {
    (await this.#loadDrawer())?.toggle();
  }

  /** The thread that is open, or its mark, has changed. */
  update() {
    this.#drawer?.update(this.#parts.host.session.threadId);
  }

  /** Does the list cover the chat? */
  get isModal() {
    return this.#drawer?.element.matches(":modal") ?? false;
  }

  /** The user has signed out. */
  forget() {
    this.#drawer?.forget();
  }

  async #loadDrawer() {
    const drawer = await this.#around.go("drawer");
    if (!drawer) return null;
    this.#drawer = drawer;
    this.update();
    return drawer;
  }

  /**
   * Load what must be there before it is needed, after the page itself. Call it once the panel is
   * shown: ready.js waits for the focus if the panel is hidden.
   */
  prepareSoon() {
    setTimeout(() => this.#makeReady(), READY_MS);
  }

  async #makeReady() {
    const module = await lazy(() => import("./ready.js"));
    module?.prepare(this.#panel, this.#parts, () => this.#loadDrawer());
  }

  // --- The frame

  /** Follow the attribute `placement`; without one the chat fills its own box. */
  async place() {
    const { host, strings } = this.#parts;
    if (this.#placement) return this.#placement.update();
    if (!host.hasAttribute("placement")) return;
    const module = await this.#around.load(() => import("./placement.js"));
    if (!module || this.#placement || !host.isConnected) return;
    const placement = new module.Placement(host, this.#panel, strings);
    this.#placement = placement;
    placement.connect();
  }

  connect() {
    this.place();
    this.#placement?.connect();
  }

  disconnect() {
    this.#placement?.disconnect();
  }
}
