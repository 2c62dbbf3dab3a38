// The Enter that ends a conversion of Japanese, Chinese or Korean text acts in no field.
// input_methods/ has what each browser sends, and where that is described.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { FINISHED, STARTED, begun, chunk, open, press, question, type, until, waiting } from "./page.mjs";
import { storeOf } from "./store.mjs";

const FOLDER = new URL("./input_methods/", import.meta.url);
const SEQUENCES = readdirSync(FOLDER).filter((name) => name.endsWith(".json")).flatMap((name) => JSON.parse(readFileSync(new URL(name, FOLDER))));
const CONFIRM = { type: "keydown", key: "Enter", keyCode: 229, isComposing: false };
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** Play each event with what it had. A script's events change no text, so `value` does. */
function play(field, events) {
  const kinds = { input: InputEvent, beforeinput: InputEvent, keydown: KeyboardEvent, keyup: KeyboardEvent };
  const before = field.value;
  let isHandled = false;
  field.focus();
  for (const { type, value, keyCode, isComposing = false, ...init } of events) {
    // A browser that may not do what a key does sends no event of it.
    if (init.inputType === "insertLineBreak" && isHandled) continue;
    if (value !== undefined) {
      field.value = before + value;
      field.setSelectionRange(field.value.length, field.value.length);
    }
    const event = new (kinds[type] ?? Event)(type, { bubbles: true, composed: true, cancelable: true, ...init });
    for (const [name, given] of Object.entries({ keyCode, isComposing })) Object.defineProperty(event, name, { value: given });
    isHandled = !field.dispatchEvent(event);
  }
}

/** Type with each input method; `still` shows that nothing has happened. */
async function typeWithAll(field, still) {
  for (const { acts, events, text } of SEQUENCES) {
    if (acts) continue;
    type(field, "");
    play(field, events);
    await drawn();
    assert.equal(field.value, text);
    still();
  }
}

test("the input sends only when the user sends, and its list chooses nothing", async () => {
  const page = await open();
  const sent = [];
  page.chat.addEventListener("ag-ui-submit", (event) => (sent.push(event.detail.text), event.preventDefault()));
  const input = page.root.querySelector(".input");
  await typeWithAll(input, () => assert.deepEqual(sent, []));
  // A Korean syllable and its Enter: once, and not once for each event.
  for (const { events, text } of SEQUENCES.filter(({ acts }) => acts)) {
    type(input, "");
    play(input, events);
    await until(() => sent.length);
    assert.deepEqual(sent.splice(0), [text]);
  }
  type(input, "/");
  await page.one("[role=option]");
  play(input, [CONFIRM]);
  await drawn();
  assert.deepEqual([page.all("[role=option]").length, sent], [1, []]);
});

test("no listener of the page sees a key of an input method, but any other", async () => {
  const page = await open({ runs: [[STARTED, chunk("Hi."), FINISHED]] });
  page.say("hello");
  await page.press("Edit the message");
  const editor = await page.one(".editor textarea");
  editor.value = "日本";
  const reached = [];
  document.addEventListener("keydown", ({ key }) => reached.push(key));
  for (const element of page.all("textarea, button")) {
    for (const key of ["Enter", "Escape", "Tab", "ArrowUp"]) play(element, [{ type: "keydown", key, isComposing: true }, { ...CONFIRM, key }]);
    press(element, "F9");
    assert.deepEqual(reached.splice(0), ["F9"], element.className);
  }
  assert.equal(page.all(".editor textarea")[0].value, "日本");
});

test("fields of messages and questions act only on an Enter of the user", async () => {
  const asked = question("g", { properties: { editedArgs: { properties: { title: { type: "string" } } } } }, { reason: "tool_call", toolCallId: "c" });
  const runs = [[STARTED, chunk("Hi.", "a"), FINISHED], [STARTED, waiting(question("q", { type: "string" }))], [STARTED, FINISHED], [STARTED, ...begun("c", "publish", { title: "Bread" }), waiting(asked)], [STARTED, FINISHED]];
  const page = await open({ runs, modules: { "answer:feedback": "./agui_feedback/rating.js" }, data: { feedback: "" } });
  const stays = (field) => () => assert.ok(field.isConnected && page.root.activeElement === field);
  page.say("hello");
  await page.press("Edit the message");
  const editor = await page.one(".editor textarea");
  await typeWithAll(editor, stays(editor));
  press(editor, "Escape");
  await page.press("Bad answer");
  const comment = await page.one(".feedback textarea");
  await typeWithAll(comment, stays(comment));
  press(comment, "Enter");
  await until(() => !comment.isConnected);
  page.say("ask me");
  const answer = await page.one(".question :is(textarea, input)");
  await typeWithAll(answer, stays(answer));
  assert.equal(page.sent.length, 2);
  press(answer, "Enter");
  await until(() => page.sent.length === 3);
  await page.finished();
  page.say("ask me");
  for (const [name, end] of [["Edit", (field) => press(field, "Escape")], ["Deny", ({ form }) => form.requestSubmit()]]) {
    await page.press(name);
    const field = await until(() => page.root.activeElement?.matches(".question :is(textarea, input)") && page.root.activeElement);
    await typeWithAll(field, stays(field));
    assert.equal(page.sent.length, 4);
    end(field);
  }
  await until(() => page.sent.length === 5);
});

test("fields of lists act only on an Enter of the user, and close on no Escape of an input method", async () => {
  const store = storeOf([{ title: "word" }]);
  const page = await open({ routes: store.routes });
  await page.press("Conversations");
  const search = await page.one(".drawer [type=search]");
  await page.one(".thread");
  press(page.all(".thread")[0], "F2");
  const name = await page.one(".thread-input");
  await typeWithAll(name, () => assert.equal(page.root.activeElement, name));
  assert.deepEqual(store.changes, []);
  press(name, "Escape");
  search.value = "word";
  play(search, [{ type: "compositionstart" }, { ...CONFIRM, key: "Escape", isComposing: true }, { type: "compositionend" }]);
  assert.deepEqual([search.value, page.root.querySelector(".drawer").open], ["word", true]);
  await typeWithAll(search, () => assert.equal(page.root.activeElement, search));
  await page.press("Close", page.root.querySelector(".drawer"));
  press(page.root.querySelector(".input"), "k", { ctrlKey: true });
  const everything = await page.one("[role=combobox]");
  await typeWithAll(everything, () => assert.equal(page.root.activeElement, everything));
  type(everything, "");
  await page.one(".command");
  play(everything, [CONFIRM]);
  await drawn();
  assert.equal(page.root.activeElement, everything);
});

test("the place for a message is not said to be full while the user converts", async () => {
  const page = await open();
  const input = page.root.querySelector(".input");
  page.say("slow");
  await page.push(STARTED, chunk("word1"));
  type(input, "next");
  press(input, "Enter");
  await page.one(".queued");
  const told = () => page.root.querySelector(".queued [role=status]").textContent;
  await typeWithAll(input, () => assert.equal(told(), ""));
  press(input, "Enter");
  await until(told);
});
