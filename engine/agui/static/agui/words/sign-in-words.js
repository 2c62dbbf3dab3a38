// @ts-check
/** The word of the link for users who are no longer signed in, in English. */
export const SIGN_IN_WORDS = { signIn: "Sign in" };
