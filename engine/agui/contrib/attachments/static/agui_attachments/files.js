// @ts-check
/**
 * The requests about files. An upload is not a `fetch`, because only XMLHttpRequest reports its
 * progress.
 */
import { checked } from "../agui/http/client.js";

/** @typedef {import("../agui/types.d.ts").UploadOptions} UploadOptions */
/** @typedef {(url: string, form: FormData, options: UploadOptions) => Promise<Response>} Upload */

/**
 * @param {HTMLElement} host @param {Upload} upload @param {File} file
 * @param {UploadOptions} options @returns {Promise<import("../agui/types.d.ts").Attachment>}
 */
export async function uploadFile(host, upload, file, options) {
  const form = new FormData();
  form.append("file", file);
  const response = await checked(await upload(host.dataset.attachmentsUrl ?? "", form, options));
  const { id, name, mime, size } = await response.json();
  return { id, name, mime, size };
}

/** @param {HTMLElement} host @param {string} id */
export function fileUrl(host, id) {
  return `${host.dataset.attachmentsUrl}${encodeURIComponent(id)}/`;
}

/**
 * @param {string} url
 * @param {FormData} form
 * @param {UploadOptions & { headers: Record<string, string> }} options
 * @returns {Promise<Response>}
 */
export function post(url, form, { headers, signal, onprogress }) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    xhr.open("POST", url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) onprogress(loaded / total);
    };
    xhr.onload = () => resolve(new Response(xhr.responseText || null, { status: xhr.status }));
    xhr.onerror = () => reject(new TypeError("The connection was lost."));
    xhr.onabort = () => reject(signal.reason);
    signal.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(form);
  });
}
