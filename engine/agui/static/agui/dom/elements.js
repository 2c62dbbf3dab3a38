// @ts-check
/** Make elements and icons. Text stays text: nothing here parses HTML. */

/**
 * `h("button", { class: "primary", onclick: send }, "Send")`: functions become listeners, true an
 * empty attribute, and false, null or undefined none.
 * @template {string} Tag
 * @param {Tag} tag
 * @param {import("../types.d.ts").Attributes} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {import("../types.d.ts").Made<Tag>}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else setAttribute(element, name, value);
  }
  element.append(...children.filter((child) => child != null && child !== false));
  return /** @type {import("../types.d.ts").Made<Tag>} */ (element);
}

/** @param {Element} element @param {string} name @param {unknown} value */
export function setAttribute(element, name, value) {
  if (value === false || value == null) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/**
 * Change a text only if it differs. Otherwise a live region would read it again.
 * @param {Element} element @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Whether focusing a text opens a keyboard over half of the screen. */
export const isTouch = () => matchMedia("(pointer: coarse)").matches;

const SVG = "http://www.w3.org/2000/svg";

/** @type {Record<string, string>} paths on a 24 by 24 grid */
const ICONS = {
  send: "M12 19V5M5.5 11.5 12 5l6.5 6.5",
  stop: "M7 7h10v10H7z",
  compose: "M12 20h8M16.5 4.5a2.1 2.1 0 0 1 3 3L8 19l-4 1 1-4z",
  threads: "M4 5h16v14H4zM9.5 5v14",
  close: "M6 6l12 12M18 6 6 18",
  chevron: "m9 6 6 6-6 6",
  check: "m5 12.5 4.5 4.5L19 7.5",
  alert: "M12 8v5M12 16.5v.01M12 3l9.5 17h-19z",
  pause: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  edit: "M16.5 4.5a2.1 2.1 0 0 1 3 3L8 19l-4 1 1-4z",
  trash: "M4.5 7h15M9.5 7V4.5h5V7M6.5 7l1 13h9l1-13",
  slash: "M5 4h14v16H5zM14 8l-4 8",
  retry: "M19.5 12a7.5 7.5 0 1 1-2.3-5.4l2.3 2.2M19.5 4v4.8h-4.8",
  copy: "M9 9h10.5v11H9zM15 9V4H4.5v11H9",
  down: "M12 5v14M5.5 12.5 12 19l6.5-6.5",
};

/** @param {string} name @param {string} [path] for an icon that is not in PATHS */
export function icon(name, path = ICONS[name]) {
  const svg = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${name}`);
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/**
 * @param {string} name @param {string} label @param {(event: MouseEvent) => unknown} onclick
 * @param {Record<string, unknown>} [attributes] @param {string} [path] as for `icon`
 */
export function iconButton(name, label, onclick, attributes = {}, path) {
  return h(
    "button",
    {
      type: "button",
      class: "icon-button",
      "aria-label": label,
      title: label,
      onclick,
      ...attributes,
    },
    icon(name, path),
  );
}
