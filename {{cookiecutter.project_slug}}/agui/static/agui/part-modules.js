// @ts-check
/** The page's modules of parts. `data-modules` has their addresses by what they show. */
import { lazy } from "./lazy.js";

/**
 * What a module under `activity:<type>` exports. `update` throws for what it can't show.
 * @typedef {{
 *   strings: import("./strings.js").Strings, load: import("./lazy.js").Load, host: HTMLElement,
 * }} ViewContext
 * @typedef {{ element: HTMLElement, update: (content: Record<string, unknown>) => void }} View
 * @typedef {{ view: (context: ViewContext) => View }} ActivityModule
 * What the module under `math` exports.
 * @typedef {{ drawFormulas: (codes: Element[]) => void }} MathModule
 * @typedef {{ math: MathModule, [activity: `activity:${string}`]: ActivityModule }} PartModules
 */

/**
 * Load the module that shows this; null if no part has one, or if it can't be loaded.
 * @template {keyof PartModules} Name
 * @param {HTMLElement} host @param {Name} name
 * @returns {Promise<PartModules[Name] | null>}
 */
export async function moduleOf(host, name) {
  /** @type {Record<string, string>} */
  const addresses = JSON.parse(host.dataset.modules || "{}");
  if (!Object.hasOwn(addresses, name)) return null;
  return lazy(() => import(new URL(addresses[name], host.baseURI).href));
}
