// @ts-check
/** The tools and skills of the server, with their labels, and what the page has registered. */

/** @typedef {import("../agui-chat.d.ts").PageTool} PageTool */
/** @typedef {import("../types.d.ts").Skill} Skill */
/** @typedef {import("../types.d.ts").Seams} Seams */

export class Catalog {
  /** @type {Map<string, import("../types.d.ts").Tool>} each change makes a new map */
  tools = new Map();
  /**
   * What the page draws, and its buttons, by kind and name. Each change makes a new map.
   * @type {Seams}
   */
  seams = new Map();
  /** @type {Map<string, PageTool>} */
  pageTools = new Map();
  /**
   * What only pages with something of their own need, once it is loaded.
   * @type {import("../types.d.ts").Own | undefined}
   */
  own;
  #changed;

  /** @param {() => void} changed called after each change */
  constructor(changed) {
    this.#changed = changed;
  }

  /**
   * Register what the page draws. Returns a function that takes it back, unless something else has
   * the name by then.
   * @param {unknown} name @param {import("../types.d.ts").Seam} seam
   */
  register(name, seam) {
    this.put([...this.seams, [name, seam]]);
    return () => this.put([...this.seams].filter(([key, own]) => key !== name || own !== seam));
  }

  /** @param {Iterable<[unknown, import("../types.d.ts").Seam]>} seams */
  put(seams) {
    this.seams = new Map(seams);
    this.#changed();
  }

  /** @param {PageTool} tool */
  add(tool) {
    const { name, handler } = tool;
    if (!/^[\w-]{1,64}$/.test(name ?? "") || typeof handler !== "function") {
      throw new TypeError(`A tool has a name of letters, digits, _ and -, and a handler: ${name}`);
    }
    this.pageTools.set(name, tool);
    this.tools = new Map(this.tools).set(name, tool);
    this.#changed();
  }

  /**
   * Load the labels. Without them the chat shows the names of tools, and no skills.
   * @param {import("../http/client.js").AgentClient} client
   * @param {(skills: Skill[]) => void} showSkills
   */
  load(client, showSkills) {
    /** @param {import("../types.d.ts").Tool[]} tools */
    const showTools = (tools) => {
      this.tools = new Map(tools.map((tool) => [tool.name, tool]));
      for (const [name, tool] of this.pageTools) this.tools.set(name, tool);
    };
    client.tools().then(showTools).then(this.#changed, () => {});
    client.skills().then(showSkills).then(this.#changed, () => {});
  }
}

/**
 * The name of an action, or an error that says what it lacks.
 * @param {import("../agui-chat.d.ts").Action} action
 */
export function checkedName({ name, label, on, run }) {
  const isPlace = /^(answer|composer|header)$/.test(on);
  if (name && label && isPlace && typeof run === "function") return name;
  throw new TypeError(`An action has a name, a label, run and on: ${name}`);
}
