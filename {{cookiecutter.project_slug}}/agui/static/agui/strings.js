// @ts-check
/** Every text that the element shows by itself. Replace any of them with `chat.strings = {...}` or `data-strings`. */
export const STRINGS = {
  title: "Assistant",
  description: "Ask a question, or let me do something for you.",
  launcher: "Open the chat",
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
  you: "You",
  jump: "Go to the latest message",

  thinking: "Thinking",
  thought: "Thought",
  answering: "Answering",
  answered: "The answer is complete.",
  stopped: "Stopped.",
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
  arguments: "Arguments",
  noArguments: "No arguments",
  result: "Result",

  confirm: "Allow “{tool}”?",
  approve: "Approve",
  deny: "Deny",
  answersLeft: "{count} more to decide; then all answers are sent together.",

  ask: "Your answer is needed to go on.",
  answer: "Your answer",
  optional: "optional",
  yes: "Yes",
  no: "No",
  invalidJson: "This is not valid JSON.",
  sendAnswer: "Send answer",
  skip: "Skip",
  expired: "This has expired: it can no longer be answered.",
  dismiss: "Dismiss",

  newChat: "New chat",
  threads: "Conversations",
  noThreads: "No conversations yet.",
  threadsFailed: "The conversations could not be loaded.",
  untitled: "Untitled",
  loadMore: "Load more",
  rename: "Rename “{title}”",
  remove: "Delete “{title}”",
  newTitle: "New title",
  confirmRemove: "Delete this conversation?",
  removeYes: "Delete",
  removeNo: "Keep",

  copy: "Copy",
  copied: "Copied",
  retry: "Try again",
  signIn: "Sign in",
  failedTitle: "Something went wrong",
  runId: "Run {id}",
  // Failures that the page finds out by itself; the others come with the server's own sentence.
  connection_lost: "The connection to the server was lost.",
  unauthorized: "You are signed out. Sign in again to go on.",
  not_a_stream: "The server's answer can't be read.",
};

/** @typedef {typeof STRINGS} Strings */

/**
 * Fill `{name}` in a text.
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export function format(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** The words of a name: `delete_tasks` is "delete tasks". @param {string} name */
export function words(name) {
  return name.replaceAll(/[_-]+/g, " ").trim();
}

/** The same with a capital. @param {string} name */
export function heading(name) {
  const text = words(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
