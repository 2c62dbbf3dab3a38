// @ts-check
/**
 * The files of a sent message, to download, or to see if they are images. The first message with
 * files loads this module.
 */
import { HttpError } from "../agui/http/client.js";
import { h } from "../agui/dom/elements.js";
import { lazy } from "../agui/dom/lazy.js";
import { adopt } from "../agui/dom/own-style.js";
import { FILE_WORDS, fileFace, fileList, ownText, readFiles, reasonOf } from "./file-face.js";
import { FILE_STYLE } from "./file-style.js";
import { tellLeftOut } from "./left-out.js";
import { fileUrl } from "./files.js";
import { download } from "./download.js";
import { PICTURES, pictureOf } from "./picture.js";
import { signInLink } from "../agui/page/sign-in.js";
import { format } from "../agui/words/strings.js";

const STYLE = `
.file-icon img { display: block; height: 100%; object-fit: cover; width: 100%; }
.file-link[aria-haspopup] { cursor: zoom-in; }
`;

/**
 * @typedef {{
 *   strings: import("../agui/words/strings.js").Strings,
 *   client: import("../agui/http/client.js").AgentClient,
 *   host: HTMLElement,
 * }} Context
 */

/**
 * Put the files before the text of their message, and hide the text if it has only their names.
 * Below an answer, tell what the run could do nothing with.
 * @param {HTMLElement} message
 * @param {unknown} named the files, as the message names them
 * @param {Context} context
 * @param {string} key
 */
export function show(message, named, context, key) {
  /** @type {HTMLElement | null} */
  const bubble = message.querySelector(".bubble");
  if (!bubble) return tellLeftOut(message, key, context.strings);
  if (!context.host.dataset.attachmentsUrl) return;
  const files = readFiles(named);
  const images = files.filter(isImage).map((file) => ({ ...file, alt: file.name }));
  const items = files.map((file) => sentFile(file, images, context));
  const list = fileList(context.strings, ...items);
  bubble.hidden = !ownText(bubble.textContent ?? "", files);
  if (bubble.previousElementSibling?.matches(".files")) bubble.previousElementSibling.remove();
  bubble.before(list);
  adopt(list, FILE_STYLE);
  if (images.length) adopt(list, STYLE);
}

/** @typedef {import("../agui/types.d.ts").Attachment} Attachment */
/** @param {Attachment} file */
const isImage = ({ mime }) => PICTURES.includes(mime);

/**
 * @param {Attachment} file @param {import("../agui/types.d.ts").Image[]} images of the message
 * @param {Context} context
 */
function sentFile(file, images, context) {
  const { id, name, size } = file;
  const { strings, host } = context;
  const { face, nodes } = fileFace(name, size, strings.lang);
  const failure = h("p", { class: "file-failure", hidden: true });
  const words = { ...FILE_WORDS, ...strings };
  const opens = isImage(file);
  const title = format(opens ? words.showFile : words.download, { name });
  const look = {
    class: "file-link", href: fileUrl(host, id), title,
    ...(opens ? { "aria-haspopup": "dialog" } : { download: name }),
  };
  if (opens) face.replaceChildren(pictureOf(file, "", context, ""));
  const link = h("a", look, ...nodes);
  const item = h("li", { class: "file", part: "attachment" }, link, failure);
  // A click uses `request`, which has credentials and can show errors. The address is for the
  // browser's menu.
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (opens) {
      const module = await lazy(() => import("./image-viewer.js"));
      const at = images.findIndex((image) => image.id === id);
      if (module) return module.openImages(images, at, context, item);
    }
    if (item.dataset.status === "loading") return;
    item.dataset.status = "loading";
    failure.hidden = true;
    try {
      await download(file, context);
      item.dataset.status = "";
    } catch (error) {
      const known = error instanceof HttpError ? error : { code: "connection_lost" };
      const signIn = signInLink(known, strings, host.dataset.loginUrl);
      item.dataset.status = "failed";
      failure.replaceChildren(reasonOf(known, strings), " ", signIn ?? "");
      failure.hidden = false;
    }
  });
  return item;
}
