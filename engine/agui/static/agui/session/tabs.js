// @ts-check
/** Messages between the tabs of a user: a thread has changed or is gone, or nobody is signed in. */

/** @typedef {import("../types.d.ts").ThreadChange} Message */

export class Tabs {
  /** @type {BroadcastChannel | undefined} */
  #channel;
  #user = "";

  /** @param {string} endpoint @param {string} user @param {(message: Message) => void} hear */
  open(endpoint, user, hear) {
    this.#user = user;
    this.#channel = new BroadcastChannel(`agui-chat:${endpoint}`);
    this.#channel.onmessage = ({ data }) => {
      if (data.user === user) hear(data);
      // Another user is signed in now, so this tab must not show the first one's threads any
      // longer.
      else if (data.kind === "here") hear({ kind: "signed-out" });
    };
    this.tell({ kind: "here" });
  }

  /** @param {Message} message */
  tell(message) {
    this.#channel?.postMessage({ ...message, user: this.#user });
  }

  close() {
    this.#channel?.close();
    this.#channel = undefined;
  }
}
