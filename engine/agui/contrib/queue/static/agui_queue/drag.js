// @ts-check
/** Drag a row of a list to another place, by a mouse or a finger. */

export class Drag {
  #grip;
  #row;
  #moved;

  /**
   * @param {HTMLElement} grip @param {HTMLElement} row
   * @param {(index: number) => void} moved called with the new place, if there is one
   */
  constructor(grip, row, moved) {
    this.#grip = grip;
    this.#row = row;
    this.#moved = moved;
    grip.addEventListener("pointerdown", (event) => this.#begin(event));
  }

  /** @param {PointerEvent} event */
  #begin({ button, pointerId, clientY: start }) {
    const row = this.#row;
    const list = row.parentElement;
    if (button || !list) return;
    const rows = /** @type {HTMLElement[]} */ ([...list.children]);
    const from = rows.indexOf(row);
    const boxes = rows.map((other) => other.getBoundingClientRect());
    const end = new AbortController();
    const { signal } = end;
    let to = from;
    const finish = () => {
      end.abort();
      list.classList.remove("moving");
      row.classList.remove("drags");
      for (const other of rows) other.style.translate = "";
    };
    /** @param {PointerEvent} event */
    const move = ({ clientY }) => {
      const middle = (boxes[from].top + boxes[from].bottom) / 2 + clientY - start;
      const isAbove = ({ top = 0, bottom = 0 }) => (top + bottom) / 2 < middle;
      to = boxes.filter((box, index) => index !== from && isAbove(box)).length;
      list.classList.add("moving");
      row.classList.add("drags");
      for (const [index, other] of rows.entries()) {
        const isBetween = index > from ? index <= to : index >= to && index < from;
        const shift = isBetween ? boxes[from].height * Math.sign(from - to) : 0;
        other.style.translate = `0 ${other === row ? clientY - start : shift}px`;
      }
    };
    this.#grip.setPointerCapture(pointerId);
    this.#grip.addEventListener("pointermove", move, { signal });
    this.#grip.addEventListener("pointercancel", finish, { signal });
    const drop = () => {
      finish();
      if (to !== from) this.#moved(to);
    };
    this.#grip.addEventListener("pointerup", drop, { signal });
  }
}
