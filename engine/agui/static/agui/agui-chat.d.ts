/** Types for pages that use the chat: the element, its events, and what a page can register. page.md explains them. */

/**
 * A chat with an AG-UI agent.
 * @attr endpoint, data-tools-url, data-skills-url, data-threads-url, data-attachments-url,
 *   data-transcribe-url, data-mentions-url, data-approvals-url, data-apps-url, data-view-frame-url,
 *   data-stylesheet-url,
 *   data-frame-stylesheet-url, data-strings-url, data-login-url, data-modules - the addresses
 * @attr data-max-upload-bytes, data-max-recording-bytes, data-feedback, data-models, data-queue - what the
 *   server accepts and offers
 * @attr data-csrf-token, data-csrf-header, data-csrf-cookie, user-key, data-thread-memory - the
 *   user, and what the browser remembers
 * @attr lang, data-strings, title-text, description-text - the words
 * @attr theme, placement, collapsed, data-drawn - the look
 *   A form with data-agui-sign-out, anywhere on the page, signs out and removes the user's data.
 *
 * @slot header-start, header-end - beside the buttons of the header
 * @slot welcome - instead of the greeting
 * @slot footer - a line below the input
 * @slot avatar - copied beside each answer
 * @slot launcher - instead of the picture on the button that opens a collapsed chat
 *
 * @event ag-ui-submit - before a message is sent; detail { text, attachments }; cancelable
 * @event ag-ui-event - every AG-UI event; detail is the event
 * @event ag-ui-state - the shared state has changed; detail is the state
 * @event ag-ui-run-finished - a run has ended or is waiting; detail { status, error }
 * @event ag-ui-thread - another thread is open, or has another title; detail { threadId, title }
 * @event ag-ui-document - a document was opened or closed; detail { id, title, version }
 * @event ag-ui-toggle - a floating or docked chat was opened or closed; detail { collapsed }
 *
 * @csspart panel, header, undo, log, messages, user-message, assistant-message, reasoning,
 *   activity, image, image-viewer, source-card, tool, approve, deny, prose, code, error, composer,
 *   input, attach, skills, microphone, send, stop, attachments, attachment, palette, chip, drawer, threads, menu, launcher, frame,
 *   edge, actions, action, editor, feedback, sources, queued, waiting, quote, shortcuts, notify, find,
 *   commands, avatar, document
 *
 * @cssprop --agui-code-comment, --agui-code-keyword, --agui-code-string, --agui-code-number,
 *   --agui-code-name, --agui-code-added, --agui-code-removed
 * @cssprop --agui-accent, --agui-accent-text, --agui-background, --agui-surface, --agui-border,
 *   --agui-text, --agui-muted, --agui-danger, --agui-font, --agui-font-mono, --agui-radius,
 *   --agui-width, --agui-panel-width, --agui-panel-height, --agui-docked-top
 */
export declare class AguiChatElement extends HTMLElement {
  /** Make the element known to the browser, with another tag or in another registry than usual. */
  static define(tag?: string, registry?: CustomElementRegistry): typeof AguiChatElement;

  readonly threadId: string | null;
  tools: PageTool[];
  get strings(): import("./types.d.ts").Strings;
  set strings(strings: Partial<import("./types.d.ts").Table>);
  /** A JSON object that the page shares with the tools. Set a new object to change it. */
  get state(): unknown;
  set state(state: unknown);
  /** The state between page and server, and its requests; both may change in any version. */
  session: import("./types.d.ts").Session;
  client: import("./types.d.ts").AgentClient;

  sendMessage(text: string, attachments?: import("./types.d.ts").Attachment[]): boolean;
  attach(files: Iterable<File>): Promise<void>;
  openThread(threadId: string): void;
  /** Send a message as the user. Resolves when its run has ended or waits; rejects if it was not sent. */
  send(text: string, attachments?: import("./types.d.ts").Attachment[]): Promise<Outcome>;
  /** Show a conversation. Resolves when it is there; rejects if it can't be shown. */
  open(threadId: string): Promise<Outcome>;
  /** Open what a tool has shown, such as a "document"; false if there is none with this id, or it can't be opened. */
  openActivity(type: string, id: string): Promise<boolean>;
  newChat(): void;
  toggle(collapsed?: boolean): void;
  // What a page registers; each returns a function that takes it back.
  registerTool(tool: PageTool): TakeBack;
  unregisterTool(name: string): void;
  registerToolView(name: string, view: ToolView): TakeBack;
  registerActivity(type: string, draw: Draw): TakeBack;
  registerEvent(name: string, draw: Draw): TakeBack;
  registerAction(action: Action): TakeBack;
  registerAnswer(dress: Dress): TakeBack;

  // Functions that a page may replace.
  getContext(): ContextEntry[] | Promise<ContextEntry[]>;
  getSkillContext?(): Record<string, unknown>;
  getHeaders(): Record<string, string>;
  request(url: string, init: RequestInit): Promise<Response>;
  upload(
    url: string,
    form: FormData,
    options: import("./types.d.ts").UploadOptions,
  ): Promise<Response>;

  addEventListener<Name extends keyof AguiChatEvents>(
    name: Name,
    listener: (event: AguiChatEvents[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<Name extends keyof HTMLElementEventMap>(
    name: Name,
    listener: (event: HTMLElementEventMap[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

export interface AguiChatEvents {
  "ag-ui-submit": CustomEvent<{
    text: string;
    attachments: import("./types.d.ts").Attachment[];
  }>;
  "ag-ui-event": CustomEvent<import("./types.d.ts").AguiEvent>;
  "ag-ui-state": CustomEvent<unknown>;
  "ag-ui-run-finished": CustomEvent<Outcome>;
  "ag-ui-thread": CustomEvent<{ threadId: string | null; title: string }>;
  /** `id` is null when the panel has closed. */
  "ag-ui-document": CustomEvent<{ id: string | null; title: string; version: number }>;
  "ag-ui-toggle": CustomEvent<{ collapsed: boolean }>;
}

export type TakeBack = () => void;

/** How a run has ended. */
export interface Outcome {
  status: import("./types.d.ts").Conversation["status"];
  error: import("./types.d.ts").Failure | null;
}

/** What the agent may do in the page. A destructive tool asks the user `confirm` first. */
export interface PageTool {
  name: string;
  description?: string;
  /** A JSON Schema of the arguments, an object. */
  parameters?: import("./types.d.ts").Schema;
  summary?: string;
  destructive?: boolean;
  confirm?: string;
  handler(
    args: Record<string, unknown>,
    run: { signal: AbortSignal; threadId: string; state: unknown },
  ): unknown;
}

/** A button in the toolbar of each answer, beside the input, or in the header. */
export interface Action {
  name: string;
  label: string;
  /** The path of an SVG on a grid of 24 by 24. */
  icon: string;
  on: "answer" | "composer" | "header";
  /** May be async. If it fails, the chat tells the user. */
  run(about: About): unknown;
  /** Whether the button is there, can't be used, is pressed; asked whenever the chat draws. */
  when?(about: About): unknown;
  disabled?(about: About): unknown;
  pressed?(about: About): unknown;
}

/** What a button is about: an answer (text, messageId, threadId), the input (text, fill), or the thread. */
export interface About {
  text: string;
  messageId: string;
  threadId: string | null;
  fill: (text: string) => void;
}

/** Draw an activity or an event. The chat calls this again with the same element when the content changes. */
export interface Drawing {
  draw(content: Record<string, unknown>, element: HTMLElement): void;
}
export type Draw = Drawing["draw"];

/** A call of a tool, as the page draws it. */
export interface ShownCall {
  id: string;
  name: string;
  /** The arguments, as far as the model has written them. Secret ones are among them. */
  args: Record<string, unknown>;
  status: import("./types.d.ts").CallStatus;
  /** A result that is JSON is parsed; undefined before there is one. */
  result: unknown;
  step?: string;
  percent?: number;
}

/** A call that the user is asked about. Both functions may be listeners of a button. */
export interface AskedCall extends ShownCall {
  message: string;
  /** What the user has answered, while other questions are still open. */
  answered?: "approved" | "denied";
  approve(editedArgs?: Record<string, unknown> | globalThis.Event): void;
  deny(reason?: string | globalThis.Event): void;
}

/** How a page draws the calls of a tool. For a state without a function, the chat shows its card. */
export interface ToolView {
  running?(call: ShownCall, element: HTMLElement): void;
  done?(call: ShownCall, element: HTMLElement): void;
  failed?(call: ShownCall, element: HTMLElement): void;
  approval?(call: AskedCall, element: HTMLElement): void;
}

/** Change the elements of a finished text, which are new each time. */
export type Dress = (element: HTMLElement) => void;

export interface ContextEntry {
  description: string;
  value: unknown;
}

declare global {
  interface HTMLElementTagNameMap {
    "agui-chat": AguiChatElement;
  }
}
