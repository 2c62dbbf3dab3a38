// @ts-check
/** What only pages with something of their own need, in one module. */
import { showStates } from "../catalog/action-state.js";
import { Drawings } from "../messages/drawings.js";
import { openAndWait, sendAndWait } from "../session/waiting.js";
import { drawCall } from "../tools/page-view.js";

export const OWN_PARTS = {
  draw: drawCall,
  make: (/** @type {ConstructorParameters<typeof Drawings>} */ ...about) =>
    new Drawings(...about),
  open: openAndWait,
  send: sendAndWait,
  show: showStates,
};
