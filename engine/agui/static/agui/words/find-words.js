// @ts-check
/** Words of several modules that find something, in English. */
export const FOUND_WORDS = {
  findHere: "Find in this conversation",
  showShortcuts: "Show the keyboard shortcuts",
  untitled: "Untitled",
};
