// @ts-check
/**
 * A chart as SVG. Series differ by colour, and also by pattern, dashes and marks, so nobody has to
 * see colours. chart-style.js sets colours by class, for both schemes and for forced colours.
 */
import { every, extent, scale, stretches } from "./chart-data.js";

/** @typedef {import("./chart-data.js").Chart} Chart */
/**
 * @typedef {{ width: number, rtl: boolean, format: (value: number) => string, labels: { title:
 *   string, desc: string, none: string } }} Options
 */

const COLORS = 6;
const CHAR = 7; // the width of a label's character, in pixels
const DASHES = ["", "7 4", "2 4", "10 4 2 4", "12 3", "4 2 1 2"];
/** Lines over the colour of an area, on a grid of 8 by 8. */
const HATCHES = [
  "",
  "M-2 2l4-4M0 8l8-8M6 10l4-4",
  "M2 2h2v2h-2zM6 6h2v2h-2z",
  "M-2 6l4 4M0 0l8 8M6-2l4 4",
  "M0 2h8M0 6h8",
  "M2 0v8M6 0v8",
];
/** A circle, a square, a triangle and a rhombus. */
const MARKS = [
  "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
  "m-3-3h6v6h-6z",
  "m0-4 4 7h-8z",
  "m0-4.5 4 4.5-4 4.5-4-4.5z",
];
let count = 0;

/** @param {Chart} chart @param {Options} options */
export function drawChart(chart, options) {
  const round = chart.type === "pie" || chart.type === "donut";
  const prefix = `c${(count += 1)}`;
  const { labels } = options;
  const [title, desc] = [svg("title", { id: `${prefix}t` }), svg("desc", { id: `${prefix}d` })];
  title.textContent = labels.title;
  desc.textContent = labels.desc;
  const draw = round ? drawRound : drawPlot;
  const { height, shapes, names, point, locate } = draw(chart, options, prefix);
  const box = { viewBox: `0 0 ${options.width} ${height}`, width: options.width, height };
  const told = { role: "img", "aria-labelledby": title.id, "aria-describedby": desc.id };
  const fills = patterns(names.length, prefix);
  const picture = svg("svg", { ...box, ...told }, title, desc, fills, ...shapes);
  if (labels.none) picture.append(words(labels.none, options.width / 2, height / 2, "middle"));
  const isLine = chart.type === "line" || chart.type === "area";
  const shownNames = names.length > 1 || round ? names : [];
  const legend = shownNames.map((name, index) => {
    return { name, swatch: swatch(index, prefix, isLine) };
  });
  return { svg: picture, legend, point, locate };
}

// --- Bars and lines

/** @param {Chart} chart @param {Options} options @param {string} prefix */
function drawPlot(chart, { width, rtl, format }, prefix) {
  const { type, labels, series, unit } = chart;
  const height = Math.round(Math.min(Math.max(width * 0.45, 200), 300));
  const { min, max, ticks } = scale(extent(chart), 5);
  const texts = ticks.map(format);
  const start = Math.min(width / 3, Math.max(...texts.map((one) => one.length)) * CHAR + 12);
  const [top, bottom] = [unit ? 26 : 10, height - 26];
  const inner = width - start - 6;
  const band = inner / labels.length;
  /** @param {number} value */
  const y = (value) => bottom - (value / (max - min) - min / (max - min)) * (bottom - top);
  /**
   * The x of a place on the axis, mirrored for languages that are read from right to left.
   * @param {number} from @param {number} [wide]
   */
  const x = (from, wide = 0) => (rtl ? inner - from - wide + 6 : start + from);
  const middle = (/** @type {number} */ index) => x((index + 0.5) * band);

  const across = rtl ? -inner : inner;
  const grid = ticks.map((tick) => {
    const d = `M${x(0)} ${round(y(tick))}h${across}`;
    return svg("path", { class: tick === 0 ? "axis" : "grid", d });
  });
  const edge = rtl ? width - start + 8 : start - 8;
  const [near, far] = rtl ? ["start", "end"] : ["end", "start"];
  const side = texts.map((text, index) => words(text, edge, y(ticks[index]) + 4, near));
  if (unit) side.push(words(cut(unit, width / CHAR - 2), rtl ? width : 0, 12, far));
  const space = labels.length > 1 ? every(labels.length, inner / 64) : 1;
  const room = (band * space) / CHAR - 1;
  const below = labels.flatMap((label, index) => {
    if (index % space) return [];
    return [words(cut(label, room), middle(index), height - 8, "middle")];
  });
  const guide = svg("path", { class: "guide" });
  const isLine = type === "line" || type === "area";
  const shapes = isLine ? lines(chart, middle, y, prefix) : bars(chart, band, x, y, prefix);
  /** @param {number} index */
  const point = (index) => {
    guide.setAttribute("d", index < 0 ? "M0 0" : `M${round(middle(index))} ${top}V${bottom}`);
  };
  /** @param {number} px @returns {number} */
  const locate = (px) => {
    const index = Math.floor((rtl ? inner + 6 - px : px - start) / band);
    return index >= 0 && index < labels.length ? index : -1;
  };
  const names = series.map(({ name }, index) => name || String(index + 1));
  return { height, shapes: [...grid, guide, ...shapes, ...side, ...below], names, point, locate };
}

/**
 * @param {Chart} chart @param {number} band the width of a place
 * @param {(from: number, wide?: number) => number} x
 * @param {(value: number) => number} y @param {string} prefix
 */
function bars({ type, series, labels }, band, x, y, prefix) {
  const stacked = type === "stacked";
  const group = Math.min(band * (band > 6 ? 0.72 : 1), stacked ? 64 : 48 * series.length);
  const wide = stacked ? group : group / series.length;
  const [ups, downs] = [labels.map(() => 0), labels.map(() => 0)];
  return series.map(({ values }, number) => {
    const d = values.map((value, index) => {
      if (!value) return "";
      const heap = value < 0 ? downs : ups;
      const base = stacked ? heap[index] : 0;
      heap[index] += value;
      const from = index * band + (band - group) / 2 + (stacked ? 0 : number * wide);
      const [high, low] = [y(Math.max(base, base + value)), y(Math.min(base, base + value))];
      const tall = round(Math.max(low - high, 0.75));
      return `M${round(x(from, wide))} ${round(high)}h${round(wide)}v${tall}h${round(-wide)}z`;
    });
    return svg("path", { ...fill(number, prefix), d: d.join("") });
  });
}

/**
 * @param {Chart} chart @param {(index: number) => number} x @param {(value: number) => number} y
 * @param {string} prefix
 */
function lines({ type, series, labels }, x, y, prefix) {
  return series.flatMap(({ values }, number) => {
    /** @param {number} index */
    const place = (index) => `${round(x(index))} ${round(y(Number(values[index])))}`;
    const found = stretches(values);
    const d = found.map((stretch) => `M${stretch.map(place).join("L")}`).join("");
    const color = `c${number % COLORS}`;
    const zero = round(y(0));
    const under = found.map((stretch) => {
      const [from, to] = [stretch[0], stretch[stretch.length - 1]].map((index) => round(x(index)));
      return `M${from} ${zero}L${stretch.map(place).join("L")}L${to} ${zero}z`;
    });
    // A single value between gaps is a point, because a line of one point is invisible.
    const isShort = labels.length <= 40;
    const marked = found.filter((stretch) => isShort || stretch.length === 1).flat();
    const marks = marked.map((index) => mark(number, x(index), y(Number(values[index]))));
    const dashes = { "stroke-dasharray": DASHES[number % DASHES.length] || "none" };
    const shapes = [
      svg("path", { class: `${color} line`, d, ...dashes }),
      svg("path", { class: `${color} mark`, d: marks.join("") }),
    ];
    if (type !== "area") return shapes;
    return [svg("path", { ...fill(number, prefix, "under"), d: under.join("") }), ...shapes];
  });
}

/** @param {number} number @param {number} x @param {number} y */
function mark(number, x, y) {
  return `M${round(x)} ${round(y)}${MARKS[number % MARKS.length]}`;
}

// --- Pies

/** @param {Chart} chart @param {Options} options @param {string} prefix */
function drawRound({ type, labels, series: [{ values }] }, { width, rtl, format }, prefix) {
  const height = Math.round(Math.min(width, 260));
  const [cx, cy, radius] = [width / 2, height / 2, height / 2 - 8];
  const hole = type === "donut" ? radius * 0.58 : 0;
  const largest = Math.max(...values.map(Number));
  const weights = values.map((value) => (largest > 0 ? Number(value) / largest : 0));
  const total = weights.reduce((sum, one) => sum + one, 0) || 1;
  const sign = rtl ? -1 : 1;
  let turn = 0;
  const slices = weights.map((weight) => ({ from: turn, to: (turn += weight / total) }));
  const whole = weights.filter(Boolean).length === 1; // The circle has no inner edges.
  const shapes = slices.map(({ from, to }, index) => {
    const d = to > from ? arc({ cx, cy, radius, hole, sign }, from, to) : "";
    return svg("path", { ...fill(index, prefix, whole ? "area" : "slice"), d });
  });
  const names = labels.map((label, index) => {
    const percent = Math.round((weights[index] / total) * 1000) / 10;
    return `${label} ${format(percent)}%`;
  });
  /** @param {number} at */
  const point = (at) => {
    for (const [index, shape] of shapes.entries()) shape.classList.toggle("at", index === at);
  };
  /** @param {number} px @param {number} py @returns {number} */
  const locate = (px, py) => {
    if (Math.hypot(px - cx, py - cy) > radius) return -1;
    const angle = Math.atan2(sign * (px - cx), cy - py) / (2 * Math.PI);
    const share = angle < 0 ? angle + 1 : angle;
    return slices.findIndex(({ from, to }) => share >= from && share < to);
  };
  return { height, shapes, names, point, locate };
}

/**
 * The path of a slice, from the top on. A full circle has two halves.
 * @param {Record<string, number>} pie @param {number} from @param {number} to @returns {string}
 */
function arc(pie, from, to) {
  if (to - from > 0.9999) return arc(pie, 0, 0.5) + arc(pie, 0.5, 1);
  const { cx, cy, radius, hole, sign } = pie;
  const large = to - from > 0.5 ? 1 : 0;
  /** @param {number} share @param {number} away */
  const at = (share, away) => {
    const angle = share * 2 * Math.PI;
    return `${round(cx + sign * away * Math.sin(angle))} ${round(cy - away * Math.cos(angle))}`;
  };
  const sweep = sign > 0 ? 1 : 0;
  const [outer, inner] = [round(radius), round(hole)];
  const there = `M${at(from, radius)}A${outer} ${outer} 0 ${large} ${sweep} ${at(to, radius)}`;
  if (!hole) return `${there}L${cx} ${cy}z`;
  return `${there}L${at(to, hole)}A${inner} ${inner} 0 ${large} ${1 - sweep} ${at(from, hole)}z`;
}

// --- Small pieces

/** @param {string} tag @param {Record<string, unknown>} attributes @param {...Node} children */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @param {string} text @param {number} x @param {number} y @param {string} anchor */
function words(text, x, y, anchor) {
  const element = svg("text", { x: round(x), y: round(y), "text-anchor": anchor });
  element.textContent = text;
  return element;
}

/** @param {number} number @param {string} prefix @param {string} [name] */
function fill(number, prefix, name = "area") {
  const pattern = number ? `url(#${prefix}p${number})` : "currentColor";
  return { class: `${name} c${number % COLORS}`, fill: pattern };
}

/** @param {number} amount @param {string} prefix */
function patterns(amount, prefix) {
  const all = Array.from({ length: amount }, (_, number) => {
    const hatch = HATCHES[(number + Math.floor(number / COLORS)) % HATCHES.length];
    const size = { width: 8, height: 8 };
    const look = { id: `${prefix}p${number}`, class: `c${number % COLORS}` };
    const ground = svg("rect", { ...size, fill: "currentColor" });
    const lines = svg("path", { class: "hatch", d: hatch });
    return svg("pattern", { ...look, ...size, patternUnits: "userSpaceOnUse" }, ground, lines);
  });
  return svg("defs", {}, ...all);
}

/** @param {number} number @param {string} prefix @param {boolean} isLine */
function swatch(number, prefix, isLine) {
  const size = { viewBox: "0 0 24 12", width: 24, height: 12 };
  const box = { class: "swatch", ...size, "aria-hidden": "true" };
  if (!isLine) {
    const place = { x: 6, width: 12, height: 12, rx: 2 };
    return svg("svg", box, svg("rect", { ...fill(number, prefix), ...place }));
  }
  const color = `c${number % COLORS}`;
  const dashes = { "stroke-dasharray": DASHES[number % DASHES.length] || "none" };
  const line = svg("path", { class: `${color} line`, d: "M0 6h24", ...dashes });
  return svg("svg", box, line, svg("path", { class: `${color} mark`, d: mark(number, 12, 6) }));
}

/** @param {string} text @param {number} room in characters */
function cut(text, room) {
  const letters = [...text.slice(0, 200)];
  if (letters.length <= room) return text;
  const kept = Math.max(1, Math.floor(room) - 1);
  return `${letters.slice(0, kept).join("")}…`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100 || 0;
}
