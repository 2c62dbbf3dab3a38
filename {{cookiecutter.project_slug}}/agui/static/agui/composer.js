// @ts-check
/** The input of the chat: text and files, send or stop, and the palette of skills behind "/". */
import { h, iconButton, isTouch, setAttribute, setText } from "./dom.js";
import { filePicker } from "./intake.js";
import { lazy } from "./lazy.js";

/** @typedef {{ name: string, title: string, description?: string, group?: string, prompt?: string, sendImmediately?: boolean, chip?: boolean }} Skill */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, stop: () => void, fail: () => void, editLast: () => boolean, keep: (draft: string) => void,
 *   send: (text: string, attachments?: import("./uploads.js").Attachment[]) => boolean,
 *   client: import("./client.js").AgentClient, host: any, style: () => Promise<any>,
 * }} Context
 */

/** From here on there is room for a longer hint, in pixels. */
const ROOMY = 440;

export class Composer {
  #context;
  /** @type {Skill[]} */
  #skills = [];
  #input;
  #send;
  #stop;
  #slash;
  #hint = h("p", { class: "hint", role: "status" });
  #box;
  #column;
  /** @type {import("./palette.js").Palette | undefined} */
  #palette;
  /** @type {import("./attachments.js").Attachments | undefined} the files of the message, once there was one */
  #files;
  #filesComing = false;
  #microphone;
  /** @type {import("./voice.js").Voice | undefined} */
  #voice;
  #narrow = false;
  /** @type {{ busy: boolean, stopping: boolean, queued?: any, conversation: { status: string } }} */
  #session = { busy: false, stopping: false, conversation: { status: "idle" } };
  element;

  /** @param {Context} context */
  constructor(context) {
    const { strings, client, host } = (this.#context = context);
    this.#input = h("textarea", {
      class: "input", part: "input", rows: "1", "aria-label": strings.messageLabel, placeholder: strings.placeholder,
      enterkeyhint: "send", dir: "auto", "aria-autocomplete": "list", "aria-haspopup": "listbox",
      oninput: () => (this.#changed(), this.#keep(), this.#palette?.changed(), this.#search()),
      onkeydown: (event) => this.#keydown(event),
      onblur: () => this.#palette?.hide(),
    });
    // The second click of a double click was meant for the button that was there before.
    this.#stop = iconButton("stop", strings.stop, ({ detail }) => detail > 1 || this.#context.stop(), { class: "icon-button send", part: "stop" });
    this.#send = iconButton("send", strings.send, () => this.#submit(this.#input.value), { class: "icon-button send", part: "send" });
    const keepsFocus = (event) => event.preventDefault();
    this.#slash = iconButton("slash", strings.skills, () => this.#showSkills(), {
      part: "skills", hidden: true, "aria-haspopup": "listbox", onpointerdown: keepsFocus, onmousedown: keepsFocus,
    });
    // Browsers have no devices for pages that are not served securely.
    const canRecord = host.dataset.transcribeUrl && globalThis.MediaRecorder && navigator.mediaDevices;
    this.#microphone = canRecord && iconButton("microphone", strings.dictate, () => this.#dictate(), { part: "microphone", "aria-pressed": "false" });
    const picker = client.attachmentsUrl ? filePicker(strings.attach, (files) => this.attach(files)) : [];
    this.#box = h("div", { class: "composer-box" }, ...picker, this.#slash, this.#input, this.#microphone, this.#stop, this.#send);
    this.#box.addEventListener("click", (event) => event.target === this.#box && this.#input.focus());
    this.#column = h("div", { class: "column" }, this.#hint, this.#box);
    this.element = h("div", { class: "composer", part: "composer" }, this.#column);
    this.#changed();
    new ResizeObserver(([{ contentRect }]) => {
      if (this.#narrow === (this.#narrow = contentRect.width < ROOMY)) return;
      this.render(this.#session);
    }).observe(this.#box);
  }

  /** @param {Skill[]} skills */
  set skills(skills) {
    this.#skills = skills;
    this.#slash.hidden = !skills.length;
    this.render(this.#session);
    if (this.hasFocus) this.#search(); // "/" may have been typed before they arrived
  }

  focus() {
    this.#input.focus();
  }

  /** Be ready for what is likely to come next, unless that brings up a keyboard over half of the screen. */
  invite() {
    if (!isTouch()) this.focus();
  }

  get hasFocus() {
    return this.#input.matches(":focus");
  }

  /** What is being written; setting it leaves the focus where it is. */
  get text() {
    return this.#input.value;
  }

  set text(text) {
    this.#input.value = text;
    this.#changed();
  }

  empty() {
    this.text = "";
    this.#files?.uploads.clear();
    this.hush();
  }

  /** Stop listening. */
  hush() {
    this.#voice?.discard();
  }

  /** Put a text into the input. @param {string} text */
  fill(text) {
    this.#palette?.hide();
    this.text = text;
    this.invite();
    this.#input.setSelectionRange(text.length, text.length);
  }

  /** Use a skill: send its prompt, or offer it to be completed, with what was written in it. @param {Skill} skill */
  async use(skill) {
    (await this.#loadPalette())?.use(skill, skill.sendImmediately ? "" : this.text.trim());
  }

  /** @param {{ busy: boolean, stopping: boolean, queued?: any, conversation: { status: string } }} session */
  render(session) {
    const { strings } = this.#context;
    const { busy, stopping, queued, conversation } = session;
    this.#session = { busy, stopping, queued, conversation };
    const waits = conversation.status === "waiting";
    this.#input.placeholder = waits ? strings.placeholderWaiting : this.#skills.length && !this.#narrow ? strings.placeholderSkills : strings.placeholder;
    setAttribute(this.element, "data-status", conversation.status);
    this.#judge();
  }

  // --- Sending

  /** Which buttons are there, and may they be used? */
  #judge() {
    const { send, sendNext, queueFull, filesOpen } = this.#context.strings;
    const { busy, stopping, queued, conversation } = this.#session;
    const nothing = !this.text.trim() && !this.#files?.uploads.ready.length;
    const held = this.#isHeld;
    const label = busy ? sendNext : send;
    if (!busy && this.#stop.matches(":focus")) this.invite();
    this.#stop.hidden = !busy;
    setAttribute(this.#stop, "aria-disabled", stopping && "true"); // a disabled one would lose the focus
    this.#send.hidden = busy && nothing;
    this.#send.disabled = nothing || held || conversation.status === "waiting" || (busy && Boolean(queued));
    this.#send.ariaLabel = label;
    this.#send.title = held ? filesOpen : busy && queued ? queueFull : label;
  }

  /** A message goes with all its files or not at all; while an answer is written it waits. @param {string} text */
  #submit(text) {
    const own = text === this.text;
    if (this.#isHeld || (own && this.#palette?.forgot())) return false;
    if (!this.#context.send(text, own ? this.#files?.uploads.ready : [])) return false;
    if (!own) return true;
    this.#files?.uploads.clear();
    this.#palette?.changed();
    this.fill("");
    this.#keep();
    return true;
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    if (event.isComposing || event.keyCode === 229) return; // Enter then accepts a word of an input method
    const { key, shiftKey } = event;
    if (!this.#palette?.takes(event)) {
      if (key === "Escape" && this.#session.busy) this.#context.stop();
      else if (key === "Enter" && !shiftKey) this.#submit(this.text);
      else if (key !== "ArrowUp" || this.text || !this.#context.editLast()) return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #keep() {
    this.#context.keep(this.text);
  }

  #changed() {
    this.#judge();
    if (CSS.supports("field-sizing", "content")) return;
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
  }

  // --- What comes with its first use

  async #search() {
    if (this.text.trimStart().startsWith("/")) await this.#loadPalette();
    if (this.hasFocus) this.#palette?.search(this.#skills);
  }

  /** All skills, for a finger or a mouse. */
  async #showSkills() {
    const palette = await this.#loadPalette();
    if (!palette?.element.hidden) return palette?.hide();
    this.invite();
    palette.show(this.#skills);
  }

  async #loadPalette() {
    const { Palette } = await this.#load(() => import("./palette.js"));
    if (Palette && !this.#palette) {
      const hooks = { send: (text) => this.#submit(text), fill: (text) => (this.fill(text), this.focus(), this.#keep()), hint: (text) => setText(this.#hint, text) };
      this.#palette = new Palette(this.#input, { strings: this.#context.strings, ...hooks });
      this.#column.prepend(this.#palette.element);
    }
    return this.#palette;
  }

  async #dictate() {
    const [{ Voice }] = await Promise.all([this.#load(() => import("./voice.js")), this.#context.style()]);
    if (Voice && !this.#voice) {
      this.#voice = new Voice({ ...this.#context, button: this.#microphone, input: this.#input, invite: () => this.invite() });
      this.#box.prepend(this.#voice.element);
    }
    this.#voice?.press();
  }

  /** A module, or nothing if it can't be had. @template T @param {() => Promise<T>} load @returns {Promise<Partial<T>>} */
  #load(load) {
    return lazy(load).catch(() => /** @type {any} */ (this.#context.fail()) ?? {});
  }

  /** Its files are not all there yet. */
  get #isHeld() {
    return this.#filesComing || Boolean(this.#files?.uploads.open);
  }

  /** Upload files for the message. @param {Iterable<File>} files */
  async attach(files) {
    (await this.#loadFiles())?.uploads.add(files);
    this.invite();
  }

  /** Offer a message again that was not taken, before what is being written by now. @param {any} message */
  async giveBack({ content, metadata, isSignedOut }) {
    const text = metadata ? (await this.#loadFiles())?.restore(content, metadata.attachments) : content;
    this.fill([text, this.#input.value].filter(Boolean).join("\n\n"));
    if (!isSignedOut) this.#keep();
  }

  async #loadFiles() {
    this.#filesComing = true;
    this.#judge();
    const { Attachments } = await this.#load(() => import("./attachments.js"));
    if (Attachments && !this.#files) {
      this.#files = new Attachments({ ...this.#context, focus: () => this.focus() });
      this.#files.uploads.addEventListener("change", () => this.#judge());
      this.#box.prepend(this.#files.element);
    }
    this.#filesComing = false;
    this.#judge();
    return this.#files;
  }
}
