// @ts-check
/** What an item of a list is called, so that people find it again. */

/** The names of fields that name an item, the best first. */
const NAMES = ["title", "name", "label", "subject", "summary", "description", "email"];
const KEYS = ["id", "key", "code", "sku", "number"];
const LONGEST = 80;

/**
 * Find the field that names an item. `isKey` if it is only a key, which needs its field's name
 * beside it.
 * @param {unknown} item @param {(key: string) => boolean} [hides] whether a field is secret
 * @returns {{ key: string, text: string, isKey: boolean } | null}
 */
export function itemName(item, hides = () => false) {
  if (item === null || typeof item !== "object" || Array.isArray(item)) return null;
  /** @type {Map<string, [string, unknown]>} */
  const fields = new Map(Object.entries(item).map((field) => [field[0].toLowerCase(), field]));
  for (const name of [...NAMES, ...KEYS]) {
    const [key, value] = fields.get(name) ?? ["", ""];
    const text = textOf(value);
    if (text && !hides(key)) return { key, text, isKey: KEYS.includes(name) };
  }
  return null;
}

/** @param {unknown} value a field's value, whose number may be exact */
function textOf(value) {
  if (typeof value !== "string" && !isNumber(value)) return "";
  const text = String(value).trim();
  return text.length <= LONGEST && !text.includes("\n") ? text : "";
}

/** @param {unknown} value */
function isNumber(value) {
  return typeof value === "number" || (value instanceof Object && "source" in value);
}
