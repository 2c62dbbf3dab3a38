// @ts-check
/** Save a file of the server on the user's device. */
import { h } from "../agui/dom/elements.js";
import { fileUrl } from "./files.js";

/** How long a browser may take to begin a download, in milliseconds. */
const BEGIN_MS = 60_000;

/**
 * Fetch the file as every request is sent, which has credentials and can show errors. Throws
 * HttpError, and TypeError without a connection.
 * @param {{ id: string, name: string }} file
 * @param {{ client: import("../agui/http/client.js").AgentClient, host: HTMLElement }} context
 */
export async function download({ id, name }, { client, host }) {
  const response = await client.send(fileUrl(host, id), {});
  const href = URL.createObjectURL(await response.blob());
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), BEGIN_MS);
}
