// Records that the user mentions with @: when they are searched for, and what is told.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, chunk, has, nameOf, open, press, type, until } from "./page.mjs";

const TITLES = ["Buy milk", "Buy bread", "Call <b>Ada</b>"];
const found = (text) => ({ mentions: TITLES.filter((title) => title.toLowerCase().includes(text)).map((title, id) => ({ kind: "task", id: String(id), title, detail: "" })) });

/** A page whose server finds these records; `search` may answer otherwise. */
async function mentioning(search = (text) => Response.json(found(text)), options = {}) {
  const asked = [];
  const answer = (url) => (asked.push(url.searchParams.get("q")), search(url.searchParams.get("q")));
  const page = await open({ modules: { "list:@": "./agui_mentions/mentions.js" }, data: { mentionsUrl: "/agent/mentions/" }, routes: { "/agent/mentions/": answer }, ...options });
  const input = page.root.querySelector(".input");
  input.focus();
  const write = (text) => {
    for (const letter of text) {
      input.value += letter;
      input.setSelectionRange(input.value.length, input.value.length);
      type(input, input.value);
    }
  };
  return Object.assign(page, { asked, input, write, listed: (titles) => has(() => page.texts("[role=option] .option-title"), titles) });
}

const told = (page, words) => until(() => page.texts("[role=status]").includes(words), words);
const pause = () => new Promise((go) => setTimeout(go, 600)); // longer than a search waits for the next letter

test("records are chosen while the user types, and go with the message", async () => {
  const page = await mentioning();
  page.write("See @bu");
  await page.listed(["Buy milk", "Buy bread"]);
  assert.deepEqual(page.all(".palette [role=group]").map(nameOf), ["Task"]);
  assert.equal(page.root.querySelector("[role=listbox]").ariaLabel, "Records");
  assert.equal(page.input.getAttribute("aria-activedescendant"), "option-0");
  press(page.input, "ArrowDown");
  press(page.input, "Tab");
  await until(() => page.input.value === "See @Buy bread ");
  // The title has a space, and what follows it is no search.
  page.write("and @ada");
  await page.listed(["Call <b>Ada</b>"]);
  press(page.input, "Enter");
  press(page.input, "Enter");
  await until(() => page.sent.length);
  const { content, metadata } = page.sent[0].messages[0];
  assert.equal(content, "See @Buy bread and @Call <b>Ada</b>");
  assert.deepEqual(metadata.mentions.map(({ kind, id, title }) => [kind, id, title]), [["task", "1", "Buy bread"], ["task", "0", "Call <b>Ada</b>"]]);
  await has(() => page.texts(".bubble"), [content]);
});

test("an address is no mention, and Escape closes the list until the next one", async () => {
  const page = await mentioning();
  page.write("Write to ada@buy.example, see https://example.com/@buy and a_@buy");
  await pause();
  assert.deepEqual(page.asked, []);
  page.write(" (@bu");
  await page.listed(["Buy milk", "Buy bread"]);
  press(page.input, "Escape");
  await page.listed([]);
  const before = page.asked.length;
  page.write("y");
  await pause();
  assert.equal(page.asked.length, before);
  page.write(" @bu");
  await page.listed(["Buy milk", "Buy bread"]);
});

test("only the last search is shown, and the user is told while the server thinks", async () => {
  const late = [];
  const page = await mentioning((text) => (text === "b" ? new Promise((go) => late.push(() => go(Response.json({ mentions: [{ kind: "task", id: "1", title: "Late" }] })))) : Response.json(found(text))));
  page.write("@b");
  await until(() => late.length);
  await told(page, "Searching…");
  page.write("uy m");
  await page.listed(["Buy milk"]);
  late[0]();
  await pause();
  await page.listed(["Buy milk"]);
});

test("nothing found and a failure are said, but nothing about a sentence that goes on", async () => {
  const page = await mentioning((text) => (text === "broken" ? Response.json({}, { status: 500 }) : Response.json(found(text))));
  page.write("@zzz");
  await told(page, "No records found.");
  type(page.input, "");
  page.write("@broken");
  await told(page, "The search failed. Keep typing to try again.");
  type(page.input, "");
  page.write("@zzz, please");
  await until(() => page.asked.some((text) => text.startsWith("zzz,")));
  await pause();
  assert.ok(!page.texts("[role=status]").includes("No records found."));
});

test("a message that comes back, or waits, keeps its mention", async () => {
  const refused = () => Response.json({ error: "too_many_requests", message: "Too many." }, { status: 429 });
  const page = await mentioning(undefined, { runs: [[STARTED, chunk("Hello."), FINISHED]] });
  const { request } = page.chat;
  page.chat.request = async (url, init) => (url.endsWith("/agent/") ? refused() : request(url, init));
  page.write("See @milk");
  await page.listed(["Buy milk"]);
  press(page.input, "Enter");
  press(page.input, "Enter");
  await until(() => page.texts("[role=alert]").join().includes("Too many."));
  page.chat.request = request;
  await page.press("Try again");
  await until(() => page.sent.length);
  assert.match(JSON.stringify(page.sent[0].messages[0]), /"title":"Buy milk"/);
});

test("without a search, an @ is a sign as any other", async () => {
  const page = await mentioning(undefined, { modules: {}, data: {} });
  page.write("See @buy");
  await pause();
  assert.deepEqual([page.asked, page.all("[role=listbox], .palette")], [[], []]);
});
