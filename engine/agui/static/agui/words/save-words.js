// @ts-check
/** The words of what saves a table; tables of answers and of tools have it. */

/** In English; the tables of other languages have these, too. */
export const SAVE_WORDS = { saveCsv: "Download as CSV" };
