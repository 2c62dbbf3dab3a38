// @ts-check
/** JSON Patch (RFC 6902) on plain values: returns a new document and leaves the old one as it was. */

/**
 * Apply every operation, or throw and apply none.
 * @param {any} document
 * @param {any[]} operations
 */
export function applyPatch(document, operations) {
  return operations.reduce(applyOperation, document);
}

/**
 * @param {any} document
 * @param {any} operation
 */
function applyOperation(document, operation) {
  const { op, value } = operation;
  if (value === undefined && ["add", "replace", "test"].includes(op)) throw new Error(`JSON Patch: ${op} without a value`);
  const path = segments(operation.path);
  switch (op) {
    case "add":
      return change(document, path, (parent, key) => insert(parent, key, value), value);
    case "replace":
      read(document, path);
      return change(document, path, (parent, key) => assign(parent, key, value), value);
    case "remove":
      read(document, path);
      return change(document, path, remove, null);
    case "copy":
    case "move": {
      const from = segments(operation.from);
      const moved = read(document, from);
      const rest = op === "move" ? change(document, from, remove, null) : document;
      return change(rest, path, (parent, key) => insert(parent, key, moved), moved);
    }
    case "test":
      if (!same(read(document, path), value)) throw new Error(`JSON Patch: test failed at ${operation.path}`);
      return document;
    default:
      throw new Error(`JSON Patch: unknown operation ${op}`);
  }
}

/** @param {string} pointer */
function segments(pointer) {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw new Error(`JSON Patch: ${pointer} is no path`);
  const path = pointer.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (path.includes("__proto__")) throw new Error("JSON Patch: forbidden path");
  return path;
}

/**
 * @param {any} document
 * @param {string[]} path
 */
function read(document, path) {
  return path.reduce((value, key) => {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, key) || (Array.isArray(value) && key === "length")) {
      throw new Error(`JSON Patch: nothing at /${path.join("/")}`);
    }
    return value[key];
  }, document);
}

/**
 * Copy the containers along the path and let `edit` change the last one.
 * @param {any} document
 * @param {string[]} path
 * @param {(parent: any, key: string) => void} edit
 * @param {any} whole what the document becomes when the path is empty
 */
function change(document, path, edit, whole) {
  if (!path.length) return whole;
  if (document === null || typeof document !== "object") throw new Error(`JSON Patch: nothing at /${path.join("/")}`);
  const copy = Array.isArray(document) ? [...document] : { ...document };
  const [key, ...rest] = path;
  if (rest.length) copy[key] = change(read(document, [key]), rest, edit, whole);
  else edit(copy, key);
  return copy;
}

/** @param {any} parent @param {string} key @param {any} value */
function insert(parent, key, value) {
  if (!Array.isArray(parent)) return assign(parent, key, value);
  const index = key === "-" ? parent.length : Number(key);
  if (!/^(-|0|[1-9]\d*)$/.test(key) || index > parent.length) throw new Error(`JSON Patch: no index ${key}`);
  parent.splice(index, 0, value);
}

/** @param {any} parent @param {string} key @param {any} value */
function assign(parent, key, value) {
  parent[key] = value;
}

/** @param {any} parent @param {string} key */
function remove(parent, key) {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

/** @param {any} a @param {any} b @returns {boolean} */
function same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}
