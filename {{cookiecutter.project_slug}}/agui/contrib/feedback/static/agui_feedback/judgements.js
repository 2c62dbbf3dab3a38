// @ts-check
/** What the user thinks of the answers of a thread, by message, as the server tells it. */

/** @typedef {{ value: number, comment: string }} Judgement 1, -1, or 0 for nothing */

/**
 * @param {{ details: Record<string, unknown> }} session
 * @returns {Record<string, Judgement | undefined>}
 */
export const judgementsOf = ({ details }) => Object(details.feedback);
