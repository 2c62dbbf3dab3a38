// @ts-check
/** How files come in: the user picks, drops or pastes them. */
import { h, iconButton } from "../dom/elements.js";

/** @typedef {(files: File[]) => void} Take */

/** @param {string} label @param {Take} take */
export function filePicker(label, take) {
  const onchange = () => {
    take([...(input.files ?? [])]);
    input.value = ""; // The user may pick the same file again.
  };
  const input = h("input", { type: "file", multiple: true, hidden: true, onchange });
  return [iconButton("attach", label, () => input.click(), { part: "attach" }), input];
}

/**
 * @param {HTMLElement} area @param {Take} take
 * @param {() => unknown} style what shows that files are held over the area
 */
export function acceptFiles(area, take, style) {
  /** @param {boolean} is */
  const held = (is) => {
    if (is) style();
    area.classList.toggle("dropping", is);
  };
  /** @param {DragEvent & ClipboardEvent} event */
  const receive = (event) => {
    const { files = [], types = [] } = event.dataTransfer ?? event.clipboardData ?? {};
    if (!holdsFiles(event.type, types)) return;
    event.preventDefault();
    held(event.type === "dragover");
    if (event.type !== "dragover") take([...files]);
  };
  for (const type of ["dragover", "drop", "paste"]) {
    area.addEventListener(type, /** @type {EventListener} */ (receive));
  }
  area.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!area.contains(/** @type {Node | null} */ (relatedTarget))) held(false);
  });
}

/**
 * Office programs copy a text together with a picture of it: take the text.
 * @param {string} event @param {readonly string[]} types
 */
export function holdsFiles(event, types) {
  const isText = event === "paste" && types.includes("text/plain") && types.includes("text/html");
  return types.includes("Files") && !isText;
}
