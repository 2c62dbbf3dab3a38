// @ts-check
/** Texts that forms and lists of arguments share, in English. */
export const TIME_WORDS = { noZone: "no time zone", nothing: "Nothing" };
