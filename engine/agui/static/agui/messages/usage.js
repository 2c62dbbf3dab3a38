// @ts-check
/** What an answer has used, in words: its tokens, its price, and how full its context is. */
import { format } from "../words/strings.js";

/** In English; the tables of other languages have these, too. */
export const USAGE_WORDS = {
  usage: "{input} tokens read, {output} written",
  contextUsed: "{share} of the context",
};

/**
 * The usage of one answer, as the server stores it with the answer. Prices are in US dollars.
 * @typedef {{ inputTokens?: number, outputTokens?: number, cost?: number, contextTokens?: number,
 *   contextWindow?: number }} Usage
 */

/**
 * @param {Usage | Usage[]} usage of an answer, or of each model of the last run
 * @param {import("../words/strings.js").Strings} strings
 */
export function usageText(usage, strings) {
  const words = { ...USAGE_WORDS, ...strings };
  const all = [usage].flat();
  if (!all.length) return "";
  /** @param {number} value @param {Intl.NumberFormatOptions} [options] */
  const written = (value, options) => new Intl.NumberFormat(words.lang, options).format(value);
  /** @param {"inputTokens" | "outputTokens"} name */
  const sum = (name) => {
    let total = 0;
    for (const one of all) total += one[name] ?? 0;
    return written(total);
  };
  const texts = [format(words.usage, { input: sum("inputTokens"), output: sum("outputTokens") })];
  const [{ cost, contextTokens, contextWindow }] = all;
  // Two digits of what costs a fraction of a cent, and all cents of what costs more.
  /** @type {Intl.NumberFormatOptions} */
  const money = { style: "currency", currency: "USD", maximumFractionDigits: 2 };
  const small = { ...money, maximumFractionDigits: 20, maximumSignificantDigits: 2 };
  if (cost) texts.push(written(cost, cost < 1 ? small : money));
  if (contextTokens && contextWindow) {
    const share = written(contextTokens / contextWindow, { style: "percent" });
    texts.push(format(words.contextUsed, { share }));
  }
  return texts.join(" · ");
}
