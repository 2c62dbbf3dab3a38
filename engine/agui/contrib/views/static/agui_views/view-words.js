// @ts-check
/** In English; the tables of other languages have these, too. */
export const VIEW_WORDS = {
  appOf: "App of “{app}”",
  appCalls: "The app of “{app}” asks:",
  appLinks: "The app of “{app}” wants to open this address:",
  appSays: "The app of “{app}” wants to send this message in your name:",
  appAllow: "Allow",
  appDeny: "Don't allow",
  viewCard: "Card",
  viewRefused: "This can't be done now.",
};
