// What tools have done, and what an agent shows beside its texts: cards, plans and tables, and what a page draws itself.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, begun, changed, chunk, custom, ended, has, named, nameOf, open, shown, until } from "./page.mjs";

const ROWS = [{ id: 10, title: "Milk" }, { id: 9, title: "<b>Bread</b>" }];
const ADD = { at: "2026-11-27T10:00", number: 3, title: "Buy milk\nand bread", category: "home" };

/** A page that shows the events of a run. */
async function told(events, options = {}) {
  const page = await open({ runs: [[STARTED, ...events, FINISHED]], ...options });
  page.say("hello");
  await page.finished();
  return page;
}

/** A page whose run goes on. */
async function growing(...events) {
  const page = await open();
  page.say("hello");
  await page.push(STARTED, ...events);
  return page;
}

const cards = (page) => page.all(".tool");
async function unfold(card) {
  card.querySelector("summary").click();
  await until(() => card.querySelector(".tool-body").children.length);
}

test("calls that follow each other fold, but for one that failed", async () => {
  const calls = [0, 1, 2, 3, 4, 5].flatMap((n) => [...begun(`c${n}`, "summarize_tasks", {}, `p${n}`), ended(`c${n}`, "ok", { duration_ms: n })]);
  const last = [...begun("f", "add_task", {}, "p6"), ...begun("g", "summarize_tasks", {}, "p6"), ended("f", "No such list.", { outcome: "failed", duration_ms: 65_400 }), ended("g")];
  const page = await told([...calls, ...last, chunk("That is all.")]);
  const fold = await page.button("8 tools used");
  assert.equal(fold.getAttribute("aria-expanded"), "false");
  await until(() => cards(page).length === 1);
  assert.match(cards(page)[0].textContent, /Failed · 1m 5s/);
  fold.click();
  await until(() => fold.getAttribute("aria-expanded") === "true");
});

test("results read well, are copied, and long ones are shown whole when asked for", async () => {
  const long = "word ".repeat(2000);
  const routes = { "/agent/tools/": [{ name: "add_task", label: "Add task" }] };
  const page = await told([...begun("a"), ...begun("b", "add_task", ADD), ended("b", long), ended("a", ROWS)], { routes });
  const copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void copied.push(text) }, configurable: true });
  await has(() => page.texts(".tool-about"), ["", "Buy milk and bread"]);
  assert.equal(page.all(".message.assistant").length, 1);
  const [first, second] = cards(page);
  await unfold(first);
  await until(() => [...first.querySelectorAll("td")].some((cell) => cell.textContent === "<b>Bread</b>"));
  await page.press("Id", first);
  await until(() => `${[...first.querySelectorAll("tbody td:first-child")].map((cell) => cell.textContent)}` === "9,10");
  await page.press("Copy", first);
  await page.button("Copied", first);
  assert.deepEqual(JSON.parse(copied[0]), ROWS);
  await unfold(second);
  const more = await page.button("Show all 10,000 characters", second);
  assert.ok(second.querySelector("pre").textContent.length < 3000);
  more.click();
  await until(() => second.querySelector("pre").textContent === long);
  assert.equal(page.root.activeElement === second.querySelector("pre"), true);
});

test("rows that make no table are shown as they are", async () => {
  const [empty, wide] = [[{}], Array.from({ length: 70 }, (_, n) => ({ [`column${n}`]: n }))];
  const page = await told([...begun("a"), ...begun("b"), ended("a", empty), ended("b", wide)]);
  await until(() => cards(page).length === 2);
  for (const [at, rows] of [empty, wide].entries()) {
    await unfold(cards(page)[at]);
    assert.equal([...cards(page)[at].querySelectorAll("pre")].at(-1).textContent, JSON.stringify(rows, null, 2));
  }
});

test("the card of a tool with a secret does not say what its calls are about", async () => {
  const tools = [{ name: "focus_on", label: "Focus on" }, { name: "add_task", label: "Add task", secrets: [["title"]] }];
  const events = [...begun("a", "focus_on", { category: "home" }), ended("a"), ...begun("b", "add_task", ADD), ended("b")];
  const page = await told(events, { routes: { "/agent/tools/": tools } });
  await has(() => page.texts(".tool-about"), ["home", ""]);
});

test("a running tool tells its step and its progress", async () => {
  const metadata = { toolCallId: "c" };
  const page = await growing(...begun("c"), ...begun("d"));
  await until(() => /Running/.test(cards(page)[0]?.textContent));
  await page.push({ type: "STEP_STARTED", stepName: "Search", metadata }, { ...custom("progress", { percent: 40 }), metadata });
  const bar = await until(() => cards(page)[0].querySelector("progress"));
  await until(() => bar.value === 40 && /Search · 40% · \d+[ms]/.test(cards(page)[0].textContent));
  assert.equal(nameOf(bar), "Summarize tasks");
  assert.doesNotMatch(cards(page)[1].textContent, /40/);
  assert.doesNotMatch(page.texts(".working").join(), /Search/); // the card says it
  for (const odd of [{ percent: "<i>" }, null, { percent: 1e9 }]) await page.push({ ...custom("progress", odd), metadata });
  await until(() => cards(page)[0].textContent.includes("100%"));
  await page.push({ type: "STEP_FINISHED", stepName: "Search", metadata }, ended("c", "ok", { duration_ms: 4200 }), ended("d"), FINISHED);
  await until(() => cards(page)[0].textContent.includes("Done · 4.2s") && !page.all(".tool progress").length);
});

test("the step of a run is shown below its text", async () => {
  const page = await growing({ type: "STEP_STARTED", stepName: "Read the archive" });
  await has(() => page.texts(".working"), ["Read the archive"]);
  await until(() => page.texts("[role=status]").includes("Read the archive"));
  await page.push({ type: "STEP_STARTED", stepName: "Search" }, chunk("Some text."));
  await has(() => page.texts(".working"), ["Search"]);
  await page.push({ type: "STEP_FINISHED", stepName: "Search" });
  await has(() => page.texts(".working"), ["Read the archive"]);
  await page.push({ type: "STEP_FINISHED", stepName: "Read the archive" });
  await has(() => page.texts(".working"), []);
});

// --- Activities

test("a plan changes in its place", async () => {
  const page = await growing(shown("plan", { title: "Trip", steps: [{ title: "Search", status: "done" }, { title: "Book", status: "running" }, { title: "Pay" }] }));
  await has(() => page.texts(".activity li"), ["Done: Search", "Running: Book", "To do: Pay"]);
  const item = page.all(".activity li")[1];
  assert.equal(item.getAttribute("aria-current"), "step");
  await page.push(changed("plan", "/steps/1/status", "failed"));
  await has(() => page.texts(".activity li"), ["Done: Search", "Failed: Book", "To do: Pay"]);
  assert.match(page.texts(".activity")[0], /1 of 3 done/);
  assert.ok(page.all(".activity li")[1] === item);
});

const column = (page, at) => page.texts(`.activity tbody td:nth-child(${at})`);
const heads = (page) => page.texts(".activity th");

test("a table stays sorted while it grows", async () => {
  const page = await growing(shown("table", { title: "Trains", columns: ["train", "price"], rows: [["b", 9], ["a", 10], ["c", null]] }));
  for (const order of ["ascending", "descending"]) {
    await page.press(/^price/i);
    await until(() => page.all(".activity th").at(-1).getAttribute("aria-sort") === order);
  }
  await has(() => column(page, 1), ["a", "b", "c"]);
  await page.push(changed("table", "/rows/-", ["d", 9.5], "add"));
  await has(() => column(page, 1), ["a", "d", "b", "c"]);
});

test("a table says its values as a person does", async () => {
  const rows = [
    { number: 7, patient_name: "Ada", starts_at: "2026-12-11T08:30:00Z", fee: "19.50" },
    { number: 8, patient_name: "Alan", starts_at: "2026-12-12T08:30:00", fee: "9.50" },
  ];
  const page = await growing(shown("table", { title: "Visits", columns: Object.keys(rows[0]), rows }));
  await has(() => heads(page), ["Number", "Patient name", "Starts at", "Fee"]);
  assert.deepEqual(column(page, 3), ["Dec 11, 2026, 8:30 AM UTC", "Dec 12, 2026, 8:30 AM"]);
  await page.press("Fee");
  await has(() => column(page, 4), ["9.50", "19.50"]);
});

for (const columns of [[], ["train", "price"]]) {
  test(`a table without rows is one, with ${columns.length} columns`, async () => {
    const page = await growing(shown("table", { title: "Trains", columns, rows: [] }));
    await until(() => /Trains.*No rows/.test(page.texts(".activity")[0]));
    assert.deepEqual(heads(page), columns.map((name) => name[0].toUpperCase() + name.slice(1)));
    assert.deepEqual(page.all(".activity pre"), []);
    await page.push(changed("table", "/rows/-", { train: "b", price: 9 }, "add"));
    await has(() => page.texts(".activity td"), ["b", "9"]);
    assert.ok(!page.texts(".activity .muted").includes("No rows"));
  });
}

test("what can't be drawn is folded JSON", async () => {
  const hostile = [
    ["chart", null], ["chart", "x"], ["chart", { labels: ["a"], series: [null] }],
    ["table", null], ["table", { rows: "x" }], ["table", { rows: [1], columns: 5 }], ["table", { columns: Array(500).fill("x"), rows: [[1]] }],
    ["plan", null], ["plan", { steps: [null] }], ["plan", { steps: [{}] }], ["plan", { steps: { length: 5 } }],
    ["__proto__", { a: 1 }], ["constructor", { a: 1 }], ["toString", null],
  ];
  const modules = { "activity:chart": "./agui_charts/chart.js" };
  const page = await told(hostile.map(([kind, content], n) => shown(kind, content, `a${n}`)), { modules });
  await has(() => page.texts(".activity > details > summary"), hostile.map(([kind]) => kind));
});

test("markup and odd names are text", async () => {
  const markup = "<img src=x onerror='window.pwned = 1'>";
  const rows = [{ __proto__: null, constructor: markup, ["__proto__"]: markup, [markup]: { a: markup } }, { [markup]: null }];
  const page = await told([shown("plan", { title: markup, steps: [{ title: markup, status: "__proto__" }] }, "p"), shown("table", { title: markup, rows }, "t")]);
  await until(() => page.all(".activity-body").length === 2);
  assert.deepEqual(page.all(".activity img"), []);
  assert.equal({}.status, undefined);
});

// --- The page

test("a page adds buttons, which are told what they are about", async () => {
  const page = await growing(chunk("**Yes**", "a"), FINISHED);
  let about;
  const register = (on) => page.chat.registerAction({ name: `my-${on}`, label: `My ${on}`, icon: "M4 4h16v16H4z", on, run: (told) => { about = told; told.fill?.(told.text.toUpperCase()); } });
  const press = async (place) => (await page.press(`My ${place}`), until(() => about));
  const input = page.root.querySelector(".input");
  register("composer");
  input.value = "hello";
  input.dispatchEvent(new Event("input"));
  assert.equal((await press("composer")).text, "hello");
  await until(() => input.value === "HELLO");
  await page.button("Copy the answer");
  register("answer"); // a bar that is there gets it, too
  await press("answer");
  assert.deepEqual([about.text, about.messageId, typeof about.threadId], ["**Yes**", "a", "string"]);
  await page.newChat();
  register("header");
  assert.deepEqual(await press("header"), { threadId: null });
  assert.throws(() => page.chat.registerAction({ name: "x" }), TypeError);
});

test("a page draws activities and events of its own", async () => {
  const page = await growing(shown("map", { city: "Rome" }));
  const { chat } = page;
  await page.one(".activity > details");
  chat.registerActivity("map", (content, element) => {
    if (!content.city) throw new Error("no city");
    element.className = "my-map";
    element.textContent = `Map of ${content.city}`;
  });
  const mine = (name) => [...chat.querySelectorAll(`.${name}`)].map((one) => one.textContent);
  await has(() => mine("my-map"), ["Map of Rome"]);
  await page.push(changed("map", "/city", "Oslo"));
  await has(() => mine("my-map"), ["Map of Oslo"]);
  await page.push(changed("map", "/city", undefined, "remove"));
  await page.one(".activity > details");
  await page.push(changed("map", "/city", "Bern", "add"), FINISHED);
  await has(() => mine("my-map"), ["Map of Bern"]);
  await page.newChat();
  await has(() => mine("my-map"), []);
  chat.registerEvent("stock", (value, element) => {
    element.className = "my-stock";
    element.textContent = `${value.name}: ${value.count}`;
  });
  page.say("hello");
  const stock = (value) => custom("stock", value);
  await page.push(STARTED, stock({ id: 1, name: "Tea", count: 3 }), stock({ name: "Rum", count: 1 }), custom("other", { name: "Gin" }));
  await has(() => mine("my-stock").sort(), ["Rum: 1", "Tea: 3"]);
  await page.push(stock({ id: 1, name: "Tea", count: 2 }), FINISHED);
  await has(() => mine("my-stock").sort(), ["Rum: 1", "Tea: 2"]);
  assert.equal(page.all(".message.activity").length, 2);
});
