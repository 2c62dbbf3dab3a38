// @ts-check
/** What the list of sources and their cards share: words, and how a link opens. */

/** In English; the tables of other languages have these, too. */
export const SOURCE_WORDS = {
  /** @type {Record<string, string>} */
  sources: { one: "{count} source", other: "{count} sources" },
  sourceMark: "Source {number}: {title}",
  sourceMarks: "Sources {numbers}: {titles}",
  sourcePlace: "{number} of {count}",
  previousSource: "Previous source",
  nextSource: "Next source",
  openSource: "Open",
  allSources: "All sources",
};

/** The attributes of a link to a source. */
export const NEW_TAB = { target: "_blank", rel: "noopener noreferrer" };
