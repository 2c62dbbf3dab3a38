/** What goes over the wire, as AG-UI 1.0 has it (agui/manual/protocol.md), and what the page makes of it. For checks only. */

export interface Metadata {
  attachments?: Attachment[];
  usage?: import("./messages/usage.js").Usage;
  outcome?: string;
  duration_ms?: number;
  editedArguments?: unknown;
  editedBy?: string;
  toolCallId?: string;
  /** Of a message of the user that a run has read which was on already. */
  read_in_run?: boolean;
  /** Of a failure. */
  runId?: string | null;
  resets_at?: string;
  debug?: Failure["debug"];
  [key: string]: unknown;
}

export interface Attachment {
  id: string;
  name: string;
  mime: string;
  size: number;
}

/** An image as an activity names it; `alt` are the words from which it was made. */
export interface Image extends Attachment {
  width?: number;
  height?: number;
  alt?: string;
}

export interface UploadOptions {
  signal: AbortSignal;
  onprogress: (part: number) => void;
}

export interface ToolCall {
  id: string;
  type?: "function";
  function: { name: string; arguments: string };
  encryptedValue?: string;
  metadata?: Metadata;
}

/** A tool as the catalog describes it; `secrets` are the paths of secret arguments. */
export interface Tool {
  name: string;
  summary?: string;
  secrets?: string[][];
}

/** A message that comes back into the input. */
export interface Returned {
  content?: unknown;
  metadata?: Metadata;
  isSignedOut?: boolean;
}

/** What the input shows of the session. */
export interface SessionState {
  busy: boolean;
  stopping: boolean;
  queued?: object | null;
  conversation: { status: string };
}

/** A prompt that the server offers behind "/". */
export interface Skill {
  name: string;
  title: string;
  description?: string;
  group?: string;
  prompt?: string;
  sendImmediately?: boolean;
  chip?: boolean;
}

/** A message of any role. `content` is a text, a list of parts, or what an activity shows. */
export interface Message {
  id: string;
  role: string;
  content?: unknown;
  name?: string;
  toolCalls?: ToolCall[];
  toolCallId?: string;
  error?: string;
  activityType?: string;
  subagentRunId?: string;
  encryptedValue?: string;
  attachments?: Attachment[];
  metadata?: Metadata;
}

/** A question that the thread waits for; `isPages` if it is about a tool of the page. */
export interface Interrupt {
  id: string;
  reason: string;
  toolCallId?: string;
  message?: string;
  responseSchema?: Schema;
  expiresAt?: string;
  metadata?: {
    toolName?: string;
    arguments?: string;
    edited?: string;
    "x-destructive"?: boolean;
    "x-confirm"?: string;
    "x-summary"?: string;
  };
  isPages?: boolean;
}

/** JSON Schema, as far as forms and arguments need it. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  format?: string;
  readOnly?: boolean;
  writeOnly?: boolean;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  minProperties?: number;
  maxProperties?: number;
  propertyNames?: Schema;
  dependentRequired?: Record<string, string[]>;
  dependentSchemas?: Record<string, Schema>;
  items?: Schema;
  prefixItems?: Schema[];
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  contains?: Schema;
  minContains?: number;
  maxContains?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  not?: Schema;
  if?: Schema;
  then?: Schema | boolean;
  else?: Schema | boolean;
  $ref?: string;
  $defs?: Record<string, Schema>;
  [keyword: string]: unknown;
}

/** What the user answers to an approval. */
export interface Approval {
  approved?: boolean;
  editedArgs?: unknown;
  reason?: string;
}

/** As in AG-UI's ResumeEntry. */
export type Decision = { status: "resolved"; payload: unknown } | { status: "cancelled" };
export type ResumeEntry = Decision & { interruptId: string };

/** One body of a run. */
export interface RunInput {
  threadId: string | null;
  runId: string;
  protocolVersion: string;
  state: unknown;
  tools: { name: string; description: string; parameters: Schema }[];
  forwardedProps: Record<string, unknown>;
  messages: Message[];
  resume?: ResumeEntry[];
  context?: { description: string; value: string }[];
}

/** A thread as the server tells it. */
export interface Thread {
  messages?: Message[];
  /** When each message was sent: ISO 8601, by its id. */
  times?: Record<string, string>;
  state?: unknown;
  pending?: Interrupt[] | null;
  running?: boolean;
  failures?: Record<string, Failure>;
  title?: string;
  unread?: boolean;
  branches?: Record<string, Branch[]>;
  /** What parts tell of it. */
  [detail: string]: unknown;
  updated_at?: string;
  pending_calls?: string[] | null;
}

/** A thread in the server's list. */
export interface ThreadRow {
  thread_id: string;
  title: string;
  preview: string;
  updated_at: string;
  unread: boolean;
  pinned: boolean;
  archived: boolean;
  running?: boolean;
  waiting?: boolean;
}

/** A thread when a request brings all of it. */
export type WholeThread = Thread & { title: string; messages: Message[] };

/** A version of a message; `id` is what to switch to. */
export interface Branch {
  id: string;
  text: string;
  current: boolean;
}

interface Event {
  timestamp?: number;
  metadata?: Metadata;
  subagentRunId?: string;
}
interface MessageEvent extends Event {
  messageId: string;
}
interface CallEvent extends Event {
  toolCallId: string;
}
interface TextStart extends MessageEvent {
  role?: string;
  name?: string;
}
export interface CallResult extends CallEvent {
  messageId: string;
  content: string;
  role?: string;
  error?: string;
}
export interface ActivityEvent extends MessageEvent {
  activityType: string;
  content: unknown;
  replace?: boolean;
}
export interface TextEvent extends MessageEvent {
  delta: string;
}
export interface CallStart extends CallEvent {
  toolCallName: string;
  parentMessageId?: string;
}

/** What a page keeps of a thread until it has finished it: `own`, the run that it has begun. */
export interface Unfinished {
  turn?: { input: RunInput; versions: number; before?: Conversation } | null;
  own?: boolean;
  results?: Message[];
  begun?: string[];
  queued?: import("./session/outbox.js").Queued | null;
}

/** One operation of JSON Patch. */
export interface PatchOperation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

export interface Events {
  RUN_STARTED: Event & { threadId?: string; runId: string; input?: { messages?: Message[] } };
  RUN_FINISHED: Event & {
    outcome?: { type: string; interrupts?: Interrupt[] };
    usage?: Record<string, number>[];
  };
  RUN_ERROR: Event & { message?: string; code?: string };
  STEP_STARTED: Event & { stepName: string };
  STEP_FINISHED: Event & { stepName: string };
  CUSTOM: Event & { name: string; value?: unknown };
  TEXT_MESSAGE_START: TextStart;
  TEXT_MESSAGE_CONTENT: TextEvent;
  TEXT_MESSAGE_END: MessageEvent;
  REASONING_MESSAGE_START: TextStart;
  REASONING_MESSAGE_CONTENT: TextEvent;
  REASONING_MESSAGE_END: MessageEvent;
  REASONING_ENCRYPTED_VALUE: Event & { subtype: string; entityId: string; encryptedValue: string };
  TOOL_CALL_START: CallStart;
  TOOL_CALL_ARGS: CallEvent & { delta: string };
  TOOL_CALL_END: CallEvent;
  TOOL_CALL_RESULT: CallResult;
  STATE_SNAPSHOT: Event & { snapshot: unknown };
  STATE_DELTA: Event & { delta: PatchOperation[] };
  MESSAGES_SNAPSHOT: Event & { messages: Message[] };
  ACTIVITY_SNAPSHOT: ActivityEvent;
  ACTIVITY_DELTA: MessageEvent & { activityType: string; patch: PatchOperation[] };
}

/** An event that the page knows. Others come too, and change nothing. */
export type AguiEvent = { [Type in keyof Events]: { type: Type } & Events[Type] }[keyof Events];

/** `left`: to a page that did not do it. */
export type CallStatus =
  "streaming" | "running" | "waiting" | "success" | "failed" | "denied" | "stopped" | "left";

/** How a call stands: times as far as they are known; `edited` by the user who approved it. */
export interface Call {
  status: CallStatus;
  result?: unknown;
  startedAt?: number;
  duration_ms?: number;
  step?: string;
  percent?: number;
  edited?: { json: string; by?: string };
}

/** `runId`, of a run of the server: its short one. */
export interface Failure {
  code: string;
  message?: string;
  runId?: string | null;
  until?: string;
  debug?: { hint: string; cause?: string };
}

export interface Conversation {
  messages: Message[];
  calls: Record<string, Call>;
  interrupts: Interrupt[];
  state: unknown;
  status: "idle" | "running" | "waiting" | "failed" | "stopped";
  runId: string | null;
  error: Failure | null;
  /** Of earlier turns, by the user's message. */
  failures: Record<string, Failure>;
  steps: string[];
  usage: Record<string, number>[];
  /** Ids that began in this run: a replay starts them afresh instead of appending. */
  begun: Record<string, true>;
  /** The messages and calls that *_CHUNK events are filling. */
  chunks: { type: string; id: string; owner?: string }[];
}

/** An event of any type, also a *_CHUNK: not validated. */
export interface AnyEvent extends Event {
  type: string;
  messageId?: string;
  toolCallId?: string;
  delta?: unknown;
}

/** How each event changes a conversation. */
export type Reducers = {
  [Type in keyof Events]: (c: Conversation, event: Events[Type]) => Conversation;
};
/** The same for events as they come: not validated. */
export type ReducerTable = Record<string, Reducer["reduce"] | undefined>;
interface Reducer {
  reduce(c: Conversation, event: Event): Conversation;
}

/** Attributes and listeners of an element that dom.js makes. */
export type Attributes = {
  [Type in keyof HTMLElementEventMap as `on${Type}`]?: (event: HTMLElementEventMap[Type]) => unknown;
} & { [name: string]: unknown };
/** The element that a tag makes. */
export type Made<Tag extends string> = Tag extends keyof HTMLElementTagNameMap
  ? HTMLElementTagNameMap[Tag]
  : HTMLElement;

/** All texts of a language: those of every page, and those of modules that are loaded on demand. */
export type Table = typeof import("./words/strings.js").STRINGS &
  typeof import("./messages/answer-bar.js").ANSWER_WORDS &
  typeof import("./approvals/answer-form.js").FORM_WORDS &
  typeof import("./catalog/action-state.js").ACTION_STATE_WORDS &
  typeof import("./messages/earlier-messages.js").EARLIER_WORDS &
  typeof import("./tools/arguments.js").ARGUMENT_WORDS &
  typeof import("../agui_attachments/attachments.js").ATTACHMENT_WORDS &
  typeof import("../agui_attachments/intake.js").INTAKE_WORDS &
  typeof import("../agui_attachments/left-out.js").LEFT_OUT_WORDS &
  typeof import("../agui_attachments/read-call.js").READ_WORDS &
  typeof import("./page/background.js").BACKGROUND_WORDS &
  typeof import("../agui_charts/chart.js").CHART_WORDS &
  typeof import("../agui_documents/words.js").DOCUMENT_WORDS &
  typeof import("../agui_feedback/feedback-form.js").FEEDBACK_WORDS &
  typeof import("../agui_feedback/rating.js").RATING_WORDS &
  typeof import("../agui_attachments/file-face.js").FILE_WORDS &
  typeof import("../agui_attachments/image-words.js").IMAGE_WORDS &
  typeof import("../agui_mentions/mentions.js").MENTION_WORDS &
  typeof import("./messages/editor.js").EDITOR_WORDS &
  typeof import("./finding/commands.js").COMMAND_WORDS &
  typeof import("./finding/find-bar.js").FIND_WORDS &
  typeof import("./words/find-words.js").FOUND_WORDS &
  typeof import("./page/model-picker.js").MODEL_WORDS &
  typeof import("./composer/palette.js").PALETTE_WORDS &
  typeof import("./page/placement.js").PLACEMENT_WORDS &
  typeof import("./tools/plan.js").PLAN_WORDS &
  typeof import("./messages/prompt-bar.js").PROMPT_WORDS &
  typeof import("./approvals/question.js").QUESTION_WORDS &
  typeof import("./approvals/seen.js").SEEN_WORDS &
  typeof import("./messages/long-message.js").LONG_WORDS &
  typeof import("./messages/queued.js").QUEUE_WORDS &
  typeof import("./markdown/rich-text.js").RICH_WORDS &
  typeof import("./words/save-words.js").SAVE_WORDS &
  typeof import("./finding/shortcuts.js").SHORTCUT_WORDS &
  typeof import("../agui_sources/source-words.js").SOURCE_WORDS &
  typeof import("./approvals/open-bar.js").OPEN_WORDS &
  typeof import("./approvals/record.js").RECORD_WORDS &
  typeof import("../agui_suggestions/suggestions.js").SUGGESTION_WORDS &
  typeof import("./tools/table.js").TABLE_WORDS &
  typeof import("./tools/table-activity.js").ACTIVITY_WORDS &
  typeof import("./tools/text-block.js").TEXT_WORDS &
  typeof import("./threads/actions.js").ACTION_WORDS &
  typeof import("./threads/list.js").LIST_WORDS &
  typeof import("./threads/menu.js").MENU_WORDS &
  typeof import("./threads/drawer.js").THREADS_WORDS &
  typeof import("./tools/card.js").TOOL_WORDS &
  typeof import("./tools/group.js").GROUP_WORDS &
  typeof import("./messages/turn-notes.js").NOTE_WORDS &
  typeof import("./messages/usage.js").USAGE_WORDS &
  typeof import("./messages/versions.js").VERSION_WORDS &
  typeof import("../agui_queue/keys.js").WAITING_KEY_WORDS &
  typeof import("../agui_queue/read-in-run.js").IN_RUN_WORDS &
  typeof import("../agui_queue/words.js").WAITING_WORDS &
  typeof import("../agui_views/view-words.js").VIEW_WORDS &
  typeof import("../agui_voice/microphone.js").MICROPHONE_WORDS &
  typeof import("../agui_voice/voice.js").VOICE_WORDS;

/** What a module under `activity:<type>` exports. `update` throws for what it can't show. */
export interface ActivityModule {
  view: (context: ViewContext) => View;
  /** Open what is shown under an id of the tool's own; false if there is none. */
  openActivity?: (host: HTMLElement, id: string) => boolean | Promise<boolean>;
}
export interface ViewContext {
  strings: import("./words/strings.js").Strings;
  load: import("./dom/lazy.js").Load;
  host: HTMLElement;
  client: AgentClient;
}
export interface View {
  element: HTMLElement;
  update: (content: Record<string, unknown>, messageId?: string) => void;
}

/** What the modules of parts export, by the name that the page asks for (`moduleOf`). */
export interface PartModules {
  [activity: `activity:${string}`]: ActivityModule;
  /** Loaded with the page: what stands beside the text of a message. */
  [composer: `composer:${string}`]: ComposerModule;
  /** Loaded with the first answer: what stands in the toolbar below each. */
  [answer: `answer:${string}`]: AnswerModule;
  /** Loaded with the first message whose metadata has that key. */
  [metadata: `metadata:${string}`]: MetadataModule;
  /** Loaded when the last message's metadata has that key. */
  [last: `last:${string}`]: LastModule;
  /** Loaded with the first text that has that sign. */
  [list: `list:${string}`]: ListModule;
  /** Loaded with the first call of the tool of that name. */
  [call: `call:${string}`]: CallModule;
  /** Loaded when the first run has ended. */
  [run: `run:${string}`]: RunModule;
  /** Loaded with the first conversation. */
  [thread: `thread:${string}`]: ThreadModule;
  math: { drawFormulas: (codes: Element[]) => void };
  upload: {
    post: (
      url: string,
      form: FormData,
      options: UploadOptions & { headers: Record<string, string> },
    ) => Promise<Response>;
  };
}
/** Places for which several parts may have a module. */
export type Place = "composer" | "answer" | "run" | "thread";

/** What a module under `composer:<name>` exports. */
export interface ComposerModule {
  join: (
    composer: import("./composer/composer.js").Composer,
    context: import("./composer/composer.js").Context,
  ) => Addition | undefined;
}
/** What a part adds to the message that the user is writing. */
export interface Addition {
  /** Why the message can't be sent yet; "" if it can. */
  readonly held?: string;
  readonly attachments?: Attachment[];
  attach?: (files: Iterable<File>) => unknown;
  /** The message has been sent, or is given up. */
  clear?: () => void;
  /** The user turns to something else. */
  rest?: () => void;
  /** A message comes back: take what is yours, and return what stays in its text. */
  restore?: (text: string, metadata: Metadata) => Promise<string | undefined>;
}
/** What a module under `answer:<name>` exports. */
export interface AnswerModule {
  join: (bar: import("./messages/answer-bar.js").AnswerBar) => BarAddition;
}
export interface BarAddition {
  buttons: HTMLElement[];
  update: () => void;
  remove: () => void;
}
/** What a module under `metadata:<key>` exports; called with each change. */
export interface MetadataModule {
  show: (message: HTMLElement, value: unknown, context: MessageContext, key: string) => void;
}
/** What a module under `last:<key>` exports: what stands below the conversation. */
export interface LastModule {
  follow: (
    context: MessageContext,
    column: HTMLElement,
  ) => { render: (session: import("./session/session.js").Session) => void };
}
/** What a module under `list:<sign>` exports: what the list above the input has behind that sign. */
export interface ListModule {
  listFor: (
    input: HTMLTextAreaElement,
    palette: import("./composer/palette.js").Palette,
    context: import("./composer/palette.js").Context,
  ) => SignList;
  /** What the page of shortcuts says of the sign; "" if there is nothing to list. */
  titleOf: (host: HTMLElement, strings: Strings) => string;
}
export interface SignList {
  /** False if the text before the cursor is not about it. */
  search: () => boolean;
  /** The list is closed. */
  stop: () => void;
  /** The user has closed it. */
  close: () => void;
}
/** What a module under `call:<tool>` exports: how the card of a call reads; null: as any other. */
export interface CallModule {
  describeCall: (
    call: { args: Record<string, unknown>; status: CallStatus; result: unknown },
    messages: Message[],
    strings: Strings,
  ) => { label: string; shown: unknown } | null;
}
/** What a module under `run:<name>` exports. */
export interface RunModule {
  ended: (host: import("./agui-chat.d.ts").AguiChatElement) => unknown;
}
/** What a module under `thread:<name>` exports; `attend` is called once. */
export interface ThreadModule {
  attend: (context: PageContext) => unknown;
  /** What the page of shortcuts says of its keys, while the user writes. */
  shortcuts?: (strings: Strings) => Promise<[keys: string, text: string][]>;
}
/** What keeps messages during a run instead of the tab. */
export interface Later {
  /** False if the tab has to keep the message. */
  take: (message: import("./session/outbox.js").Queued) => boolean;
  /** Whether a message still waits. */
  has: (messageId: string) => boolean;
}

export type Strings = import("./words/strings.js").Strings;
export type Session = import("./session/session.js").Session;
export type ThreadMemory = import("./session/thread-memory.js").ThreadMemory;
export type AgentClient = import("./http/client.js").AgentClient;

/** What a tab tells the user's other tabs. */
export interface ThreadChange {
  kind: "here" | "changed" | "renamed" | "removed" | "signed-out";
  threadId?: string | null;
  title?: string;
}

/** The view of a question; `label` is the name of the tool for users, `json` its arguments. */
export interface QuestionView {
  element: HTMLElement;
  update: (
    interrupt: Interrupt,
    decision: Decision | undefined,
    label: string,
    json?: string,
  ) => void;
}
/** What the page has registered: `activity <type>`, `action <name>`, `tool <name>`, or a function for answers. */
export type Seam =
  | import("./agui-chat.d.ts").Draw
  | import("./agui-chat.d.ts").Action
  | import("./agui-chat.d.ts").ToolView
  | import("./agui-chat.d.ts").Dress;
export type Seams = Map<unknown, Seam>;
export type Own = typeof import("./page/own.js").OWN_PARTS;
/** What the cards of tool calls have at hand. */
export interface CardContext {
  host: HTMLElement;
  strings: Strings;
  seams: Seams;
  /** What only pages with something of their own need, once it is loaded; this loads it. */
  own: Own | undefined;
  wantOwn: () => unknown;
  tools: Map<string, Tool>;
  /** Null until the first interrupt has loaded it. */
  Question: (new (context: CardContext) => QuestionView) | null;
  decide: (interruptId: string, decision: Decision | null) => void;
  /** Wait for a module, and for the style that not every chat needs. */
  withStyle: <T>(loading?: Promise<T>) => Promise<T>;
  load: import("./dom/lazy.js").Load;
}
/** What the chat has at hand for what is around the messages. */
export interface PageContext {
  host: import("./agui-chat.d.ts").AguiChatElement;
  panel: HTMLElement;
  log: HTMLElement;
  composer: import("./composer/composer.js").Composer;
  catalog: import("./catalog/catalog.js").Catalog;
  strings: Strings;
  load: import("./dom/lazy.js").Load;
  memory: ThreadMemory;
  /** The element of a message, if it is drawn; `reveal` draws it, and keeps it in view. */
  viewOf: (messageId: string) => HTMLElement | undefined;
  reveal: (messageId: string) => HTMLElement | undefined;
  toggleThreads: () => unknown;
}
/** A conversation that a search has found, and the message that has the words, if one has. */
export interface FoundThread {
  thread_id: string;
  message_id?: string | null;
}
/** Open it at that message. */
export type ShowFound = (found: FoundThread, query: string) => Promise<void>;
/** What the views of messages have at hand. */
export type MessageContext = CardContext & {
  host: HTMLElement;
  client: import("./http/client.js").AgentClient;
  retry: () => void;
  regenerate: (promptId: string) => boolean;
  edit: (promptId: string, text: string) => boolean;
  rewrite: (message: Returned) => void;
  switchBranch: (branchId: string) => void;
  unqueue: () => import("./session/outbox.js").Queued | null;
};
/** What the transcript makes for each message. */
export interface MessageView {
  element: HTMLElement;
  update: (message: Message, session: import("./session/session.js").Session) => void;
  remove?: () => void;
}

/** Any token of Markdown may have these; each type below has some of them always. */
interface TokenFields {
  /** Where it begins in the text. */
  at?: number;
  text?: string;
  tokens?: Token[];
  /** The depth of the emphasis inside, or the level of a heading. */
  depth?: number;
  box?: Box;
  items?: Item[];
  header?: Cell[];
  rows?: Cell[][];
  /** The lines of a block so far. `end` ends it, or more than `most` lines do. */
  lines?: string[];
  fence?: string;
  end?: string;
  most?: number;
  /** The marker of a list's items. An empty line between them makes it loose. */
  kind?: string;
  loose?: boolean;
  mark?: undefined;
}
interface Paragraph extends TokenFields {
  /** A text if it is in a list that is not loose. */
  type: "paragraph" | "text";
  lines: string[];
  text: string;
}
interface Heading extends TokenFields {
  type: "heading";
  text: string;
  depth: number;
}
interface Quote extends TokenFields {
  type: "blockquote";
  tokens: Token[];
}
/** `indent`: so many columns of it are no code. */
interface Code extends TokenFields {
  type: "code";
  lines: string[];
  text: string;
  indent: number;
  lang?: string;
}
interface IndentedCode extends Code {
  fence?: undefined;
  info?: undefined;
}
interface FencedCode extends Code {
  fence: string;
  info: string;
}
interface HtmlBlock extends TokenFields {
  type: "html";
  text: string;
  lines: string[];
}
interface HtmlSpan extends TokenFields {
  type: "html";
  text: string;
  lines?: undefined;
}
interface List extends TokenFields {
  type: "list";
  ordered: boolean;
  start: number;
  items: Item[];
}
interface Item extends TokenFields {
  type: "item";
  width: number;
  tokens: Token[];
  task?: boolean;
}
/** The box of a task. */
interface Box extends TokenFields {
  type: "checkbox";
  checked: boolean;
}
export interface MarkdownTable extends TokenFields {
  type: "table";
  aligns: Align[];
  header: Cell[];
  rows: Cell[][];
}
type Align = "left" | "center" | "right" | null;
/** A cell of a table; it has tokens after the text inside has been read. */
export interface Cell {
  text: string;
  align: Align;
  tokens?: Token[];
}
/** A note below the text, and a mark in the text that names it. */
export interface Note extends TokenFields {
  type: "note";
  label: string;
  width: number;
  tokens: Token[];
}
export interface NoteMark extends TokenFields {
  type: "mark";
  label: string;
}
interface Formula extends TokenFields {
  type: "math";
  text: string;
  isBlock: boolean;
}
interface PlainText extends TokenFields {
  type: "text" | "escape" | "codespan";
  text: string;
}
/** Stars, underscores or tildes; `mark` is empty if they can't be emphasis. */
export interface Mark extends Omit<TokenFields, "mark"> {
  type: "text";
  text: string;
  mark: string;
  opens: boolean;
  closes: boolean;
  length: number;
  place: number;
}
interface Emphasis extends TokenFields {
  type: "strong" | "em" | "del";
  tokens: Token[];
}
export interface MarkdownLink extends TokenFields {
  type: "link" | "image";
  href: string;
  title?: string;
  text: string;
  autolink?: boolean;
}
interface Break extends TokenFields {
  type: "br" | "hr";
}

/** What Markdown is read as (markdown/lexer.js). */
export type Token =
  | Paragraph | Heading | Quote | IndentedCode | FencedCode | HtmlBlock | HtmlSpan | List
  | MarkdownTable | Note | NoteMark | Box | Formula | PlainText | Mark | Emphasis | MarkdownLink
  | Break;
/** A token that may still grow. */
export type Block = Exclude<Token, HtmlSpan> | Item | ({ type: "root" } & TokenFields);

/** What Markdown becomes (markdown/nodes.js): a text, or an element. */
export type MarkdownNode = string | MarkdownElement;
export type MarkdownElement = [
  tag: string,
  attributes: Record<string, string>,
  children: MarkdownNode[],
];
