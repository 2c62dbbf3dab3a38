// @ts-check
/** All that shows messages: their text as Markdown, and the toolbars below them. Loaded at once. */
import { read } from "../markdown/nodes.js";
import { MessageActions } from "./actions.js";

export const READING = { read, MessageActions };
