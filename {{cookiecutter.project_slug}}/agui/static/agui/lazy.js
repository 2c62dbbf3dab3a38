// @ts-check
/** Modules that come with their first use. */

/**
 * Load a module. A browser that could not get one fails the same import for as long as the page lives, so this tries
 * once more at another address. Safari does not say the address: there the second import fails at once, and only a new
 * page helps. All browsers say in their console what they could not get.
 * @template T @param {() => Promise<T>} load @returns {Promise<T>}
 */
export function lazy(load) {
  return load().catch((error) => import(/http\S+/.exec(error.message) + "?" + Date.now()));
}
