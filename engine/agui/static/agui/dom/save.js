// @ts-check
/** Let the user save something as a file. */
import { h } from "./elements.js";

/** How long a browser may take to begin a download, in milliseconds. */
const BEGIN_MS = 60_000;

/**
 * @param {BlobPart[]} content @param {string} type @param {string} title of which the name is made
 * @param {string} extension
 */
export function saveFile(content, type, title, extension) {
  const href = URL.createObjectURL(new Blob(content, { type }));
  const name = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
  h("a", { href, download: `${name || "table"}.${extension}` }).click();
  setTimeout(() => URL.revokeObjectURL(href), BEGIN_MS);
}
