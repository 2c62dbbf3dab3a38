// @ts-check
/** An empty chat: a greeting, and skills to start with. */
import { h, setText } from "../dom/elements.js";

/** @typedef {import("../types.d.ts").Skill} Skill */

export class Welcome {
  #title = h("h2", {});
  #description = h("p", {});
  #chips = h("div", { class: "chips" });
  #gone = h("p", { class: "gone", role: "status" });
  element = h(
    "div",
    { class: "welcome" },
    this.#gone,
    h("slot", { name: "welcome" }, this.#title, this.#description),
    this.#chips,
  );

  /** @param {import("./chat-page.js").Parts} parts */
  greet({ host, strings }) {
    setText(this.#title, host.getAttribute("title-text") ?? strings.greeting);
    const description = host.getAttribute("description-text") ?? strings.description;
    setText(this.#description, description);
  }

  /** Say why the page has begun a new chat. @param {string} text */
  tell(text) {
    setText(this.#gone, text);
  }

  /** @param {Skill[]} skills @param {(skill: Skill) => void} use */
  offer(skills, use) {
    const chips = skills.filter((skill) => skill.chip);
    this.#chips.replaceChildren(
      ...chips.map((skill) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            part: "chip",
            title: skill.description,
            onclick: () => use(skill),
          },
          skill.title,
        ),
      ),
    );
  }
}
