// @ts-check
/**
 * What has been in view: a button approves nothing that was not in front of the user. Each line of
 * a text counts once it was in view, covered by nothing; a field and a text with a scrollbar of its
 * own count once both their ends were.
 */

/** In English; the tables of other languages have these, too. */
export const SEEN_WORDS = {
  readFirst: "Scroll to the end of the text first.",
};

/** What counts by its ends. */
const WHOLE = "pre, input, select, textarea";
/** The space above a line that is scrolled into view, in pixels. */
const ABOVE = 24;

export class Seen {
  #box;
  #skipped;
  /** @type {WeakSet<Node>} rows that were in view */
  #seen = new WeakSet();
  /** @type {WeakMap<Node, boolean[]>} which points of the other rows were */
  #points = new WeakMap();
  /** @type {Text | Element | undefined} the first row that was not in view */
  #next;

  /** @param {Element} box @param {string} skipped selects what is not part of the text */
  constructor(box, skipped) {
    this.#box = box;
    this.#skipped = skipped;
  }

  /** Record what is in view; return whether everything has been. */
  look() {
    this.#next = undefined;
    for (const row of rowsOf(this.#box, this.#skipped)) {
      if (this.#seen.has(row)) continue;
      const points = pointsOf(row);
      let before = this.#points.get(row);
      // Lines that wrap elsewhere are other lines.
      if (before?.length !== points.length) before = undefined;
      const now = points.map((point, index) => before?.[index] || isInView(row, point));
      this.#points.set(row, now);
      if (now.every(Boolean)) this.#seen.add(row);
      else this.#next ??= row;
    }
    return !this.#next;
  }

  /** Scroll to the first line that has not been in view. */
  showNext() {
    const row = this.#next;
    const index = row && this.#points.get(row)?.indexOf(false);
    if (!row || index === undefined) return;
    scrollToRow(row, index);
    const point = pointsOf(row)[index];
    // What can't be shown, such as a row behind something of the page, must not end in a trap.
    if (!point || !isInView(row, point)) this.#seen.add(row);
  }
}

/**
 * The texts and fields of an element; of what is folded, its summary.
 * @param {Element} element @param {string} skipped @returns {Generator<Text | Element>}
 */
function* rowsOf(element, skipped) {
  const isFolded = element.matches("details:not([open])");
  for (const node of element.childNodes) {
    if (node instanceof Text) {
      if (node.data.trim()) yield node;
    } else if (node instanceof Element) {
      if (node.matches(skipped) || (isFolded && !node.matches("summary"))) continue;
      if (node.matches(WHOLE)) yield node;
      else yield* rowsOf(node, skipped);
    }
  }
}

/** @param {Text | Element} row */
function elementOf(row) {
  return /** @type {HTMLElement} */ (row instanceof Element ? row : row.parentElement);
}

/**
 * A point in each line of a row, or at its ends; none if it is not drawn.
 * @param {Text | Element} row
 */
function pointsOf(row) {
  const range = document.createRange();
  range.selectNodeContents(row);
  const isField = row instanceof Element && !row.matches("pre");
  const all = isField ? row.getClientRects() : range.getClientRects();
  const lines = [...all].filter(({ width, height }) => width > 1 && height > 1);
  const isLong = lines.length > 2 && row instanceof Element;
  const ends = isLong ? [lines[0], lines[lines.length - 1]] : lines;
  // The end of a line that doesn't wrap is cut, or further along its box.
  const box = elementOf(row).getBoundingClientRect();
  return ends.map(({ left, right, top, bottom }) => ({
    x: (Math.max(left, box.left) + Math.min(right, box.right)) / 2,
    y: (top + bottom) / 2,
  }));
}

/** @param {Text | Element} row @param {number} index of its point */
function scrollToRow(row, index) {
  /** @type {Element | null} */
  let box = elementOf(row);
  box.scrollIntoView({ block: "nearest" });
  for (; box; box = box.parentElement) {
    if (box.scrollHeight <= box.clientHeight || !scrolls(box)) continue;
    const point = pointsOf(row)[index];
    if (point) box.scrollTop += point.y - box.getBoundingClientRect().top - ABOVE;
  }
}

/** @param {Text | Element} row @param {{ x: number, y: number }} point */
function isInView(row, { x, y }) {
  const root = /** @type {ShadowRoot} */ (row.getRootNode());
  return elementOf(row).contains(root.elementFromPoint(x, y));
}

/** @param {Element} box */
function scrolls(box) {
  return /auto|scroll/.test(getComputedStyle(box).overflowY);
}
