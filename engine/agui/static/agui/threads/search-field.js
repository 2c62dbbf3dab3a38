// @ts-check
/** The field in which the user searches the list of conversations. */
import { h } from "../dom/elements.js";

/**
 * @param {string} label
 * @param {{ soon: () => void, now: () => void, down: () => void }} verbs search when the user has
 *   stopped typing, or now; go down into the list
 */
export function searchField(label, { soon, now, down }) {
  const input = h("input", {
    class: "entry", type: "search", maxlength: "200", enterkeyhint: "search", placeholder: label,
    "aria-label": label, oninput: soon,
    onkeydown: (event) => {
      if (event.key === "ArrowDown") {
        event.preventDefault();
        return down();
      }
      if (event.key === "Escape" && input.value) input.value = "";
      else if (event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      now();
    },
  });
  return input;
}
