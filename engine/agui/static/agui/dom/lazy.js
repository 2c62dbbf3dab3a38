// @ts-check
/**
 * Load modules on their first use. If a module can't be loaded, its caller goes on without it, and
 * the next use tries again. If the user had asked for it, the chat tells them. `data-modules` has
 * the addresses of modules of parts.
 */

/**
 * Load a module, or throw. After one failure, browsers fail every import from the same address
 * until the page is reloaded, so try once more at another address. Safari's error has no address,
 * so there only a reload helps.
 * @type {<T>(load: () => Promise<T>, ...rest: unknown[]) => Promise<T>}
 */
export const fetchModule = (load) =>
  load().catch((error) => import(/http\S+/.exec(error.message) + "?" + Date.now()));

/**
 * @typedef {<T>(load: () => Promise<T>) => Promise<T | null>} Load loads a module that the
 *   user has asked for, and its style
 */

/**
 * Load a module; null if it can't be loaded.
 * @template T @param {() => Promise<T>} load
 * @param {() => void} [tell] tells the user that something is missing
 * @returns {Promise<T | null>}
 */
export async function lazy(load, tell) {
  try {
    return await fetchModule(load);
  } catch (error) {
    console.warn("agui-chat:", error);
    tell?.();
    return null;
  }
}

/** @typedef {import("../types.d.ts").PartModules} PartModules */

/**
 * The addresses of the modules of parts, by what they are for.
 * @param {HTMLElement} host @returns {Record<string, string | undefined>}
 */
export function partModules(host) {
  // Without a prototype, "toString" is no name.
  return { __proto__: null, ...JSON.parse(host.dataset.modules || "{}") };
}

/**
 * Load a part's module; null if no part has it, or if it can't be loaded.
 * @template {keyof PartModules} Name
 * @param {HTMLElement} host @param {Name} name @param {Load} [load]
 * @returns {Promise<PartModules[Name] | null>}
 */
export async function moduleOf(host, name, load = lazy) {
  const address = partModules(host)[name];
  // In production, the page's file has those that every page needs.
  const joined = /** @type {any} */ (globalThis)[Symbol.for("agui-parts")]?.[name];
  return address ? (joined ?? load(() => import(address))) : null;
}

/**
 * Load what all parts have for a place in the chat, such as "composer".
 * @template {import("../types.d.ts").Place} Name
 * @param {HTMLElement} host @param {Name} place
 * @returns {Promise<PartModules[`${Name}:`][]>}
 */
export async function modulesFor(host, place) {
  const names = Object.keys(partModules(host)).filter((name) => name.startsWith(`${place}:`));
  const loading = names.map((name) => moduleOf(host, /** @type {`${Name}:`} */ (name)));
  return (await Promise.all(loading)).filter((module) => module !== null);
}

/**
 * Let the modules of parts join; one that fails adds nothing.
 * @template {unknown[]} About @template Added
 * @param {{ join: (...about: About) => Added | undefined }[]} modules @param {About} about
 */
export function joinAll(modules, ...about) {
  /** @type {Added[]} */
  const all = [];
  for (const { join } of modules) {
    try {
      const added = join(...about);
      if (added) all.push(added);
    } catch (error) {
      console.error("agui-chat:", error); // The failure is the part's, and the chat goes on.
    }
  }
  return all;
}
