// @ts-check
/**
 * What covers the chat has a step of its own in the browser's history: Back closes it, and changes
 * neither the conversation nor the page below it.
 *
 * A step stays when its layer is closed in another way, because `history.back()` would come later
 * than what the user does next. The next layer uses it, another conversation takes its place
 * (thread-memory.js), and Back passes over it.
 */

/** What is open, the last one on top. @type {{ level: number, close: () => void }[]} */
let layers = [];
/** The level of the current step. */
let current = 0;
let isListening = false;

/** @param {any} state @returns {number} */
function levelOf(state) {
  return state?.aguiLayer ?? 0;
}

/** A step back, or forward. @param {PopStateEvent} event */
function stepped(event) {
  const before = current;
  current = levelOf(event.state);
  if (current >= before) return;
  event.stopImmediatePropagation();
  const closed = layers.filter(({ level }) => level > current);
  layers = layers.filter(({ level }) => level <= current);
  for (const { close } of closed.reverse()) close();
  if (!closed.length) history.back();
}

function listen() {
  if (isListening) return;
  isListening = true;
  const look = () => (current = levelOf(history.state));
  look();
  addEventListener("popstate", stepped, { capture: true });
  document.addEventListener("ag-ui-thread", look);
}

/**
 * Let Back close what was opened. Call what this returns when it is closed.
 * @param {() => void} close
 */
export function closeOnBack(close) {
  listen();
  const level = (layers.at(-1)?.level ?? 0) + 1;
  const layer = { level, close };
  layers.push(layer);
  if (current < level) history.pushState({ ...history.state, aguiLayer: level }, "");
  current = Math.max(current, level);
  return () => {
    // What was opened from this layer goes with it.
    if (layers.includes(layer)) layers = layers.filter((other) => other.level < level);
  };
}
