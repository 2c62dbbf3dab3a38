// @ts-check
/** A line above the input if calls of other apps wait for the user's approval. */
import { h, setText } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";

const STYLE = `
.waiting-calls {
  display: block;
  margin: 0 0 8px;
  color: var(--_accent);
  font-size: .875em;
}
.waiting-calls[hidden] { display: none; }
`;

/**
 * @param {import("../agui/composer/composer.js").Composer} composer
 * @param {import("../agui/composer/composer.js").Context} context
 */
export function join(composer, { host }) {
  const url = host.dataset.approvalsUrl;
  if (!url) return undefined;
  const link = h("a", { class: "waiting-calls", href: url, hidden: true });
  composer.element.firstElementChild?.prepend(link);
  adopt(composer.element, STYLE);
  const look = async () => {
    if (document.hidden || !host.isConnected) return;
    const headers = { Accept: "application/json" };
    // The line can do without what fails now: it looks again when the user comes back.
    const response = await host.client.send(url, { headers }).catch(() => null);
    const found = await response?.json();
    setText(link, found?.text ?? "");
    link.hidden = !found?.count;
  };
  document.addEventListener("visibilitychange", look);
  look();
  return {};
}
