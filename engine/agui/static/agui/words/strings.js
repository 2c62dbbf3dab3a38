// @ts-check
/**
 * Every text of the element, except the texts of modules that not every page loads. A Table has
 * both. Replace any of them with `chat.strings = {...}` or `data-strings`. Other languages are
 * tables of their own in languages/: the one that the closest `lang` names is loaded.
 */
export const STRINGS = {
  /** The language of these texts, and of dates, numbers and sizes. */
  lang: "en",

  title: "Assistant",
  greeting: "How can I help?",
  description: "Ask a question, or let me do something for you.",
  close: "Close",
  conversation: "Conversation",
  loading: "Loading the conversation",

  placeholder: "Ask anything",
  placeholderSkills: "{placeholder}, or type / for skills",
  placeholderWaiting: "Answer above, or say what to do instead",
  messageLabel: "Your message",
  send: "Send",
  stop: "Stop",
  skills: "Skills",
  sendNext: "Send when the answer is complete",
  queueFull: "One message is waiting already",
  you: "You",
  jump: "Go to the latest message",

  thinking: "Thinking",
  thought: "Thought",
  answering: "Answering",
  answered: "The answer is complete.",
  stopped: "Stopped.",
  slow: "The model has not answered yet…",
  reconnecting: "The connection was lost. Connecting again…",

  toolRunning: "Running",
  toolWaiting: "Needs your approval",
  toolAsks: "Needs your answer",
  toolExpired: "Expired",
  toolSuccess: "Done",
  toolFailed: "Failed",
  noArguments: "No arguments",

  yes: "Yes",
  no: "No",

  newChat: "New chat",
  threads: "Conversations",
  threadGone:
    "That conversation was not found: it was deleted, or is not yours. Here is a new one.",

  copy: "Copy",
  copied: "Copied",
  copyFailed: "The browser doesn't let this page copy.",
  quote: "Quote",
  readAloud: "Read aloud",
  retry: "Try again",
  failedTitle: "Something went wrong",
  // Failures that the page itself detects. The server sends its own sentence for all others.
  unauthorized: "You are signed out. Sign in again to go on.",
  signIn: "Sign in",
  connection_lost: "The connection to the server was lost.",
};

/** @typedef {typeof STRINGS} Strings */
/**
 * To add a language, add a line here, and a file with all keys of a Table.
 * @type {Record<string, () => Promise<{ STRINGS: import("../types.d.ts").Table }>>}
 */
const TABLES = {
  ar: () => import("./languages/ar.js"),
  de: () => import("./languages/de.js"),
  es: () => import("./languages/es.js"),
  fr: () => import("./languages/fr.js"),
  ja: () => import("./languages/ja.js"),
};

/**
 * The texts of the language in which an element stands: those that differ from the ones above, at
 * once if none have to be loaded.
 * @param {(Node & { lang?: string, host?: Node }) | null | undefined} node
 * @param {string} [url] of a table of the page's own
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

/**
 * "de-AT" if the page says so and the texts are German, otherwise "de".
 * @param {string} language @param {string} own
 */
function localeOf(language, own) {
  try {
    const [locale] = Intl.getCanonicalLocales(language);
    return locale?.split("-")[0] === own ? locale : own;
  } catch {
    return own;
  }
}

/** @typedef {string | Record<string, string>} Forms a text, or one for each form of a number */
/**
 * Return the text for a number, in the language's form for it.
 * @template {string} Name
 * @param {{ lang: string } & Record<Name, Forms>} strings @param {Name} name @param {number} count
 */
export function counted(strings, name, count) {
  const { lang, [name]: forms } = strings;
  const text =
    typeof forms === "string"
      ? forms
      : (forms[new Intl.PluralRules(lang).select(count)] ?? forms.other);
  return format(text, { count: new Intl.NumberFormat(lang).format(count) });
}

/**
 * Fill `{name}` in a text.
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export function format(text, values) {
  // Isolate a value of the other direction, so that it doesn't reorder the text around it.
  /** @param {string} value */
  const isolated = (value) => {
    const runsAlong = RTL.test(value) === RTL.test(text) || !/\p{L}/u.test(value);
    return runsAlong ? value : `\u2068${value}\u2069`;
  };
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    return name in values ? isolated(String(values[name])) : whole;
  });
}

const RTL = /[\u0590-\u08ff]/;

/** Turn a name into words: `delete_tasks` is "delete tasks". @param {string} name */
export function words(name) {
  return name.replaceAll(/[_-]+/g, " ").trim();
}

/** Do the same, with a capital letter. @param {string} name */
export function heading(name) {
  const text = words(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
