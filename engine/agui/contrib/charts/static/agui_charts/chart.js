// @ts-check
/** The activity `chart`: an SVG as wide as the column, with a table of the numbers below it. */
import { readChart } from "./chart-data.js";
import { drawChart } from "./chart-drawing.js";
import { CHART_STYLE } from "./chart-style.js";
import { h, icon, setAttribute, setText } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";
import { format } from "../agui/words/strings.js";

/** @typedef {import("./chart-data.js").Chart} Chart */

/** In English; the tables of other languages have these, too. */
export const CHART_WORDS = {
  data: "Data",
  label: "Label",
  value: "Value",
  noData: "No data",
  chart_bar: "Bar chart",
  chart_stacked: "Stacked bar chart",
  chart_line: "Line chart",
  chart_area: "Area chart",
  chart_pie: "Pie chart",
  chart_donut: "Donut chart",
  chartRange: "{count} values, from {min} to {max}",
};

/** @typedef {import("../agui/words/strings.js").Strings & typeof CHART_WORDS} Words */

/** @type {import("../agui/types.d.ts").ActivityModule["view"]} */
export function view(context) {
  const strings = { ...CHART_WORDS, ...context.strings };
  const title = h("p", { class: "activity-title" });
  const legend = h("ul", { class: "legend" });
  const plot = h("div", { class: "plot", role: "group", tabindex: "0" });
  const readout = h("p", { class: "readout muted", "aria-live": "polite" });
  const data = h("details", {}, h("summary", {}, icon("chevron"), strings.data));
  const foot = h("div", { class: "chart-foot" }, data, readout);
  const element = h("div", { class: "activity-body chart" }, title, legend, plot, foot);
  /** @type {Chart} */ let chart;
  /** @type {ReturnType<typeof drawChart> | undefined} */
  let drawing;
  /** @type {import("../agui/tools/table.js").DataTable | undefined} */
  let table;
  let width = 0;
  let at = -1;

  const redraw = () => {
    adopt(plot, CHART_STYLE);
    width = plot.clientWidth;
    if (!width || !chart) return;
    const rtl = getComputedStyle(plot).direction === "rtl";
    const labels = describe(chart, strings);
    drawing = drawChart(chart, { width, rtl, format: compact(strings.lang), labels });
    plot.replaceChildren(drawing.svg);
    const names = drawing.legend.map(({ swatch, name }) => h("li", {}, swatch, name));
    legend.replaceChildren(...names);
    if (at >= 0) point(Math.min(at, chart.labels.length - 1));
  };
  /** @param {number} index the place to describe, or -1 */
  const point = (index) => {
    at = index;
    drawing?.point(index);
    setText(readout, index < 0 ? "" : readingOf(chart, index, numbers(strings.lang)));
  };
  const showData = async () => {
    if (!data.open) return;
    const module = await context.load(() => import("../agui/tools/table.js"));
    if (!module) return;
    table ??= new module.DataTable(strings, { rowHeads: true });
    if (!table.element.isConnected) data.append(table.element);
    table.update(tableOf(chart, strings));
  };

  /** @param {PointerEvent} event */
  const follow = ({ clientX, clientY }) => {
    const { left, top } = plot.getBoundingClientRect();
    point(drawing?.locate(clientX - left, clientY - top) ?? -1);
  };
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  plot.addEventListener("pointerleave", () => point(-1));
  plot.addEventListener("blur", () => point(-1));
  plot.addEventListener("keydown", (event) => {
    const rtl = getComputedStyle(plot).direction === "rtl";
    const to = nextPlace(event.key, at, chart.labels.length, rtl);
    if (to === undefined) return;
    event.preventDefault();
    point(to);
  });
  data.addEventListener("toggle", showData);
  new ResizeObserver(() => plot.clientWidth !== width && redraw()).observe(plot);

  /** @param {Record<string, unknown>} content */
  const update = (content) => {
    chart = readChart(content);
    title.hidden = !chart.title;
    setText(title, chart.title);
    setAttribute(plot, "aria-label", chart.title || nameOf(chart, strings));
    redraw();
    showData();
  };
  return { element, update };
}

/**
 * @param {string} key @param {number} at @param {number} count @param {boolean} rtl
 * @returns {number | undefined}
 */
function nextPlace(key, at, count, rtl) {
  const step = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1 }[key];
  if (step) return Math.min(Math.max(at + step, 0), count - 1);
  return { Home: 0, End: count - 1, Escape: at < 0 ? undefined : -1 }[key];
}

/** @param {Chart} chart @param {number} index @param {(value: number) => string} number */
function readingOf({ labels, series, unit }, index, number) {
  const values = series.map(({ name, values }) => {
    const value = values[index];
    const parts = value === null ? [name, "–"] : [name, number(value), unit];
    return parts.filter(Boolean).join(" ");
  });
  return `${labels[index]}: ${values.join(" · ")}`;
}

/** @param {Chart} chart @param {Words} strings */
function tableOf({ title, labels, series, unit }, strings) {
  const names = series.map(({ name }) => {
    return [name || strings.value, unit && `(${unit})`].filter(Boolean).join(" ");
  });
  const columns = [strings.label, ...names].map((label, key) => ({ key, label }));
  const rows = labels.map((label, index) => [label, ...series.map(({ values }) => values[index])]);
  return { label: title, columns, rows };
}

/** @param {Pick<Chart, "type">} chart @param {Words} strings */
function nameOf({ type }, strings) {
  return strings[/** @type {keyof typeof CHART_WORDS} */ (`chart_${type}`)];
}

/** The description for screen readers. @param {Chart} chart @param {Words} strings */
function describe({ title, type, labels, series, unit }, strings) {
  const number = numbers(strings.lang);
  let [min, max] = [Infinity, -Infinity];
  for (const value of series.flatMap(({ values }) => values)) {
    if (value === null) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  const name = nameOf({ type }, strings);
  const names = series.map((one) => one.name).filter(Boolean).join(", ");
  const ends = { min: number(min), max: [number(max), unit].filter(Boolean).join(" ") };
  const none = min > max ? strings.noData : "";
  const range = none || format(strings.chartRange, { count: number(labels.length), ...ends });
  return { title: title || name, desc: [name, names, range].filter(Boolean).join(". "), none };
}

/** Numbers in full. @param {string} lang */
function numbers(lang) {
  const plain = new Intl.NumberFormat(lang, { maximumSignificantDigits: 12 });
  return withExtremes(plain, lang, 6);
}

/** Compact numbers for the axis. @param {string} lang */
function compact(lang) {
  const short = new Intl.NumberFormat(lang, { notation: "compact", maximumSignificantDigits: 4 });
  return withExtremes(short, lang, 3);
}

/**
 * Write very large and very small numbers with an exponent.
 * @param {Intl.NumberFormat} usual @param {string} lang @param {number} maximumSignificantDigits
 */
function withExtremes(usual, lang, maximumSignificantDigits) {
  const options = /** @type {const} */ ({ notation: "scientific", maximumSignificantDigits });
  const scientific = new Intl.NumberFormat(lang, options);
  return (/** @type {number} */ value) => (isExtreme(value) ? scientific : usual).format(value);
}

/** @param {number} value */
function isExtreme(value) {
  return value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-6);
}
