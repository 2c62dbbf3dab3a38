// @ts-check
/**
 * What happens around a session: the user's other tabs change its thread, the page wakes up, and
 * the user signs out. This module doesn't use the DOM.
 */

/** @typedef {import("../types.d.ts").ThreadChange} Message */
/**
 * What a session does for it. `abandon` drops the thread, and returns the message that was just
 * being sent.
 * @typedef {{
 *   wakeReader: (wake: Wake) => boolean, rename: (title: string) => void,
 *   abandon: () => import("../types.d.ts").Message | null,
 *   dispatch: (type: string, detail?: unknown) => void,
 * }} Inside
 */
/**
 * The page has come back after `awayMs`, or the network has.
 * @typedef {{ online: boolean, awayMs: number }} Wake
 */

const REFRESH_AFTER_MS = 30_000;

export class Surroundings {
  #session;
  #inside;
  #tabs;

  /**
   * @param {import("./session.js").Session} session @param {Inside} inside
   * @param {import("../http/client.js").AgentClient} client
   * @param {import("./tabs.js").Tabs} [tabs]
   */
  constructor(session, inside, client, tabs) {
    this.#session = session;
    this.#inside = inside;
    this.#tabs = tabs;
    client.addEventListener?.("refused", () => this.signOut());
    client.addEventListener?.("done", (event) => {
      const { detail } = /** @type {CustomEvent<Message>} */ (event);
      this.hear(detail);
      tabs?.tell(detail);
    });
  }

  /** @param {Wake} wake */
  wake(wake) {
    const session = this.#session;
    if (this.#inside.wakeReader(wake)) return;
    if (wake.online && session.conversation.error?.code === "connection_lost") session.retry();
    else if (wake.awayMs > REFRESH_AFTER_MS) session.refresh();
  }

  /** Handle a message of another tab. @param {Message} message */
  hear({ kind, threadId, title = "" }) {
    const session = this.#session;
    if (kind === "signed-out") return this.signOut({ told: true });
    if (kind === "here" || threadId !== session.threadId) return;
    if (kind === "removed") {
      session.reset();
      this.#inside.dispatch("left");
    } else if (kind === "renamed") this.#inside.rename(title);
    else session.refresh({ quietly: false });
  }

  /** Tell the user's other tabs of the open thread. @param {Message["kind"]} kind */
  tell(kind) {
    this.#tabs?.tell({ kind, threadId: this.#session.threadId });
  }

  /**
   * The user has signed out: drop everything of theirs, except the words that were just being sent.
   * @param {{ told?: boolean }} [options] told: by another tab
   */
  signOut({ told = false } = {}) {
    const message = this.#inside.abandon();
    this.#inside.dispatch("signed-out");
    if (!told) {
      this.tell("signed-out");
      if (message) this.#inside.dispatch("returned", { ...message, isSignedOut: true });
    }
    this.#session.fail({ code: "unauthorized" });
    this.#inside.dispatch("end");
  }
}
