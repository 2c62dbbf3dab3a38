// @ts-check
/** What a call is about, in the line of its card: calls of one tool are told apart. */

/** The card cuts a longer text; the whole text is among the arguments. */
const LONGEST = 100;
const DATE = /^\d{4}-\d\d-\d\d/;
/** The names of keys: "id", "order_id", "orderId", "pk". */
const KEY = /^(?:id|pk)$|_(?:id|pk)$|[a-z]Id$/;
/** A longer key says nothing to people. */
const LONGEST_KEY = 20;

/**
 * Return the key among the arguments and the first text; dates and other numbers say little without
 * their names. The caller leaves out calls with secrets.
 * @param {unknown} args @returns {string}
 */
export function aboutCall(args) {
  if (typeof args !== "object") return "";
  const all = Object.entries(args ?? {});
  const keys = all.filter(([name]) => KEY.test(name)).map(([, value]) => value);
  const texts = all.filter(([name, value]) => !KEY.test(name) && isText(value));
  const [text = keys.find(isText)] = texts.map(([, value]) => value);
  const key = keys.find((value) => isKey(value) && value !== text);
  const said = [key, text].filter((part) => part !== undefined);
  return said.join(" · ").trim().replace(/\s+/g, " ").slice(0, LONGEST);
}

/** @param {unknown} value */
function isKey(value) {
  return Number.isInteger(value) || (typeof value === "string" && value.length <= LONGEST_KEY);
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === "string" && /\p{L}/u.test(value) && !DATE.test(value);
}
