// What users find: words in the open conversation, and all that the chat can do behind Ctrl+K.
import assert from "node:assert/strict";
import { test } from "node:test";

import { has, open, press, type, until } from "./page.mjs";
import { storeOf } from "./store.mjs";

const SKILLS = [{ name: "add_tasks", title: "Add several tasks", prompt: "Add {topic}." }];
const FERRY = [
  { id: "u", role: "user", content: "When does it leave?" },
  { id: "a", role: "assistant", content: "The **harbour ferry** leaves at <b>noon</b>. The ferry is small." },
  { id: "v", role: "user", content: "And back?" },
  { id: "b", role: "assistant", content: "That FERRY leaves at six." },
];

/** A page with conversations, of which the newest may be open, and its keys. */
async function finding({ isOpen = false } = {}) {
  const store = storeOf([{ title: "Weekly report", messages: FERRY }, { title: "A recipe with lentils" }, { title: "Six ferries" }]);
  const routes = new Proxy(store.routes, { get: (routes, path) => (path === "/agent/skills/" ? SKILLS : routes[path]) });
  const page = await open({ routes });
  if (isOpen) page.chat.openThread("t0");
  if (isOpen) await until(() => page.all(".assistant .prose strong").length);
  const input = await page.one(".panel:not([hidden]) .input");
  input.focus();
  const key = (name, options, element = page.root.activeElement ?? input) => press(element, name, options);
  const command = async () => (key("k", { ctrlKey: true }), page.one("[role=combobox]"));
  return Object.assign(page, { store, input, key, command, listed: () => page.texts(".command-label") });
}

test("words are found in all messages of the open conversation", async () => {
  const page = await finding({ isOpen: true });
  page.key("f", { ctrlKey: true });
  const field = await page.one(".find input");
  const told = (words) => has(() => page.texts(".find [role=status]"), [words]);
  type(field, "ferry");
  await told("3 of 3"); // The nearest one: the conversation is at its end.
  for (const [options, place] of [[{}, 1], [{}, 2], [{ shiftKey: true }, 1]]) {
    page.key("Enter", options);
    await told(`${place} of 3`);
  }
  await page.press("Next match");
  await told("2 of 3");
  // A phrase is found across the elements of Markdown, and its signs are not.
  type(field, "harbour ferry leaves");
  await told("1 of 1");
  type(field, "**");
  await told("Nothing found");
  // A second Ctrl+F is the browser's.
  assert.equal(page.key("f", { ctrlKey: true }), true);
  page.key("Escape");
  assert.deepEqual([page.all(".find").length, page.root.activeElement], [0, page.input]);
  // The lists behind "/" and Ctrl+K open the search, too.
  type(page.input, "/find");
  await page.one("[role=option]");
  page.key("Enter");
  await page.one(".find");
  assert.equal(page.input.value, "");
  page.key("Escape");
  type(await page.command(), "find in");
  page.key("Enter");
  await page.one(".find");
});

test("one list has everything, the recent conversations first", async () => {
  const page = await finding();
  const box = await page.command();
  await until(() => page.listed()[0] === "Weekly report" && page.listed().includes("Add several tasks"));
  assert.equal(page.root.getElementById(box.getAttribute("aria-activedescendant")).getAttribute("aria-selected"), "true");
  for (const name of ["New chat", "Go to the input", "List of conversations"]) assert.ok(page.listed().includes(name), name);
  assert.ok(!page.listed().includes("Find in this conversation")); // Nothing is open.
  // What is found comes below commands, and its words are marked.
  type(box, "lent");
  await has(page.listed, ["A recipe with lentils"]);
  assert.deepEqual(page.texts(".command mark"), ["lent"]);
  page.key("Enter");
  await until(() => page.texts(".bubble").includes("A recipe with lentils"));
  // A skill, with the keyboard alone.
  type(await page.command(), "add several");
  await has(page.listed, ["Add several tasks"]);
  page.key("Enter");
  await until(() => page.input.value === "Add {topic}.");
});

test("an answer that comes late changes nothing", async () => {
  const page = await finding();
  const { request } = page.chat;
  const held = [];
  page.chat.request = (url, init) => (url.includes("q=lent") ? new Promise((go) => held.push(() => go(request(url, init)))) : request(url, init));
  const box = await page.command();
  type(box, "lent");
  await until(() => held.length);
  type(box, "ferries");
  await has(page.listed, ["Six ferries"]);
  held[0]();
  await new Promise((go) => setTimeout(go, 50));
  assert.deepEqual(page.listed(), ["Six ferries"]);
});

test("keys begin a new chat and lead to the input, unless the page has handled them or has the focus", async () => {
  const page = await finding({ isOpen: true });
  const log = page.root.querySelector(".log");
  page.key("N", { altKey: true, shiftKey: true });
  await has(() => page.texts(".message"), []);
  log.focus();
  page.key("/", {}, log);
  await until(() => page.root.activeElement === page.input);
  assert.equal(page.input.value, "");
  const field = document.body.appendChild(document.createElement("input"));
  press(field, "k", { ctrlKey: true });
  const handle = (event) => event.preventDefault();
  document.addEventListener("keydown", handle, { capture: true });
  press(page.input, "k", { ctrlKey: true });
  document.removeEventListener("keydown", handle, { capture: true });
  await new Promise((go) => setTimeout(go, 50));
  assert.deepEqual(page.all("[role=combobox]"), []);
});

test("the rest of the list still serves if the server refuses", async (t) => {
  t.mock.method(console, "warn", () => {});
  const page = await finding();
  const { request } = page.chat;
  page.chat.request = (url, init) => (url.includes("/threads/") ? Response.json({}, { status: 500 }) : request(url, init));
  await page.command();
  await until(() => page.texts(".commands [role=status]").includes("The conversations could not be searched."));
  assert.ok(page.listed().includes("New chat"));
});
