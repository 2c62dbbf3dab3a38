// @ts-check
/** Texts that a message and its editor share, in English. */
export const EDIT_WORDS = { editMessage: "Edit the message" };
