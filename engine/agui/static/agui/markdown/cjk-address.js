// @ts-check
/** Where an address ends in Chinese, Japanese and Korean texts. */

const CJK_LETTER = "[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}]";
/** Full-width punctuation, curly double quotes and an ellipsis, which addresses don't have. */
const NO_ADDRESS =
  "\\u3001-\\u3003\\u3008-\\u301f\\u30fb\\ufe30-\\ufe6f\\uff01-\\uff0f\\uff1a-\\uff20" +
  "\\uff3b-\\uff40\\uff5b-\\uff65“”…";
/** What ends an address before a letter of a text that goes on without a space. */
const END = "[)*~'\"‘’—]";

/**
 * The rest of an address. Chinese, Japanese and Korean texts go on without a space: after a host,
 * a quote, a bracket or the marks of emphasis.
 */
export const ADDRESS =
  "(?=[\\p{L}\\p{N}])(?:" +
  `[a-z\\d.-]{1,255}\\.[a-z]{2,63}(?::\\d{1,5})?(?=${CJK_LETTER})|` +
  `(?:\\([^\\s<()${NO_ADDRESS}]{0,99}\\)|(?!${END}{1,3}${CJK_LETTER})[^\\s<${NO_ADDRESS}])*)`;
