// The list of conversations: how it is grouped and searched, and all that users do with a row.
import assert from "node:assert/strict";
import { test } from "node:test";

import { has, named, open, press, type, until } from "./page.mjs";
import { storeOf } from "./store.mjs";

const DAY = 86_400_000;
const titles = (count) => Array.from({ length: count }, (_, n) => ({ title: `Question ${n}` }));

/** A page whose list of conversations is open. */
async function listing(rows, options = {}) {
  const store = storeOf(rows);
  const page = await open({ routes: store.routes, ...options });
  Object.assign(page, { store, focused: () => page.root.activeElement?.closest("li")?.textContent });
  page.toggle = async () => {
    await page.press("Conversations");
    page.drawer = await page.one(".drawer");
    page.search = page.drawer.querySelector("[type=search]");
  };
  page.shows = (expected) => has(() => page.texts(".thread-title"), expected);
  page.row = (title) => until(() => page.all(".drawer li").find((row) => row.textContent.includes(title)), title);
  page.choose = async (title, item) => {
    (await page.row(title)).querySelector(".thread-actions button").click();
    (await until(() => named(page.root, "[role=menuitem]", item)[0], item)).click();
  };
  page.told = (words) => until(() => page.texts("[role=status]").some((text) => text.includes(words)), words);
  page.hasFocus = (text) => until(() => page.focused()?.includes(text), text);
  await page.toggle();
  await until(() => page.all(".thread").length >= Math.min(rows.length, 30) || !rows.length);
  return page;
}

test("conversations are grouped by day, and say what each has to tell", async () => {
  const ages = [0, 1, 3, 400];
  const marks = [{ unread: true }, { running: true }, { waiting: true }, { pinned: true }];
  const rows = ages.map((days, n) => ({ title: `Question ${n}`, updated_at: new Date(Date.now() - days * DAY).toISOString() }));
  const page = await listing(rows);
  const heads = page.texts(".threads h3");
  assert.deepEqual(heads.slice(0, 3), ["Today", "Yesterday", "Last 7 days"]);
  assert.match(heads[3], /^[A-Z][a-z]+ \d{4}$/);
  marks.forEach((mark, n) => Object.assign(page.store.rows[n], mark));
  await page.press("Close", page.drawer);
  await page.toggle();
  await has(() => page.texts(".thread-mark"), ["New answer", "Answering", "Waiting for you"]);
  assert.equal(page.texts(".threads h3").at(-1), "Pinned");
  // While one answers, the list is read again.
  Object.assign(page.store.rows[1], { running: false, unread: true });
  await has(() => page.texts(".thread-mark"), ["New answer", "New answer", "Waiting for you"]);
});

test("rows of one title differ in their time", async () => {
  const page = await listing([9, 10].map((hour) => ({ title: "Who comes today?", updated_at: new Date(new Date().setHours(hour, 0)).toISOString() })));
  assert.equal(new Set(page.texts(".thread-time")).size, 2);
});

test("a search says how many it found, and is sent when the user has stopped typing", async () => {
  const page = await listing(titles(12));
  page.requests.length = 0;
  for (const letter of "stion 1") type(page.search, page.search.value + letter);
  await page.told("3 found");
  await page.shows(["Question 1", "Question 10", "Question 11"]);
  assert.equal(page.requests.length, 1);
  type(page.search, "<img src=x>");
  await page.told("Nothing found for “<img src=x>”.");
  press(page.search, "Escape");
  await until(() => page.all(".thread").length === 12);
  assert.equal(page.search.value, "");
});

test("more are loaded where the list ends, and none twice", async () => {
  const page = await listing(titles(70));
  await until(() => page.all(".thread").length === 70);
  // The list shifts: one that is there is now the first.
  page.store.rows.unshift(...page.store.rows.splice(45, 1));
  await page.press("Close", page.drawer);
  await page.toggle();
  await until(() => page.texts(".thread-title")[0] === "Question 45");
  assert.equal(new Set(page.texts(".thread-title")).size, 70);
  assert.deepEqual(named(page.root, "button", "Load more"), []);
});

test("a deleted conversation comes back where it was", async () => {
  const page = await listing(titles(4));
  (await page.row("Question 2")).querySelector(".thread").click();
  await until(() => page.texts(".assistant .prose").includes("Answer to t2"));
  await page.toggle();
  press((await page.row("Question 2")).querySelector(".thread"), "Delete");
  await page.shows(["Question 0", "Question 1", "Question 3"]);
  await page.told("“Question 2” was deleted.");
  await page.hasFocus("Question 3");
  await has(() => page.texts(".prose"), []);
  await page.press("Undo");
  await page.shows(titles(4).map(({ title }) => title));
  await page.hasFocus("Question 2");
  await until(() => page.texts(".assistant .prose").includes("Answer to t2"));
  assert.deepEqual(page.store.changes.filter((change) => change.startsWith("DELETE")), []);
});

test("a deletion is sent when its time is over, and not while somebody looks at it", async (t) => {
  const page = await listing(titles(5));
  const deletions = (...ids) => has(() => page.store.changes, ids.map((id) => `DELETE ${id}`));
  const bar = page.root.querySelector(".undo-bar");
  const remove = async (title) => press((await page.row(title)).querySelector(".thread"), "Delete");
  const wait = (ms) => (t.mock.timers.tick(ms), t.mock.timers.reset());
  await remove("Question 0");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  bar.matches = () => true; // The pointer rests on it.
  bar.dispatchEvent(new Event("pointerenter"));
  wait(60_000);
  assert.deepEqual([bar.hidden, page.store.changes], [false, []]);
  delete bar.matches;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  bar.dispatchEvent(new Event("pointerleave"));
  wait(8000);
  await deletions("t0");
  // Another deletion, to close the list, or to leave the page ends the time of the one before.
  await remove("Question 1");
  await remove("Question 2");
  await deletions("t0", "t1");
  await page.press("Close", page.drawer);
  await deletions("t0", "t1", "t2");
  await page.toggle();
  await remove("Question 3");
  dispatchEvent(new Event("pagehide"));
  await deletions("t0", "t1", "t2", "t3");
});

test("a deletion that fails brings the conversation back and says so, even if the list is closed", async () => {
  const page = await listing(titles(3));
  page.store.fails = true;
  await page.choose("Question 1", "Delete");
  await page.choose("Question 2", "Delete");
  await page.told("“Question 1” could not be deleted.");
  // This row still has its own time.
  await page.press("Undo");
  await page.shows(["Question 0", "Question 1", "Question 2"]);
  await page.choose("Question 0", "Delete");
  await page.press("Close", page.drawer);
  await page.told("“Question 0” could not be deleted.");
  await page.toggle();
  await page.shows(["Question 0", "Question 1", "Question 2"]);
});

test("everything is done with the keyboard", async () => {
  const page = await listing(titles(5));
  const key = (name, options) => press(page.root.activeElement, name, options);
  const rename = async (text, end) => {
    key("F2");
    await until(() => page.root.activeElement.classList.contains("thread-input"));
    page.root.activeElement.value = text;
    key(end);
  };
  page.search.focus();
  key("ArrowDown");
  await page.hasFocus("Question 0");
  key("ArrowDown");
  await rename("Stripes", "Escape");
  await page.hasFocus("Question 1");
  await rename("Zebra", "Enter");
  await page.hasFocus("Zebra");
  assert.deepEqual(page.store.changes, ['PATCH t1 {"title":"Zebra"}']);
  key("End");
  await page.hasFocus("Question 4");
  key("Delete");
  await page.hasFocus("Question 3");
  key("z", { ctrlKey: true });
  await page.hasFocus("Question 4");
  // The Tab key stops at a single row, and at that row's menu.
  assert.deepEqual(page.all(".threads .stop").filter(({ tabIndex }) => tabIndex === 0).map((one) => one.closest("li").dataset.id), ["t4", "t4"]);
  key("Home");
  key("ArrowUp");
  assert.equal(page.root.activeElement, page.search);
});

test("a new title is shown although the list came anew while it was written", async () => {
  const page = await listing(titles(2));
  const told = [];
  page.chat.addEventListener("ag-ui-thread", ({ detail }) => told.push(detail.title));
  (await page.row("Question 0")).querySelector(".thread").click();
  await until(() => told.at(-1) === "Question 0");
  await page.toggle();
  press((await page.row("Question 0")).querySelector(".thread"), "F2");
  const input = await page.one(".thread-input");
  const before = page.requests.length;
  press(page.search, "Enter");
  await until(() => page.requests.length > before);
  input.value = "Zebra";
  press(input, "Enter");
  await page.shows(["Zebra", "Question 1"]);
  await until(() => told.at(-1) === "Zebra"); // The page is told, too.
});

test("the launcher tells of an answer in another conversation, until the list is open", async () => {
  const { routes } = storeOf([{ title: "Question 0", unread: true }]);
  const close = (chat) => Object.entries({ placement: "floating", collapsed: "" }).forEach(([name, value]) => chat.setAttribute(name, value));
  const page = await open({ routes, before: close });
  await page.press("Open the chat: there is a new answer");
  await until(() => page.root.querySelector(".panel.news"));
  await page.press("Conversations");
  await until(() => !page.root.querySelector(".panel.news"));
});

// --- The menu of a row

test("a conversation is pinned with the keys of the menu", async () => {
  const page = await listing(titles(3));
  const button = (await page.row("Question 1")).querySelector(".thread-actions button");
  const key = (name) => press(page.root.activeElement, name);
  button.click();
  await until(() => page.root.activeElement.textContent === "Rename");
  assert.deepEqual(page.texts("[role=menuitem]"), ["Rename", "Pin", "Archive", "Save as Markdown", "Delete"]);
  key("ArrowUp");
  assert.equal(page.root.activeElement.textContent, "Delete");
  key("Escape");
  assert.equal(page.root.activeElement, button);
  await page.choose("Question 1", "Pin");
  await until(() => page.texts(".threads h3").includes("Pinned"));
  await page.choose("Question 1", "Unpin");
  await until(() => !page.texts(".threads h3").includes("Pinned"));
});

test("a conversation is archived and comes back", async () => {
  const page = await listing(titles(2));
  await page.choose("Question 0", "Archive");
  await page.shows(["Question 1"]);
  await page.press("Undo");
  await page.shows(["Question 0", "Question 1"]);
  await page.choose("Question 0", "Archive");
  await page.shows(["Question 1"]);
  await page.press("Archived conversations");
  await page.shows(["Question 0"]);
  await page.choose("Question 0", "Restore from the archive");
  await page.told("No archived conversations.");
  await page.press("Archived conversations");
  await page.shows(["Question 0", "Question 1"]);
});

test("a conversation is saved as Markdown under a name that is safe", async (t) => {
  const page = await listing([{ title: "../../a\\b: <img>.exe" }]);
  const saved = [];
  t.mock.method(URL, "createObjectURL", (blob) => (saved.push(blob), "blob:x"));
  t.mock.method(HTMLAnchorElement.prototype, "click", function () { saved.push(this.download); });
  await page.choose(".exe", "Save as Markdown");
  const [blob, name] = await until(() => saved.length === 2 && saved);
  assert.equal(name, "a b img .exe.md");
  assert.match(await blob.text(), /^# \.\.\/\.\.\/a\\\\b: \\<img\\>\.exe\n\n## You\n\n/);
});
