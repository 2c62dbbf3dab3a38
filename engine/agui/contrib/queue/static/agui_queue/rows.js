// @ts-check
/** The messages that wait in the open thread, as the user sees them, and what is to say of them. */
import { HttpError } from "../agui/http/client.js";

/** @typedef {import("../agui/types.d.ts").Message} Message */
/** @typedef {"queue" | "steer"} Mode */
/** @typedef {{ id: string, message: Message, mode: Mode, isUnsent?: boolean }} Row */
/**
 * What is in the way: "full", "unsent", "too_late", or a refusal of the server and its sentence.
 * @typedef {{ code: string, message?: string }} Problem
 */
/** @typedef {keyof typeof import("./words.js").WAITING_WORDS} Word */
/**
 * What a screen reader says: a word, and what it is filled with.
 * @typedef {{ name: Word, values: Record<string, number> }} Told
 */

/** Dispatches "change" and "told". */
export class Rows extends EventTarget {
  /** @type {Row[]} */
  all = [];
  /** Why they wait although no run is on. @type {string | null} */
  held = null;
  /** @type {Problem | null} */
  problem = null;
  /** @type {Told | null} */
  told = null;
  max;

  /** @param {number} max */
  constructor(max) {
    super();
    this.max = max;
  }

  get unsent() {
    return this.all.filter(({ isUnsent }) => isUnsent);
  }

  get isFull() {
    return this.all.length >= this.max;
  }

  /** @param {string} id */
  find(id) {
    return this.all.find((row) => row.id === id);
  }

  /** @param {Row[]} rows */
  set(rows) {
    this.all = rows;
    const { code } = this.problem ?? {};
    const isOver = (code === "unsent" && !this.unsent.length) || (code === "full" && !this.isFull);
    if (isOver) this.problem = null;
    this.changed();
  }

  /** @param {string} id @param {Partial<Row>} change */
  replace(id, change) {
    this.set(this.all.map((row) => (row.id === id ? { ...row, ...change } : row)));
  }

  /** @param {string} id @returns {Row | undefined} the row that was there */
  drop(id) {
    const row = this.find(id);
    if (row) this.set(this.all.filter((other) => other !== row));
    return row;
  }

  /** Put a row in another place. @param {Row} row @param {number} place */
  move(row, place) {
    const rows = this.all.filter((other) => other !== row);
    rows.splice(place, 0, row);
    this.set(rows);
  }

  /** @param {{ held: string | null, refusal: import("./requests.js").Refusal }} answer */
  explain({ held, refusal }) {
    this.held = held;
    if (refusal) this.problem = { code: refusal.error, message: refusal.message };
    this.changed();
  }

  /** Nothing is in the way any more. */
  clear() {
    this.held = this.problem = null;
    this.changed();
  }

  /** @param {Problem} problem */
  say(problem) {
    this.problem = problem;
    this.changed();
  }

  /** @param {Told["name"]} name @param {Told["values"]} values */
  tell(name, values = {}) {
    this.told = { name, values };
    this.dispatchEvent(new Event("told"));
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** @param {import("../agui/types.d.ts").Attachment[]} [attachments] */
export function namesOf(attachments = []) {
  return attachments.map(({ name }) => name).join(", ");
}

/** @param {unknown} error @param {string} offline @returns {Problem} */
export function problemOf(error, offline) {
  if (!(error instanceof HttpError)) return { code: offline };
  return { code: error.code, message: error.message };
}
