// @ts-check
/**
 * Load a module on its first use. A browser that could not get one fails the same import for as long as the page lives,
 * so this tries once more at another address. Safari does not say the address: there only a new page helps.
 * @type {<T>(load: () => Promise<T>, ...rest: any[]) => Promise<T>}
 */
export const lazy = (load) => load().catch((error) => import(/http\S+/.exec(error.message) + "?" + Date.now()));
