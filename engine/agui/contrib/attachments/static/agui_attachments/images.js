// @ts-check
/** The activity `images`: what a model or a tool has drawn, in a grid. The first one loads this. */
import { h } from "../agui/dom/elements.js";
import { reconcile } from "../agui/dom/keyed.js";
import { adopt } from "../agui/dom/own-style.js";
import { format } from "../agui/words/strings.js";
import { fileUrl } from "./files.js";
import { IMAGE_WORDS } from "./image-words.js";
import { pictureOf } from "./picture.js";

/** @typedef {import("../agui/types.d.ts").Image} Image */

const STYLE = `
.activity:has(> .images) { border: 0; border-radius: 0; min-height: 0; padding: 0; }
.images { display: grid; gap: .5rem; list-style: none; margin: 0; max-width: 36rem; padding: 0; }
.images[data-columns="2"] { grid-template-columns: 1fr 1fr; }
.images[data-columns="3"] { grid-template-columns: 1fr 1fr 1fr; }
.images > li { min-width: 0; }
.image-link {
  aspect-ratio: 1; background: var(--_surface); border-radius: var(--_radius); color: var(--_muted);
  cursor: zoom-in; display: block; outline-offset: 2px; overflow: hidden; position: relative;
}
.images:not([data-columns]) .image-link {
  aspect-ratio: var(--_ratio, 1); width: min(100%, 28rem, 28rem * var(--_ratio, 1));
}
.image-link::after {
  border: 1px solid light-dark(#0001, #fff2); border-radius: inherit; content: ""; inset: 0;
  pointer-events: none; position: absolute;
}
.image-link :is(img, canvas) {
  display: block; height: 100%; object-fit: cover; transition: scale .2s; width: 100%;
}
.image-link:hover :is(img, canvas) { scale: 1.02; }
.image-link .picture-gone { display: grid; height: 100%; padding: .75rem; place-items: center; }
.picture-gone { font-size: .85rem; overflow-wrap: anywhere; text-align: center; }
@media (prefers-reduced-motion: reduce) { .image-link :is(img, canvas) { transition: none; } }
@media print {
  .image-link { break-inside: avoid; }
  .images:not([data-columns]) .image-link { max-height: 60vh; }
}
`;

/** @type {import("../agui/types.d.ts").ActivityModule["view"]} */
export function view(context) {
  const strings = { ...IMAGE_WORDS, ...context.strings };
  const element = h("ul", { class: "activity-body images", "aria-label": strings.images });
  /** @type {Map<string, HTMLElement>} */
  const items = new Map();
  /** @type {Image[]} */
  let images = [];

  /** @param {MouseEvent} event @param {string} id */
  const open = async (event, id) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const module = await context.load(() => import("./image-viewer.js"));
    module?.openImages(images, images.findIndex((image) => image.id === id), context, element);
  };
  /** @param {Image} image */
  const make = (image) => {
    const { id, width, height } = image;
    const name = image.alt || strings.imageMade;
    const link = h(
      "a",
      {
        class: "image-link",
        part: "image",
        href: fileUrl(context.host, id),
        "aria-haspopup": "dialog",
        "aria-label": format(strings.openImage, { name }),
        onclick: (event) => void open(event, id),
      },
      pictureOf(image, name, context, strings.imageGone),
    );
    if (width && height) link.style.setProperty("--_ratio", String(width / height));
    return h("li", {}, link);
  };
  /** @param {Record<string, unknown>} content */
  const update = (content) => {
    // The activity puts the element into the page after this.
    queueMicrotask(() => adopt(element, STYLE));
    images = readImages(content.images);
    const views = reconcile(items, images, {
      key: ({ id }) => id, make, drop: (item) => item.remove(),
    });
    element.append(...views.filter((item) => !item.isConnected));
    for (const [index, item] of views.entries()) {
      if (element.children[index] !== item) element.insertBefore(item, element.children[index]);
    }
    const columns = [2, 4].includes(images.length) ? 2 : 3;
    if (images.length > 1) element.dataset.columns = String(columns);
    else delete element.dataset.columns;
  };
  return { element, update };
}

/**
 * Read the images of an activity. Throws if it has none.
 * @param {unknown} told @returns {Image[]}
 */
function readImages(told) {
  /** @type {unknown[]} */
  const all = Array.isArray(told) ? told : [];
  const images = all.map(Object).filter(({ id }) => typeof id === "string" && id);
  if (!images.length) throw new TypeError("An activity of images has none.");
  return images.map(({ id, name, mime, size, width, height, alt }) => ({
    id,
    name: String(name ?? id),
    mime: String(mime ?? ""),
    size: Number(size),
    ...(width > 0 && height > 0 && { width: Number(width), height: Number(height) }),
    ...(typeof alt === "string" && { alt }),
  }));
}
