// @ts-check
/** What an app is told about the page: its theme, its colours and its language. */
import { h } from "../agui/dom/elements.js";

/** The names of MCP Apps, and those of the chat. */
const VARIABLES = {
  "--color-background-primary": "--_background",
  "--color-background-secondary": "--_surface",
  "--color-text-primary": "--_text",
  "--color-text-secondary": "--_muted",
  "--color-border-primary": "--_border",
  "--color-ring-primary": "--_accent",
  "--border-radius-md": "--_small",
};

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @param {HTMLElement} host @param {string} locale */
export function appContext(host, locale) {
  const style = getComputedStyle(host);
  /** @type {Record<string, string>} */
  const variables = { "--font-sans": style.fontFamily };
  for (const [name, ours] of Object.entries(VARIABLES)) {
    variables[name] = style.getPropertyValue(ours).trim();
  }
  return {
    theme: isDark(host) ? "dark" : "light",
    styles: { variables },
    locale,
    displayMode: "inline",
    availableDisplayModes: ["inline"],
    platform: "web",
  };
}

/** Which of two colours the browser takes: a page has several ways to say. @param {Element} host */
function isDark(host) {
  const probe = h("i");
  probe.style.color = "light-dark(#000, #fff)";
  host.shadowRoot?.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color === "rgb(255, 255, 255)";
}

/**
 * Tell a frame of each change of the theme, as long as it is there.
 * @param {HTMLElement} host @param {import("./app-frame.js").AppFrame} frame
 */
export function followTheme(host, frame) {
  const reference = new WeakRef(frame);
  const adapt = () => {
    const known = reference.deref();
    if (known) return known.adapt();
    observer.disconnect();
    dark.removeEventListener("change", adapt);
  };
  const observer = new MutationObserver(adapt);
  const attributes = { attributeFilter: ["theme", "data-theme", "style", "class"] };
  for (const element of [host, document.documentElement]) observer.observe(element, attributes);
  dark.addEventListener("change", adapt);
}
