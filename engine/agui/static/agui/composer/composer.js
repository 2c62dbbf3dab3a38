// @ts-check
/**
 * The input of the chat: its text, buttons to send and to stop, skills behind "/", and what parts
 * add to it.
 */
import { Actions } from "../catalog/actions.js";
import { Additions } from "./additions.js";
import { partsOf } from "./controls.js";
import { h, isTouch, setAttribute, setText } from "../dom/elements.js";
import { partModules } from "../dom/lazy.js";
import { format } from "../words/strings.js";

/** @typedef {import("../types.d.ts").Skill} Skill */
/** @typedef {import("../types.d.ts").Returned} Returned */
/** @typedef {import("../types.d.ts").SessionState} SessionState */
/**
 * @typedef {{
 *   strings: import("../words/strings.js").Strings, stop: () => void, editLast: () => boolean,
 *   keep: (draft: string) => void, host: import("../agui-chat.d.ts").AguiChatElement,
 *   send: (text: string, attachments?: import("../types.d.ts").Attachment[]) => boolean,
 *   client: import("../http/client.js").AgentClient, load: import("../dom/lazy.js").Load,
 *   memory: import("../types.d.ts").ThreadMemory, shortcuts: () => void, find: () => void,
 * }} Context
 */

/** From this width on, in pixels, the input shows a longer hint. */
const ROOMY = 440;

export class Composer {
  /** @type {string[] | undefined} what parts have, read once */
  #parts;
  #context;
  /** @type {Skill[]} */
  #skills = [];
  input;
  #send;
  #stop;
  #slash;
  #hint = h("p", { class: "hint", role: "status" });
  /** Around the text and the buttons. */
  box;
  #column;
  /** @type {import("./palette.js").Palette | undefined} */
  #palette;
  additions;
  #narrow = false;
  /** @type {SessionState} */
  #session = { busy: false, stopping: false, conversation: { status: "idle" } };
  /** The page's buttons. */
  actions = new Actions("composer", () => ({ text: this.text, fill: this.fill.bind(this) }));
  element;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const { input, stop, send, slash } = partsOf(context, {
      typed: () => this.#typed(),
      keydown: (event) => this.#keydown(event),
      left: () => this.#palette?.hide(),
      send: () => this.#submit(input.value),
      skills: () => this.#showSkills(),
    });
    this.input = input;
    this.#stop = stop;
    this.#send = send;
    this.#slash = slash;
    const { element: actions } = this.actions;
    this.box = h("div", { class: "composer-box" }, input, slash, actions, stop, send);
    this.box.addEventListener("click", ({ target }) => target === this.box && input.focus());
    this.#column = h("div", { class: "column" }, this.#hint, this.box);
    this.element = h("div", { class: "composer", part: "composer" }, this.#column);
    this.additions = new Additions(this, context);
    this.#changed();
    new ResizeObserver(([{ contentRect }]) => {
      if (this.#narrow === (this.#narrow = contentRect.width < ROOMY)) return;
      this.render(this.#session);
    }).observe(this.box);
  }

  /** @param {Skill[]} skills */
  set skills(skills) {
    this.#skills = skills;
    this.#slash.hidden = !skills.length;
    this.render(this.#session);
    if (this.hasFocus) this.#search(); // The user may have typed "/" before the skills arrived.
  }

  focus() {
    this.input.focus();
  }

  /** Focus the input, unless that opens a keyboard over half of the screen. */
  invite() {
    if (!isTouch()) this.focus();
  }

  get hasFocus() {
    return this.input.matches(":focus");
  }

  get text() {
    return this.input.value;
  }

  set text(text) {
    this.input.value = text;
    this.#changed();
    if (this.#mayList) this.#loadPalette();
  }

  empty() {
    this.text = "";
    this.additions.clear();
    this.additions.rest();
  }

  /** Put a text into the input, focus it and keep the draft. @param {string} text */
  write(text) {
    this.fill(text);
    this.focus();
    this.#context.keep(this.text);
  }

  /** Put a text into the input, and focus it. @param {string} text */
  fill(text) {
    this.#palette?.hide();
    this.text = text;
    this.invite();
    this.input.setSelectionRange(text.length, text.length);
  }

  /**
   * Use a skill: send its prompt, or put it into the input so that the user completes it.
   * @param {Skill} skill
   */
  async use(skill) {
    (await this.#loadPalette())?.use(skill, skill.sendImmediately ? "" : this.text.trim());
  }

  /** @param {SessionState} session */
  render(session) {
    const { strings } = this.#context;
    const { busy, stopping, queued, conversation } = session;
    this.#session = { busy, stopping, queued, conversation };
    const hasHint = this.#skills.length && !this.#narrow;
    const hint = hasHint ? format(strings.placeholderSkills, strings) : strings.placeholder;
    this.input.placeholder = conversation.status === "waiting" ? strings.placeholderWaiting : hint;
    setAttribute(this.element, "data-status", conversation.status);
    this.enable();
  }

  // --- Sending

  /** Show the right buttons, and enable those that can be used. */
  enable() {
    const { send, sendNext, queueFull } = this.#context.strings;
    const { busy, stopping, queued } = this.#session;
    const nothing = !this.text.trim() && !this.additions.attachments.length;
    const { held } = this.additions;
    const label = busy ? sendNext : send;
    if (!busy && this.#stop.matches(":focus")) this.invite();
    this.#stop.hidden = !busy;
    // A disabled button would lose the focus.
    setAttribute(this.#stop, "aria-disabled", stopping && "true");
    const isFull = busy && Boolean(queued);
    this.#send.hidden = busy && nothing;
    this.#send.disabled = nothing || Boolean(held);
    setAttribute(this.#send, "aria-disabled", isFull && "true"); // A press tells why.
    this.#send.ariaLabel = label;
    this.#send.title = held || (isFull ? queueFull : label);
  }

  /**
   * Send a message with all of its files or not at all. During a run, it waits.
   * @param {string} text
   */
  #submit(text) {
    const own = text === this.text;
    // The user must see first that a message denies the open questions.
    if (!own && this.#session.conversation.status === "waiting") return false;
    const { attachments, held } = this.additions;
    if (held || (own && this.#palette?.forgot())) return false;
    if (!this.#context.send(text, own ? attachments : [])) return false;
    if (!own) return true;
    this.additions.clear();
    this.#palette?.changed();
    this.fill("");
    this.#context.keep(this.text);
    return true;
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const { key, shiftKey } = event;
    if (!this.#palette?.takes(event)) {
      if (key === "Escape" && this.#session.busy) this.#context.stop();
      else if (key === "Enter" && !shiftKey) this.#enter(event);
      else if (key !== "ArrowUp" || this.text || !this.#context.editLast()) return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Send, or choose from the list if it was still loading. @param {KeyboardEvent} event */
  async #enter(event) {
    const palette = this.#palette ? undefined : await this.#search();
    if (!palette?.takes(event)) this.#submit(this.text);
  }

  #typed() {
    this.#changed();
    this.#context.keep(this.text);
    this.#palette?.changed();
    this.#search();
  }

  #changed() {
    this.enable();
    if (CSS.supports("field-sizing", "content")) return;
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
  }

  // --- What comes with its first use

  /** Whether the text has a sign, such as "@", behind which a part lists something. */
  get #mayList() {
    this.#parts ??= Object.keys(partModules(this.#context.host));
    return this.#parts.some((name) => /^list:/.test(name) && this.text.includes(name.slice(5)));
  }

  async #search() {
    const hasList = this.#mayList || this.text.trimStart().startsWith("/");
    // A list that is there follows at once: the next key may be Enter.
    if (hasList && !this.#palette) await this.#loadPalette();
    if (this.hasFocus) this.#palette?.search(this.#skills);
    return this.#palette;
  }

  /** Show all skills, for users of a touch screen or a mouse. */
  async #showSkills() {
    const palette = await this.#loadPalette();
    if (!palette?.element.hidden) return palette?.hide();
    this.invite();
    palette.show(this.#skills);
  }

  async #loadPalette() {
    const module = await this.#context.load(() => import("./palette.js"));
    if (module && !this.#palette) {
      const palette = new module.Palette(this.input, {
        ...this.#context,
        send: (text) => this.#submit(text),
        fill: (text) => this.write(text),
        hint: (text) => setText(this.#hint, text),
      });
      this.#column.prepend(palette.element);
      this.#palette = palette;
    }
    return this.#palette;
  }

  /** Put a rejected message back, before the current draft. @param {Returned} message */
  async giveBack({ content, metadata, isSignedOut }) {
    const given = String(content ?? "");
    const text = metadata ? await this.additions.restore(given, metadata) : given;
    this.fill([text, this.text].filter(Boolean).join("\n\n"));
    if (!isSignedOut) this.#context.keep(this.text);
  }

  /** Let the user edit a message again, before the current draft. @param {Returned} message */
  rewrite({ content, metadata }) {
    const { text } = this;
    this.text = "";
    this.giveBack({ content: [content, text].filter(Boolean).join("\n\n"), metadata });
  }
}
