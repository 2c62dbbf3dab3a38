// @ts-check
/**
 * Every text that the element shows by itself, but those of modules that not every page loads: a Table has both.
 * Replace any of them with `chat.strings = {...}` or `data-strings`.
 * Other languages are tables of their own in strings/: the one that the closest `lang` names is loaded.
 */
export const STRINGS = {
  /** Of these texts, and of dates, numbers and sizes. */
  lang: "en",

  title: "Assistant",
  greeting: "How can I help?",
  description: "Ask a question, or let me do something for you.",
  launcher: "Open the chat",
  launcherNews: "Open the chat: there is a new answer",
  resize: "Width of the chat",
  close: "Close",
  conversation: "Conversation",
  loading: "Loading the conversation",

  placeholder: "Ask anything",
  placeholderSkills: "Ask anything, or type / for skills",
  placeholderWaiting: "Answer above to go on",
  messageLabel: "Your message",
  send: "Send",
  stop: "Stop",
  skills: "Skills",
  dictate: "Dictate",
  fillIn: "Fill in {blank}, or send it as it is.",
  sendNext: "Send when the answer is complete",
  queueFull: "One message is waiting already",
  you: "You",
  jump: "Go to the latest message",
  earlier: "Show earlier messages",

  attach: "Attach files",
  dropFiles: "Drop the files to attach them",
  filesOpen: "Wait for the files, or remove those that failed",
  readFile: "Read {name}",
  readWhole: "The assistant was given the file as it is.",

  thinking: "Thinking",
  thought: "Thought",
  answering: "Answering",
  answered: "The answer is complete.",
  stopped: "Stopped.",
  slow: "The model has not answered yet…",
  reconnecting: "The connection was lost. Connecting again…",

  toolStreaming: "Preparing",
  toolRunning: "Running",
  toolWaiting: "Needs your approval",
  toolAsks: "Needs your answer",
  toolExpired: "Expired",
  toolSuccess: "Done",
  toolFailed: "Failed",
  toolDenied: "Denied",
  toolStopped: "Stopped",
  toolLeft: "Not done",
  changed: "Changed",
  arguments: "Arguments",
  noArguments: "No arguments",
  result: "Result",

  showAll: "Show all {count} characters",
  toolsUsed: { one: "{count} tool used", other: "{count} tools used" },

  answersLeft: {
    one: "{count} more to decide; then all answers are sent together.",
    other: "{count} more to decide; then all answers are sent together.",
  },

  answer: "Your answer",
  yes: "Yes",
  no: "No",

  table: "Table",
  allRows: "Show all {count} rows",

  newChat: "New chat",
  threads: "Conversations",
  threadGone: "That conversation is not there: it was deleted, or it is not yours. Here is a new one.",

  copy: "Copy",
  copied: "Copied",
  copyAnswer: "Copy the answer",
  copyFailed: "The browser does not let this page copy.",
  regenerate: "Answer again",
  goodAnswer: "Good answer",
  badAnswer: "Bad answer",
  feedbackThanks: "Thank you.",
  feedbackFailed: "This could not be saved.",
  usage: "{input} tokens read, {output} written",
  answerActions: "This answer",
  messageActions: "Your message",
  editMessage: "Edit the message",
  cancel: "Cancel",
  versions: "Versions",
  previousVersion: "Previous version",
  nextVersion: "Next version",
  queued: "Sent after this answer",
  suggestions: "Suggested messages",
  retry: "Try again",
  signIn: "Sign in",
  failedTitle: "Something went wrong",
  // Failures that the page finds out by itself; the others come with the server's own sentence.
  connection_lost: "The connection to the server was lost.",
  unauthorized: "You are signed out. Sign in again to go on.",
  not_a_stream: "The server's answer can't be read.",
};

/** @typedef {typeof STRINGS} Strings */
/** What a language has: those above, and those of modules that are loaded on demand. @typedef {Strings & typeof import("./answer-form.js").FORM_WORDS & typeof import("./arguments.js").ARGUMENT_WORDS & typeof import("./chart.js").CHART_WORDS & typeof import("./question.js").QUESTION_WORDS & typeof import("./table.js").TABLE_WORDS & typeof import("./threads-drawer.js").THREADS_WORDS & typeof import("./voice.js").VOICE_WORDS & typeof import("./attachments.js").ATTACHMENT_WORDS & typeof import("./plan.js").PLAN_WORDS & typeof import("./message-editor.js").EDITOR_WORDS & typeof import("./feedback-form.js").FEEDBACK_WORDS & typeof import("./turn-notes.js").NOTE_WORDS & typeof import("./file-face.js").FILE_WORDS & typeof import("./queued.js").QUEUE_WORDS} Table */

/** A language more is a line here, and a file with all keys of a Table. @type {Record<string, () => Promise<{ STRINGS: any }>>} */
const TABLES = {
  ar: () => import("./strings/ar.js"),
  de: () => import("./strings/de.js"),
};

/**
 * The texts of the language in which an element stands: those that differ from the ones above, at once if none have to be loaded.
 * @param {any} node @param {string} [url] of a table of the page's own
 * @returns {Promise<Partial<Strings>> | Partial<Strings>}
 */
export function tableFor(node, url) {
  while (node && !node.lang) node = node.parentNode ?? node.host;
  const language = node?.lang ?? "";
  const load = url ? () => import(url) : TABLES[language.split(/[-_]/)[0].toLowerCase()];
  if (!load) return { lang: localeOf(language, STRINGS.lang) };
  return load().then(
    ({ STRINGS: table }) => ({ ...table, lang: localeOf(language, table.lang) }),
    (error) => (console.warn("agui-chat:", error), {}),
  );
}

/** "de-AT" if the page says so and the texts are German, else "de". @param {string} language @param {string} own */
function localeOf(language, own) {
  try {
    const [locale] = Intl.getCanonicalLocales(language);
    return locale?.split("-")[0] === own ? locale : own;
  } catch {
    return own;
  }
}

/**
 * A text for so many, in the form that the language has for that number.
 * @param {Strings} strings @param {keyof Strings} name @param {number} count
 */
export function counted({ lang, ...texts }, name, count) {
  /** @type {any} */
  const forms = texts[/** @type {"answersLeft"} */ (name)];
  const text = forms[new Intl.PluralRules(lang).select(count)] ?? forms.other ?? forms;
  return format(text, { count: new Intl.NumberFormat(lang).format(count) });
}

/**
 * Fill `{name}` in a text.
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export function format(text, values) {
  // What runs the other way than the text must not drag its neighbours along.
  const isolated = (value) => (RTL.test(value) === RTL.test(text) || !/\p{L}/u.test(value) ? value : `\u2068${value}\u2069`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? isolated(String(values[name])) : whole));
}

const RTL = /[\u0590-\u08ff]/;

/** The words of a name: `delete_tasks` is "delete tasks". @param {string} name */
export function words(name) {
  return name.replaceAll(/[_-]+/g, " ").trim();
}

/** The same with a capital. @param {string} name */
export function heading(name) {
  const text = words(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
