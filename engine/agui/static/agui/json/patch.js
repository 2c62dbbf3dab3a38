// @ts-check
/** JSON Patch (RFC 6902) on plain values: makes a new document and leaves the old one unchanged. */

/**
 * @typedef {Record<string, unknown>} Container an object, or an array with its indexes as names
 * @typedef {Set<unknown>} Made the containers that this patch has made: only these are changed in
 *   place
 * @typedef {import("../types.d.ts").PatchOperation} Operation
 */

/**
 * Apply every operation, or throw and apply none.
 * @param {unknown} document @param {Operation[]} operations
 */
export function applyPatch(document, operations) {
  /** @type {Made} */
  const made = new Set();
  let result = document;
  for (const operation of operations) result = applyOperation(result, operation, made);
  return result;
}

/** @param {unknown} document @param {Operation} operation @param {Made} made */
function applyOperation(document, operation, made) {
  const { op, value } = operation;
  if (value === undefined && ["add", "replace", "test"].includes(op)) {
    throw new Error(`JSON Patch: ${op} without a value`);
  }
  const path = segments(operation.path);
  switch (op) {
    case "add":
      return change(document, path, (parent, key) => insert(parent, key, value), value, made);
    case "replace":
      read(document, path);
      return change(document, path, (parent, key) => assign(parent, key, value), value, made);
    case "remove":
      read(document, path);
      return change(document, path, remove, null, made);
    case "copy":
    case "move": {
      const from = segments(operation.from);
      const moved = read(document, from);
      const rest = op === "move" ? change(document, from, remove, null, made) : document;
      if (op === "copy") share(moved, made);
      return change(rest, path, (parent, key) => insert(parent, key, moved), moved, made);
    }
    case "test":
      if (!same(read(document, path), value)) {
        throw new Error(`JSON Patch: test failed at ${operation.path}`);
      }
      return document;
    default:
      throw new Error(`JSON Patch: unknown operation ${op}`);
  }
}

/** @param {string | undefined} pointer */
function segments(pointer) {
  if (pointer === "") return [];
  if (!pointer?.startsWith("/")) throw new Error(`JSON Patch: ${pointer} is no path`);
  const parts = pointer.slice(1).split("/");
  const path = parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (path.includes("__proto__")) throw new Error("JSON Patch: forbidden path");
  return path;
}

/** @param {unknown} value @returns {value is Container} */
function isContainer(value) {
  return value !== null && typeof value === "object";
}

/** @param {unknown} document @param {string[]} path */
function read(document, path) {
  return path.reduce((value, key) => {
    const isLength = Array.isArray(value) && key === "length";
    if (!isContainer(value) || !Object.hasOwn(value, key) || isLength) {
      throw new Error(`JSON Patch: nothing at /${path.join("/")}`);
    }
    return value[key];
  }, document);
}

/**
 * Let `edit` change the last container on a path. A patch copies each container on it only once.
 * @param {unknown} document
 * @param {string[]} path
 * @param {(parent: Container, key: string) => void} edit
 * @param {unknown} whole the new document if the path is empty
 * @param {Made} made
 * @returns {unknown}
 */
function change(document, path, edit, whole, made, at = 0) {
  if (!path.length) return whole;
  if (!isContainer(document)) {
    throw new Error(`JSON Patch: nothing at /${path.join("/")}`);
  }
  const copy = made.has(document) ? document : copyOf(document);
  made.add(copy);
  const key = path[at];
  if (at + 1 === path.length) edit(copy, key);
  else copy[key] = change(read(document, [key]), path, edit, whole, made, at + 1);
  return copy;
}

/** @param {Container} container */
function copyOf(container) {
  const copy = Array.isArray(container) ? [...container] : { ...container };
  return /** @type {Container} */ (copy);
}

/**
 * Copy a value before the next change, because it now stands in two places.
 * @param {unknown} value @param {Made} made
 */
function share(value, made) {
  if (!isContainer(value) || !made.delete(value)) return;
  for (const part of Object.values(value)) share(part, made);
}

/** @param {Container} parent @param {string} key @param {unknown} value */
function insert(parent, key, value) {
  if (!Array.isArray(parent)) return assign(parent, key, value);
  const index = key === "-" ? parent.length : Number(key);
  if (!/^(-|0|[1-9]\d*)$/.test(key) || index > parent.length) {
    throw new Error(`JSON Patch: no index ${key}`);
  }
  parent.splice(index, 0, value);
}

/** @param {Container} parent @param {string} key @param {unknown} value */
function assign(parent, key, value) {
  parent[key] = value;
}

/** @param {Container} parent @param {string} key */
function remove(parent, key) {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

/** @param {unknown} a @param {unknown} b @returns {boolean} */
function same(a, b) {
  if (a === b) return true;
  if (!isContainer(a) || !isContainer(b)) return false;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}
