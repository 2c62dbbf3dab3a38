/** Types for pages that use the chat: the element, its events, and what a page can register. page.md explains them. */

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
  newChat(): void;
  toggle(collapsed?: boolean): void;
  registerTool(tool: PageTool): void;
  unregisterTool(name: string): void;
  registerActivity(type: string, draw: Draw): void;
  registerEvent(name: string, draw: Draw): void;
  registerAction(action: Action): void;

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
  "ag-ui-run-finished": CustomEvent<{
    status: import("./types.d.ts").Conversation["status"];
    error: import("./types.d.ts").Failure | null;
  }>;
  "ag-ui-thread": CustomEvent<{ threadId: string | null; title: string }>;
  "ag-ui-toggle": CustomEvent<{ collapsed: boolean }>;
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
  run(about: About): unknown;
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

export interface ContextEntry {
  description: string;
  value: unknown;
}

declare global {
  interface HTMLElementTagNameMap {
    "agui-chat": AguiChatElement;
  }
}
