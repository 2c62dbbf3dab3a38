// @ts-check
/** The files of a message, to download. The first message with files loads this module. */
import { HttpError } from "../agui/http/client.js";
import { h } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";
import { FILE_WORDS, fileFace, fileList, ownText, readFiles, reasonOf } from "./file-face.js";
import { FILE_STYLE } from "./file-style.js";
import { fileUrl } from "./files.js";
import { tellLeftOut } from "./left-out.js";
import { signInLink } from "../agui/page/sign-in.js";
import { format } from "../agui/words/strings.js";

/** How long a browser may take to begin a download, in milliseconds. */
const BEGIN_MS = 60_000;

/**
 * @typedef {{
 *   strings: import("../agui/words/strings.js").Strings,
 *   client: import("../agui/http/client.js").AgentClient,
 *   host: HTMLElement,
 * }} Context
 */

/**
 * Put the files before the text of their message, and hide the text if it has only their names.
 * Below an answer, tell that the model could not read some.
 * @param {HTMLElement} message
 * @param {unknown} named the files, as the message names them
 * @param {Context} context
 */
export function show(message, named, context) {
  /** @type {HTMLElement | null} */
  const bubble = message.querySelector(".bubble");
  if (!bubble) return tellLeftOut(message, context.strings);
  if (!context.host.dataset.attachmentsUrl) return;
  const files = readFiles(named);
  const items = files.map((file) => sentFile(file, context));
  const list = fileList(context.strings, ...items);
  bubble.hidden = !ownText(bubble.textContent ?? "", files);
  if (bubble.previousElementSibling?.matches(".files")) bubble.previousElementSibling.remove();
  bubble.before(list);
  adopt(list, FILE_STYLE);
}

/** @param {import("../agui/types.d.ts").Attachment} attachment @param {Context} context */
function sentFile({ id, name, size }, { strings, client, host }) {
  const { nodes } = fileFace(name, size, strings.lang);
  const failure = h("p", { class: "file-failure", hidden: true });
  const title = format({ ...FILE_WORDS, ...strings }.download, { name });
  const look = { class: "file-link", href: fileUrl(host, id), download: name, title };
  const link = h("a", look, ...nodes);
  const item = h("li", { class: "file", part: "attachment" }, link, failure);
  // A click uses `request`, which has credentials and can show errors. The address is for the
  // browser's menu.
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (item.dataset.status === "loading") return;
    item.dataset.status = "loading";
    failure.hidden = true;
    try {
      const response = await client.send(fileUrl(host, id), {});
      save(await response.blob(), name);
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

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const href = URL.createObjectURL(blob);
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), BEGIN_MS);
}
