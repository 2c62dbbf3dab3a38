// @ts-check
/** The words of messages that wait. */

/** In English; the tables of other languages have these, too. */
export const WAITING_WORDS = {
  waitingMessages: "Waiting messages",
  whenRead: "When the agent reads it",
  afterAnswer: "After this answer",
  nextStep: "At the next step",
  stopAndSend: "Stop and send",
  readNextStep: "Let the agent read it at the next step",
  moveWaiting: "Move",
  editWaiting: "Edit",
  saveWaiting: "Save",
  cancel: "Cancel",
  removeWaiting: "Remove",
  sendWaiting: "Send now",
  waitingAdded: "Your message is waiting.",
  waitingMoved: "Moved to place {place} of {count}.",
  waitingRead: "The agent has read your message.",
  waitingRemoved: "Removed.",
  waitingFull: "No more than {count} can wait.",
  waitingUnsent: "Not sent yet: there is no connection. It is kept here.",
  waitingTooLate: "The agent has read it already.",
  heldPaused: "The agent reads this when you have answered above.",
  heldFailed: "The answer failed. This was not sent.",
  heldCancelled: "The answer was stopped. This was not sent.",
  heldTimedOut: "The answer took too long. This was not sent.",
  heldInterrupted: "The answer was interrupted. This was not sent.",
  heldFinished: "The next answer could not begin. This was not sent.",
};

/** @typedef {import("../agui/types.d.ts").Strings & typeof WAITING_WORDS} Words */
