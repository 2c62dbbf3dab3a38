// @ts-check
/** The tools and skills of the server, with their labels, and the tools and buttons of the page. */

/** @typedef {import("../agui-chat.d.ts").PageTool} PageTool */
/** @typedef {import("../types.d.ts").Skill} Skill */

export class Catalog {
  /** @type {Map<string, import("../types.d.ts").Tool>} each change makes a new map */
  tools = new Map();
  /**
   * @type {Map<string, import("../agui-chat.d.ts").Draw>} the page's own
   *   drawings, by type; also a new map after each change
   */
  activities = new Map();
  /**
   * @type {Map<string, import("../agui-chat.d.ts").Action>} the page's buttons; also a new map
   *   after each change
   */
  actions = new Map();
  /** @type {Map<string, PageTool>} */
  pageTools = new Map();

  /** @param {import("../agui-chat.d.ts").Action} action */
  addAction(action) {
    const { name, label, on, run } = action;
    const isPlace = ["answer", "composer", "header"].includes(on);
    if (!name || !label || !isPlace || typeof run !== "function") {
      const needs = 'a name, a label, a function "run", and is "on" answer, composer or header';
      throw new TypeError(`An action has ${needs}: ${name}`);
    }
    this.actions = new Map(this.actions).set(name, action);
  }

  /** @param {PageTool} tool */
  add(tool) {
    const { name, handler } = tool;
    if (!/^[\w-]{1,64}$/.test(name ?? "") || typeof handler !== "function") {
      throw new TypeError(
        `A tool has a name of letters, digits, _ and -, and a function as its handler: ${name}`,
      );
    }
    this.pageTools.set(name, tool);
    this.tools = new Map(this.tools).set(name, tool);
  }

  /**
   * Load the labels. Without them the chat shows the names of tools, and no skills.
   * @param {import("../http/client.js").AgentClient} client
   * @param {{ changed: () => void, showSkills: (skills: Skill[]) => void }} page
   */
  load(client, { changed, showSkills }) {
    /** @param {import("../types.d.ts").Tool[]} tools */
    const showTools = (tools) => {
      this.tools = new Map(tools.map((tool) => [tool.name, tool]));
      for (const [name, tool] of this.pageTools) this.tools.set(name, tool);
    };
    client.tools().then(showTools).then(changed, () => {});
    client.skills().then(showSkills).then(changed, () => {});
  }
}
