// @ts-check
/**
 * The input of the chat: text and files, buttons to send and to stop, and the palette of skills
 * behind "/".
 */
import { Actions } from "./actions.js";
import { h, iconButton, isTouch, setAttribute, setText } from "./dom.js";
import { filePicker } from "./intake.js";

/** @typedef {{ name: string, title: string, description?: string, group?: string, prompt?: string, sendImmediately?: boolean, chip?: boolean }} Skill */
/**
 * A message for the input.
 * @typedef {{ content?: any, metadata?: import("./types.d.ts").Metadata, isSignedOut?: boolean }}
 *   Returned
 */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, stop: () => void, editLast: () => boolean, keep: (draft: string) => void,
 *   send: (text: string, attachments?: import("./uploads.js").Attachment[]) => boolean,
 *   client: import("./client.js").AgentClient, host: any, load: import("./lazy.js").Load,
 *   shortcuts: () => void, memory: import("./thread-memory.js").ThreadMemory,
 * }} Context
 */

/** From this width on, in pixels, the input shows a longer hint. */
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
  /** @type {import("./attachments.js").Attachments | undefined} the files of the message, after the first one */
  #files;
  #filesComing = false;
  #microphone;
  /** @type {import("./voice.js").Voice | undefined} */
  #voice;
  #narrow = false;
  /** @type {{ busy: boolean, stopping: boolean, queued?: object | null, conversation: { status: string } }} */
  #session = { busy: false, stopping: false, conversation: { status: "idle" } };
  /** The page's buttons. */
  actions = new Actions("composer", () => ({ text: this.text, fill: this.fill.bind(this) }));
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
    // The second click of a double click was meant for the previous button.
    this.#stop = iconButton("stop", strings.stop, ({ detail }) => detail > 1 || this.#context.stop(), { class: "icon-button send", part: "stop" });
    this.#send = iconButton("send", strings.send, () => this.#submit(this.#input.value), { class: "icon-button send", part: "send" });
    const keepsFocus = (/** @type {Event} */ event) => event.preventDefault();
    this.#slash = iconButton("slash", strings.skills, () => this.#showSkills(), {
      part: "skills", hidden: true, "aria-haspopup": "listbox", onpointerdown: keepsFocus, onmousedown: keepsFocus,
    });
    // Browsers offer microphones only to pages that are served securely.
    const canRecord = host.dataset.transcribeUrl && globalThis.MediaRecorder && navigator.mediaDevices;
    this.#microphone = canRecord && iconButton("microphone", strings.dictate, () => this.#dictate(), { part: "microphone", "aria-pressed": "false" });
    const picker = client.attachmentsUrl ? filePicker(strings.attach, (files) => this.attach(files)) : [];
    this.#box = h("div", { class: "composer-box" }, this.#input, ...picker, this.#slash, this.actions.element, this.#microphone, this.#stop, this.#send);
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
    if (this.hasFocus) this.#search(); // The user may have typed "/" before the skills arrived.
  }

  focus() {
    this.#input.focus();
  }

  /** Focus the input, unless that opens a keyboard over half of the screen. */
  invite() {
    if (!isTouch()) this.focus();
  }

  get hasFocus() {
    return this.#input.matches(":focus");
  }

  /** The text in the input. Setting it does not move the focus. */
  get text() {
    return this.#input.value;
  }

  set text(text) {
    this.#input.value = text;
    this.#changed();
    if (this.#mayMention) this.#loadPalette();
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

  /** Put a text into the input, focus it and keep the draft. @param {string} text */
  write(text) {
    this.fill(text);
    this.focus();
    this.#keep();
  }

  /** Put a text into the input, and focus it. @param {string} text */
  fill(text) {
    this.#palette?.hide();
    this.text = text;
    this.invite();
    this.#input.setSelectionRange(text.length, text.length);
  }

  /** Use a skill: send its prompt, or put it into the input so that the user completes it. @param {Skill} skill */
  async use(skill) {
    (await this.#loadPalette())?.use(skill, skill.sendImmediately ? "" : this.text.trim());
  }

  /** @param {{ busy: boolean, stopping: boolean, queued?: object | null, conversation: { status: string } }} session */
  render(session) {
    const { strings } = this.#context;
    const { busy, stopping, queued, conversation } = session;
    this.#session = { busy, stopping, queued, conversation };
    const waits = conversation.status === "waiting";
    this.#input.placeholder = waits ? strings.placeholderWaiting : this.#skills.length && !this.#narrow ? strings.placeholderSkills : strings.placeholder;
    setAttribute(this.element, "data-status", conversation.status);
    this.#enable();
  }

  // --- Sending

  /** Show the right buttons, and enable those that can be used. */
  #enable() {
    const { send, sendNext, queueFull, filesOpen } = this.#context.strings;
    const { busy, stopping, queued, conversation } = this.#session;
    const nothing = !this.text.trim() && !this.#files?.uploads.ready.length;
    const held = this.#isHeld;
    const label = busy ? sendNext : send;
    if (!busy && this.#stop.matches(":focus")) this.invite();
    this.#stop.hidden = !busy;
    setAttribute(this.#stop, "aria-disabled", stopping && "true"); // A disabled button would lose the focus.
    this.#send.hidden = busy && nothing;
    this.#send.disabled = nothing || held || conversation.status === "waiting" || (busy && Boolean(queued));
    this.#send.ariaLabel = label;
    this.#send.title = held ? filesOpen : busy && queued ? queueFull : label;
  }

  /** Send a message with all of its files or not at all. It waits until the current answer is complete. @param {string} text */
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
    if (event.isComposing || event.keyCode === 229) return; // Here Enter accepts a word of an input method.
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
    this.#enable();
    if (CSS.supports("field-sizing", "content")) return;
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
  }

  // --- What comes with its first use

  get #mayMention() {
    return this.#context.host.dataset.mentionsUrl && this.text.includes("@");
  }

  async #search() {
    if (this.#mayMention || this.text.trimStart().startsWith("/")) await this.#loadPalette();
    if (this.hasFocus) this.#palette?.search(this.#skills);
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
      const palette = new module.Palette(this.#input, {
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

  async #dictate() {
    const module = await this.#context.load(() => import("./voice.js"));
    if (module && !this.#voice) {
      const invite = () => this.invite();
      const voice = new module.Voice({ ...this.#context, button: this.#microphone, input: this.#input, invite });
      this.#box.prepend(voice.element);
      this.#voice = voice;
    }
    this.#voice?.press();
  }

  /** Tell the user that files are still uploading. */
  get #isHeld() {
    return this.#filesComing || Boolean(this.#files?.uploads.open);
  }

  /** Upload files for the message. @param {Iterable<File>} files */
  async attach(files) {
    (await this.#loadFiles())?.uploads.add(files);
    this.invite();
  }

  /** Put a rejected message back, before the current draft. @param {Returned} message */
  async giveBack({ content, metadata, isSignedOut }) {
    const text = metadata?.attachments ? (await this.#loadFiles())?.restore(content, metadata.attachments) : content;
    this.fill([text, this.#input.value].filter(Boolean).join("\n\n"));
    if (!isSignedOut) this.#keep();
  }

  /** Let the user edit a message again, before the current draft. @param {Returned} message */
  rewrite({ content, metadata }) {
    const { text } = this;
    this.text = "";
    this.giveBack({ content: [content, text].filter(Boolean).join("\n\n"), metadata });
  }

  async #loadFiles() {
    this.#filesComing = true;
    this.#enable();
    const module = await this.#context.load(() => import("./attachments.js"));
    if (module && !this.#files) {
      const files = new module.Attachments({ ...this.#context, focus: () => this.focus() });
      files.uploads.addEventListener("change", () => this.#enable());
      this.#box.prepend(files.element);
      this.#files = files;
    }
    this.#filesComing = false;
    this.#enable();
    return this.#files;
  }
}
