// @ts-check
/** A picture of the server's files: an `img`, or drawn if its address needs more than cookies. */
import { h } from "../agui/dom/elements.js";
import { fileUrl } from "./files.js";

/** The types that browsers show; an SVG is none, because it may have scripts. */
export const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * @param {{ id: string, width?: number, height?: number }} file
 * @param {string} alt
 * @param {{ client: import("../agui/http/client.js").AgentClient, host: HTMLElement }} context
 * @param {string} gone what to say if there is no picture
 * @param {Record<string, unknown>} [look]
 */
export function pictureOf({ id, width, height }, alt, { client, host }, gone, look) {
  const address = fileUrl(host, id);
  const shape = { width, height, decoding: "async", loading: "lazy", ...look };
  const image = h("img", { alt, ...shape });
  const fail = () => image.replaceWith(h("span", { class: "picture-gone" }, gone));
  image.addEventListener("error", () => void draw(image, address, client).catch(fail));
  image.src = address;
  return image;
}

/**
 * Fetch the picture as every request is sent, with its headers. A canvas has no address that a
 * Content-Security-Policy could refuse.
 * @param {HTMLImageElement} image @param {string} address
 * @param {import("../agui/http/client.js").AgentClient} client
 */
async function draw(image, address, client) {
  const response = await client.send(address, {});
  const picture = await createImageBitmap(await response.blob());
  const { width, height } = picture;
  const canvas = h("canvas", { width, height, role: "img", "aria-label": image.alt });
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
  picture.close();
  image.replaceWith(canvas);
}
