import assert from "node:assert/strict";
import { test } from "node:test";

import { every, extent, readChart, scale, stretches } from "./agui_charts/chart-data.js";

const chart = (type, ...values) => readChart({ type, labels: values[0].map(String), series: values.map((one) => ({ values: one })) });

for (const range of [
  [0, 7], [0, 1e9], [-5, 5], [3, 3], [0, 0], [-2, -2], [1e-300, 2e-300], [5e-324, 1e-323], [-1e300, 1e300], [1e15, 1e15 + 2], [0.1, 0.3], [-0.0001, 12345],
]) {
  test(`the scale of ${range} has a few round steps around it`, () => {
    const { min, max, ticks } = scale({ min: range[0], max: range[1] }, 5);
    assert.ok(ticks.length >= 2 && ticks.length <= 9, String(ticks));
    assert.ok(ticks.every((one, index) => Number.isFinite(one) && (!index || one > ticks[index - 1])), String(ticks));
    assert.deepEqual([min, max], [ticks[0], ticks.at(-1)]);
    if (range[1] - range[0] > 1e-320) assert.ok(min <= range[0] && max >= range[1], String(ticks));
  });
}

test("there is no half of what is counted", () => {
  assert.deepEqual(scale({ min: 0, max: 2, whole: true }, 5).ticks, [0, 1, 2]);
  assert.deepEqual(scale({ min: 0, max: 12, whole: true }, 5).ticks, [0, 3, 6, 9, 12]);
});

test("bars begin at zero, lines need not, and what is stacked adds up", () => {
  assert.deepEqual(extent(chart("bar", [3, 5])), { min: 0, max: 5, whole: true });
  assert.deepEqual(extent(chart("line", [3, 5.5])), { min: 3, max: 5.5, whole: false });
  assert.deepEqual(extent(chart("stacked", [3, -5], [4, -1])), { min: -6, max: 7, whole: true });
  assert.deepEqual(extent(chart("line", [null])), { min: 0, max: 1, whole: true });
});

test("numbers may come as texts, and what is missing is a gap", () => {
  const { series, labels } = readChart({ labels: ["a"], series: [{ name: "x", values: ["1.5", null, NaN, undefined] }, { values: [] }] });
  assert.deepEqual(series, [{ name: "x", values: [1.5, null, null, null] }, { name: "", values: [null, null, null, null] }]);
  assert.deepEqual(labels, ["a", "2", "3", "4"]);
});

test("a pie of what no pie can show is bars", () => {
  assert.equal(chart("pie", [1, 2]).type, "pie");
  assert.equal(chart("pie", [1, -2]).type, "bar");
  assert.equal(chart("donut", [1, 2], [3, 4]).type, "bar");
  assert.equal(readChart({ type: "stacked_bar", labels: [], series: [] }).type, "stacked");
});

for (const content of [
  null, 5, "x", [], {}, { type: "bar" }, { series: [null] }, { series: { length: 1e9 } }, { series: [{ values: { length: 1e9 } }] }, { labels: "abc", series: [{ values: [1] }] },
  { labels: ["a"], series: new Array(1000).fill({ values: [1] }) }, { type: "toString", series: [{}] }, { series: [{ values: ["x"] }] }, { series: [{ values: [{}] }] }, { series: [{ values: [1e301] }] }, { series: [{ values: new Array(5001) }] },
  { series: new Array(13).fill({ values: [1] }) }, { series: [{ values: [true] }] }, { type: "__proto__", series: [{ values: [1] }] }, { type: {}, series: [{ values: [1] }] },
]) {
  test(`${JSON.stringify(content)?.slice(0, 60)} is no chart`, () => assert.throws(() => readChart(content), TypeError));
}

test("a line is drawn between its gaps", () => {
  assert.deepEqual(stretches([1, 2, null, 3, null, null, 4, 5]), [[0, 1], [3], [6, 7]]);
  assert.deepEqual(stretches([null]), []);
});

test("labels are left out where there is no room for them", () => {
  assert.deepEqual([every(10, 20), every(10, 5), every(10, 0), every(0, 5)], [1, 2, 10, 1]);
});
