// @ts-check
/** What an app is told about the page: its theme, its colours and its language. */

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
  const scheme = style.colorScheme;
  const isDark = scheme === "dark" || (scheme.includes("dark") && dark.matches);
  return {
    theme: isDark ? "dark" : "light",
    styles: { variables },
    locale,
    displayMode: "inline",
    availableDisplayModes: ["inline"],
    platform: "web",
  };
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
  observer.observe(host, { attributeFilter: ["theme", "style", "class"] });
  dark.addEventListener("change", adapt);
}
