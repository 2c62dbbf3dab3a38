// @ts-check
/** The activity `chart`: drawn as SVG as wide as there is room, with its numbers as a table beneath. */
import { readChart } from "./chart-data.js";
import { drawChart } from "./chart-drawing.js";
import { h, icon, setAttribute, setText } from "./dom.js";
import { format } from "./strings.js";

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
  chartRange: "{count} places, from {min} to {max}",
};

/** @typedef {import("./strings.js").Strings & typeof CHART_WORDS} Words */

/** @param {{ strings: import("./strings.js").Strings }} context */
export function chartView(context) {
  const strings = { ...CHART_WORDS, ...context.strings };
  const title = h("p", { class: "activity-title" });
  const legend = h("ul", { class: "legend" });
  const plot = h("div", { class: "plot", role: "group", tabindex: "0" });
  const readout = h("p", { class: "readout muted", "aria-live": "polite" });
  const data = h("details", {}, h("summary", {}, icon("chevron"), strings.data));
  const element = h("div", { class: "activity-body chart" }, title, legend, plot, h("div", { class: "chart-foot" }, data, readout));
  /** @type {Chart} */ let chart;
  /** @type {any} */ let drawing;
  /** @type {any} */ let table;
  let width = 0;
  let at = -1;

  const redraw = () => {
    width = plot.clientWidth;
    if (!width || !chart) return;
    const rtl = getComputedStyle(plot).direction === "rtl";
    drawing = drawChart(chart, { width, rtl, format: compact(strings.lang), labels: describe(chart, strings) });
    plot.replaceChildren(drawing.svg);
    legend.replaceChildren(...drawing.legend.map(({ swatch, name }) => h("li", {}, swatch, name)));
    if (at >= 0) point(Math.min(at, chart.labels.length - 1));
  };
  /** @param {number} index the place to tell about, or -1 */
  const point = (index) => {
    at = index;
    drawing?.point(index);
    setText(readout, index < 0 ? "" : readingOf(chart, index, numbers(strings.lang)));
  };
  const showData = async () => {
    if (!data.open) return;
    const { DataTable } = await import("./table.js");
    if (!table) data.append((table = new DataTable(strings, { rowHeads: true })).element);
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
    const to = nextPlace(event.key, at, chart.labels.length, getComputedStyle(plot).direction === "rtl");
    if (to === undefined) return;
    event.preventDefault();
    point(to);
  });
  data.addEventListener("toggle", showData);
  new ResizeObserver(() => plot.clientWidth !== width && redraw()).observe(plot);

  /** @param {any} content */
  const update = (content) => {
    chart = readChart(content);
    title.hidden = !chart.title;
    setText(title, chart.title);
    setAttribute(plot, "aria-label", chart.title || strings[`chart_${chart.type}`]);
    redraw();
    showData();
  };
  return { element, update };
}

/** @param {string} key @param {number} at @param {number} count @param {boolean} rtl @returns {number | undefined} */
function nextPlace(key, at, count, rtl) {
  const step = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1 }[key];
  if (step) return Math.min(Math.max(at + step, 0), count - 1);
  return { Home: 0, End: count - 1, Escape: at < 0 ? undefined : -1 }[key];
}

/** @param {Chart} chart @param {number} index @param {(value: number) => string} number */
function readingOf({ labels, series, unit }, index, number) {
  const values = series.map(({ name, values }) => {
    const value = values[index];
    return [name, value === null ? "–" : number(value), value === null ? "" : unit].filter(Boolean).join(" ");
  });
  return `${labels[index]}: ${values.join(" · ")}`;
}

/** @param {Chart} chart @param {Words} strings */
function tableOf({ title, labels, series, unit }, strings) {
  const names = series.map(({ name }) => [name || strings.value, unit && `(${unit})`].filter(Boolean).join(" "));
  const columns = [strings.label, ...names].map((label, key) => ({ key, label }));
  return { label: title, columns, rows: labels.map((label, index) => [label, ...series.map(({ values }) => values[index])]) };
}

/** What somebody hears who can't see it. @param {Chart} chart @param {Words} strings */
function describe({ title, type, labels, series, unit }, strings) {
  const number = numbers(strings.lang);
  let [min, max] = [Infinity, -Infinity];
  for (const value of series.flatMap(({ values }) => values)) if (value !== null) [min, max] = [Math.min(min, value), Math.max(max, value)];
  const name = strings[`chart_${type}`];
  const names = series.map((one) => one.name).filter(Boolean).join(", ");
  const ends = { min: number(min), max: [number(max), unit].filter(Boolean).join(" ") };
  const range = min > max ? strings.noData : format(strings.chartRange, { count: number(labels.length), ...ends });
  return { title: title || name, desc: [name, names, range].filter(Boolean).join(". "), none: min > max ? strings.noData : "" };
}

/** Numbers as they are. @param {string} lang */
function numbers(lang) {
  const plain = new Intl.NumberFormat(lang, { maximumSignificantDigits: 12 });
  const scientific = new Intl.NumberFormat(lang, { notation: "scientific", maximumSignificantDigits: 6 });
  return (value) => (isExtreme(value) ? scientific : plain).format(value);
}

/** Numbers for little room. @param {string} lang */
function compact(lang) {
  const short = new Intl.NumberFormat(lang, { notation: "compact", maximumSignificantDigits: 4 });
  const scientific = new Intl.NumberFormat(lang, { notation: "scientific", maximumSignificantDigits: 3 });
  return (value) => (isExtreme(value) ? scientific : short).format(value);
}

/** @param {number} value */
function isExtreme(value) {
  return value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-6);
}
