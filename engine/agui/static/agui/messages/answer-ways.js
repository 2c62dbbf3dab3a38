// @ts-check
/** What the page offers below each answer: to quote it, and to hear it. */

const QUOTE = "M6 16.5c2.5-1 3.5-3 3.5-5H5V6.5h5.5v5M15 16.5c2.5-1 3.5-3 3.5-5H14V6.5h5.5v5";
const SPEAKER = "M4 10v4h3.5l5 4V6l-5 4zM16 9a4.2 4.2 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11";

/**
 * @param {Pick<import("../types.d.ts").PageContext, "catalog" | "strings">} context
 * @param {(way: "quote" | "aloud", about: import("../agui-chat.d.ts").About) => unknown} go
 */
export function offerWays({ catalog, strings }, go) {
  catalog.register("action quote", {
    name: "quote", label: strings.quote, icon: QUOTE, on: "answer",
    run: (about) => go("quote", about),
  });
  if (!globalThis.speechSynthesis) return;
  catalog.register("action aloud", {
    name: "aloud", label: strings.readAloud, icon: SPEAKER, on: "answer",
    run: (about) => go("aloud", about),
  });
}
