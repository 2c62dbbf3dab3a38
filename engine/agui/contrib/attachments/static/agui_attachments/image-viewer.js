// @ts-check
/** The large view of images, over the whole page. The first image that is opened loads this. */
import { closeOnBack } from "../agui/dom/back.js";
import { h, icon, iconButton, setText } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";
import { format } from "../agui/words/strings.js";
import { download } from "./download.js";
import { IMAGE_WORDS } from "./image-words.js";
import { pictureOf } from "./picture.js";

/** @typedef {import("../agui/types.d.ts").Image} Image */

const STYLE = `
.image-viewer {
  background: #0d0d0d; border: 0; color: #fff; color-scheme: dark; height: 100dvh; margin: 0;
  max-height: none; max-width: none; overflow: hidden; padding: 0; width: 100vw;
}
.image-viewer[open] {
  display: grid; grid-template: auto minmax(0, 1fr) auto / 100%; inset: 0; position: fixed;
}
.image-viewer header { align-items: center; display: flex; gap: .25rem; padding: .5rem .75rem; }
.image-viewer .image-place { flex: 1; font-size: .9rem; font-variant-numeric: tabular-nums; }
.image-viewer .icon-button { color: #fff; height: 2.75rem; width: 2.75rem; }
.image-viewer .icon-button:hover { background: #fff3; }
.image-viewer :focus-visible { outline: 2px solid #fff; outline-offset: 2px; }
.image-stage { display: grid; grid-template: minmax(0, 1fr) / minmax(0, 1fr); min-height: 0; }
.image-stage { padding-inline: .75rem; place-items: center; touch-action: pinch-zoom; }
.image-stage > * { grid-area: 1 / 1; }
.image-holder { display: grid; height: 100%; min-width: 0; place-items: center; width: 100%; }
.image-holder { grid-template: minmax(0, 1fr) / minmax(0, 1fr); }
.image-stage :is(img, canvas) {
  background: #fff1; border-radius: 6px; height: auto; max-height: 100%; max-width: 100%;
  min-height: 0; object-fit: contain; width: auto;
}
.image-stage .icon-button { background: #0009; border-radius: 50%; z-index: 1; }
.image-stage .previous { justify-self: start; }
.image-stage .next { justify-self: end; }
.image-viewer .icon-chevron { rotate: none; }
.image-stage .previous .icon, .image-stage .next:dir(rtl) .icon { scale: -1 1; }
.image-stage .previous:dir(rtl) .icon { scale: 1 1; }
.image-viewer footer { font-size: .95rem; max-height: 25dvh; overflow: auto; text-align: center; }
.image-viewer footer { overflow-wrap: anywhere; padding: .75rem 1.25rem 1.25rem; }
.image-viewer footer p { margin: 0; }
.image-viewer .picture-gone { color: #fffc; }
@media (min-width: 40rem) {
  .image-stage:has(.next) { padding-inline: 4.5rem; position: relative; }
  .image-stage .icon-button { grid-area: auto; position: absolute; }
  .image-stage .previous { inset-inline-start: .75rem; }
  .image-stage .next { inset-inline-end: .75rem; }
}
`;

/** How far a finger moves to see another image, in pixels. */
const SWIPE = 50;
const SAVE = "M12 4v11M6.5 10.5 12 16l5.5-5.5M4.5 20h15";

/**
 * @param {Image[]} images @param {number} at which of them to show first
 * @param {{
 *   strings: import("../agui/words/strings.js").Strings,
 *   client: import("../agui/http/client.js").AgentClient, host: HTMLElement,
 * }} context
 * @param {Element} place from which they were opened
 */
export function openImages(images, at, context, place) {
  const { strings, host } = context;
  const words = { ...IMAGE_WORDS, ...strings };
  const count = images.length;
  let index = Math.max(0, at);
  const number = h("p", { class: "image-place", "aria-live": "polite" });
  const caption = h("p", { dir: "auto" });
  const failure = h("p", { role: "alert" });
  const holder = h("div", { class: "image-holder" });
  const close = iconButton("close", words.close, () => dialog.close());
  const saves = async () => {
    failure.textContent = "";
    await download(images[index], context).catch(() => setText(failure, words.imageUnsaved));
  };
  const { saveImage } = words;
  const look = { type: "button", class: "icon-button", "aria-label": saveImage, title: saveImage };
  const save = h("button", { ...look, onclick: saves }, icon("save", SAVE));
  /** @param {string} name @param {string} label @param {number} step */
  const button = (name, label, step) =>
    count > 1 && iconButton("chevron", label, () => show(index + step), {
      class: `icon-button ${name}`,
    });
  const stage = h(
    "div", { class: "image-stage" },
    button("previous", words.previousImage, -1), holder, button("next", words.nextImage, 1),
  );
  /** @type {HTMLDialogElement} */
  const dialog = h(
    "dialog", { class: "image-viewer", part: "image-viewer", "aria-label": words.images },
    h("header", {}, number, save, close), stage, h("footer", {}, caption, failure),
  );

  /** @param {number} wanted */
  const show = (wanted) => {
    index = (wanted + count) % count;
    const image = images[index];
    const name = image.alt || words.imageMade;
    const picture = pictureOf(image, name, context, words.imageGone, { loading: "eager" });
    holder.replaceChildren(picture);
    setText(caption, name);
    setText(failure, "");
    const where = { number: index + 1, count };
    setText(number, count > 1 ? format(words.imagePlace, where) : "");
  };
  const isRtl = () => getComputedStyle(dialog).direction === "rtl";

  const { session } = /** @type {import("../agui/agui-chat.d.ts").AguiChatElement} */ (host);
  const { threadId } = session;
  const stays = new AbortController();
  // After signing out, and in another conversation, nobody sees the images of this one.
  session.addEventListener("change", () => session.threadId === threadId || dialog.close(), stays);
  dialog.addEventListener("close", () => (stays.abort(), release(), dialog.remove()));
  dialog.addEventListener("click", ({ target }) => {
    if ([dialog, stage, holder].some((empty) => empty === target)) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && count > 1) show(index + (isRtl() ? -step : step));
  });
  let from = NaN;
  stage.addEventListener("touchstart", ({ touches }) => {
    from = touches.length === 1 ? touches[0].clientX : NaN;
  }, { passive: true });
  stage.addEventListener("touchend", ({ changedTouches }) => {
    const way = changedTouches[0].clientX - from;
    if (!(Math.abs(way) > SWIPE) || count < 2) return;
    show(index + (way < 0 === isRtl() ? -1 : 1));
  });

  const root = place.getRootNode();
  const panel = root instanceof ShadowRoot && root.querySelector(".panel");
  (panel || host).append(dialog);
  adopt(dialog, STYLE);
  show(index);
  dialog.showModal();
  close.focus();
  const release = closeOnBack(() => dialog.close());
}
