// @ts-check
/**
 * The microphone: record speech, let the server transcribe it, and put the text into the input.
 * Only the user sends it. The first use loads this module with its texts.
 */
import { h, icon, iconButton, setAttribute, setText } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";
import { signInLink } from "../agui/page/sign-in.js";
import { format } from "../agui/words/strings.js";
import { clockOf, spaced, waitOf } from "./spoken.js";
import { VOICE_STYLE } from "./voice-style.js";

/** In English; the tables of other languages have these, too. */
export const VOICE_WORDS = {
  endRecording: "End the recording",
  discardRecording: "Discard (Esc)",
  dismiss: "Dismiss",
  microphoneAsked: "Allow the microphone in the browser",
  recording: "Recording",
  transcribing: "Transcribing what you said…",
  recordingDiscarded: "The recording was discarded.",
  microphone_denied: "The browser doesn't let this page use the microphone.",
  no_microphone: "No working microphone was found.",
  not_understood: "Nothing was understood.",
  recording_too_long: "The recording is too long.",
  not_transcribed: "The recording could not be transcribed.",
  too_many_recordings: "Too many recordings in a short time. Try again in {time}.",
};

/** @typedef {import("../agui/words/strings.js").Strings & typeof VOICE_WORDS} Words */
/**
 * @typedef {{
 *   strings: import("../agui/words/strings.js").Strings, button: HTMLElement,
 *   input: HTMLTextAreaElement,
 *   host: import("../agui/agui-chat.d.ts").AguiChatElement, invite: () => void, box: HTMLElement,
 * }} Context `box`: where the recording is shown
 */
/** @typedef {"asking" | "recording" | "transcribing" | "failed" | null} State */

const MAX_SECONDS = 5 * 60;
/** Plenty for speech. */
const BITS_PER_SECOND = 48_000;

export class Voice {
  #context;
  /** @type {Words} */
  #words;
  /** @type {State} */
  #state = null;
  /** Aborts the current work. */
  #abort = new AbortController();
  /** @type {MediaRecorder | undefined} */
  #recorder;
  /** @type {Blob | undefined} the recording that could not be sent, and may be sent again */
  #unsent;
  #status = h("p", { role: "status" });
  #clock = h("span", { role: "timer" });
  #sign = h("span", { class: "sign" });
  #dots = h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
  #retry;
  #close;
  /** The look of the microphone before it was pressed. */
  #idle;
  element;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const { retry, discardRecording } = (this.#words = { ...VOICE_WORDS, ...context.strings });
    this.#idle = { label: context.button.title, icon: [...context.button.children] };
    const onclick = () => this.#again();
    this.#retry = h("button", { type: "button", class: "button", onclick }, retry);
    this.#close = iconButton("close", discardRecording, () => this.#leave());
    this.element = h(
      "div", { class: "voice" },
      this.#dots, this.#sign, this.#clock, this.#status, this.#retry, this.#close,
    );
    context.box.prepend(this.element);
    adopt(this.element, VOICE_STYLE);
    this.#show(null);
  }

  /**
   * Begin a recording, or end it and transcribe it. Does nothing while it waits for the user or the
   * server.
   */
  press() {
    if (this.#state === "recording") this.#end();
    else if (this.#context.button.isConnected && [null, "failed"].includes(this.#state))
      this.#begin();
  }

  /** Stop, and forget the recording. */
  discard() {
    this.#abort.abort();
    this.#unsent = undefined;
    this.#show(null);
  }

  // --- Recording

  async #begin() {
    const signal = this.#start();
    this.#show("asking", this.#words.microphoneAsked);
    /** @type {MediaStream | undefined} */
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      if (signal.aborted) silence(stream);
      else this.#record(stream, signal);
    } catch (error) {
      silence(stream);
      const isDenied = /** @type {Error} */ (error).name === "NotAllowedError";
      if (!signal.aborted) this.#fail(isDenied ? "microphone_denied" : "no_microphone");
    }
  }

  /** @param {MediaStream} stream @param {AbortSignal} signal */
  #record(stream, signal) {
    const recorder = new MediaRecorder(stream, { audioBitsPerSecond: BITS_PER_SECOND });
    this.#recorder = recorder;
    const limit = Number(this.#context.host.dataset.maxRecordingBytes) || Infinity;
    /** @type {Blob[]} */
    const parts = [];
    let bytes = 0;
    recorder.ondataavailable = ({ data }) => {
      parts.push(data);
      bytes += data.size;
      if (bytes + data.size > limit) this.#end(); // Another piece might be too much.
    };
    // A recording also ends by itself, for example when the microphone is pulled out.
    recorder.onstop = () => {
      silence(stream);
      if (!signal.aborted) this.#transcribe(new Blob(parts, { type: recorder.mimeType }), signal);
    };
    signal.addEventListener("abort", () => silence(stream));
    recorder.start(1000);
    const started = performance.now();
    const tick = () => {
      const seconds = Math.floor((performance.now() - started) / 1000);
      setText(this.#clock, clockOf(seconds, this.#words.lang));
      if (seconds >= MAX_SECONDS) this.#end();
    };
    const timer = setInterval(tick, 250);
    recorder.addEventListener("stop", () => clearInterval(timer));
    tick();
    this.#show("recording", this.#words.recording);
  }

  #end() {
    if (this.#recorder?.state === "recording") this.#recorder.stop();
  }

  // --- The text

  #again() {
    this.#context.button.focus();
    if (this.#unsent) this.#transcribe(this.#unsent, this.#start());
  }

  /** @param {Blob} recording @param {AbortSignal} signal */
  async #transcribe(recording, signal) {
    if (!recording.size) return this.#fail("not_understood");
    const { host } = this.#context;
    this.#show("transcribing", this.#words.transcribing);
    const body = new FormData();
    body.append("file", recording, "recording");
    try {
      const init = { method: "POST", body, headers: { Accept: "application/json" }, signal };
      const response = await host.request(host.dataset.transcribeUrl ?? "", init);
      /** @type {{ text: string }} */
      const { text } = response.ok ? await response.json() : { text: "" };
      if (signal.aborted) return;
      if (text) return this.#write(text);
      const { code, isFinal } = refusalOf(response.status);
      const seconds = Number(response.headers.get("Retry-After"));
      this.#fail(code, isFinal ? undefined : recording, seconds);
    } catch (error) {
      if (signal.aborted) return;
      console.warn("agui-chat:", error);
      this.#fail("connection_lost", recording);
    }
  }

  /** Put the text at the cursor. @param {string} text */
  #write(text) {
    const { input } = this.#context;
    const at = input.selectionEnd;
    const words = spaced(input.value.slice(0, at), text, input.value.slice(at));
    input.setRangeText(words, at, at, "end");
    input.dispatchEvent(new Event("input"));
    const isElsewhere = document.activeElement !== document.body && !this.#hasFocus;
    this.discard();
    if (!isElsewhere) this.#context.invite();
  }

  /**
   * @param {string} code @param {Blob} [unsent]
   * @param {number} [seconds] until it may be tried again
   */
  #fail(code, unsent, seconds) {
    const { strings, host } = this.#context;
    const knowsWhen = code === "too_many_recordings" && seconds;
    this.#unsent = unsent;
    /** @type {Record<string, string>} */
    const words = this.#words;
    const known = code === "too_many_recordings" ? words.not_transcribed : words[code];
    const time = knowsWhen && waitOf(seconds, strings.lang);
    this.#show("failed", time ? format(words[code], { time }) : known);
    const link = signInLink({ code }, strings, host.dataset.loginUrl);
    if (link) this.#status.append(" ", link);
  }

  // --- The controls

  /** The user has cancelled: announce it, and keep the focus in place. */
  #leave() {
    const { button } = this.#context;
    const wasUnderWay = this.#state !== "failed";
    if (this.#close.matches(":focus")) button.focus();
    this.discard();
    if (wasUnderWay) setText(this.#status, this.#words.recordingDiscarded);
  }

  get #hasFocus() {
    return Boolean(this.element.parentElement?.matches(":focus-within"));
  }

  /** Each attempt aborts the one before. */
  #start() {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#unsent = undefined;
    const { signal } = this.#abort;
    document.addEventListener("keydown", this.#keydown.bind(this), { capture: true, signal });
    return signal;
  }

  /**
   * Escape cancels the recording before it does anything else in the chat.
   * @param {KeyboardEvent} event
   */
  #keydown(event) {
    const isInChat = event.composedPath().includes(this.#context.host);
    const isOfInputMethod = event.isComposing || event.keyCode === 229;
    const isMeant = (isInChat || event.target === document.body) && !isOfInputMethod;
    if (event.key !== "Escape" || !isMeant || this.#state === "failed") return;
    event.preventDefault();
    event.stopPropagation();
    this.#leave();
  }

  /** @param {State} state @param {string} [text] */
  #show(state, text = "") {
    const { button } = this.#context;
    const { endRecording, discardRecording, dismiss } = this.#words;
    const idle = this.#idle;
    const records = state === "recording";
    this.#state = state;
    setAttribute(this.element, "data-state", state);
    setText(this.#status, text);
    this.#sign.hidden = this.#clock.hidden = !records;
    this.#dots.hidden = state !== "transcribing";
    this.#retry.hidden = !this.#unsent;
    this.#close.hidden = !state;
    this.#close.ariaLabel = this.#close.title = state === "failed" ? dismiss : discardRecording;
    button.ariaLabel = button.title = records ? endRecording : idle.label;
    button.replaceChildren(...(records ? [icon("check")] : idle.icon));
    setAttribute(button, "aria-pressed", `${records}`);
    // A disabled button would lose the focus.
    const isHeld = state === "asking" || state === "transcribing";
    setAttribute(button, "aria-disabled", isHeld && "true");
  }
}

/**
 * Release the microphone, so that the browser shows that it no longer listens.
 * @param {MediaStream} [stream]
 */
function silence(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

/**
 * What to tell the user: a word's name; and would the same recording be refused again?
 * @param {number} status
 */
export function refusalOf(status) {
  /** @type {Record<number, string>} */
  const codes = {
    200: "not_understood",
    401: "unauthorized",
    413: "recording_too_long",
    422: "not_understood",
    429: "too_many_recordings",
  };
  const isFinal = status < 500 && ![401, 429].includes(status);
  return { code: codes[status] ?? "not_transcribed", isFinal };
}
