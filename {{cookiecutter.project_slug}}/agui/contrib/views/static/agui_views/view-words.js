// @ts-check
/** In English; the tables of other languages have these, too. */
export const VIEW_WORDS = {
  viewCard: "Card",
  viewRefused: "This can't be done now.",
};
