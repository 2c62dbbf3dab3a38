// @ts-check
/** Where files come in: picked, dropped onto the chat, or pasted. */
import { h, iconButton } from "./dom.js";

/** @typedef {(files: File[]) => void} Take */

/** @param {string} label @param {Take} take */
export function filePicker(label, take) {
  const onchange = () => {
    take([...input.files]);
    input.value = ""; // the same file may be picked again
  };
  const input = h("input", { type: "file", multiple: true, hidden: true, onchange });
  return [iconButton("attach", label, () => input.click(), { part: "attach" }), input];
}

/** @param {HTMLElement} area @param {Take} take */
export function acceptFiles(area, take) {
  const held = (is) => area.classList.toggle("dropping", is);
  const receive = (event) => {
    const { files, types } = event.dataTransfer ?? event.clipboardData;
    if (!holdsFiles(event.type, types)) return;
    event.preventDefault();
    held(event.type === "dragover");
    if (event.type !== "dragover") take([...files]);
  };
  for (const type of ["dragover", "drop", "paste"]) area.addEventListener(type, receive);
  area.addEventListener("dragleave", ({ relatedTarget }) => area.contains(/** @type {any} */ (relatedTarget)) || held(false));
}

/** Office programs copy a picture of a text with it: the text is meant. @param {string} event @param {readonly string[]} types */
export function holdsFiles(event, types) {
  const isText = event === "paste" && types.includes("text/plain") && types.includes("text/html");
  return types.includes("Files") && !isText;
}
