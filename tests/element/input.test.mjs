// The input: the list behind "/", the blanks of skills, drafts, and messages that wait for the answer.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, chunk, has, named, nameOf, open, press, type, until } from "./page.mjs";
import { storeOf } from "./store.mjs";

const SKILLS = [
  { name: "plan", title: "Plan my day", group: "Tasks", prompt: "Plan it.", sendImmediately: true, chip: true },
  { name: "mail", title: "Write a mail", group: "Texts", prompt: "To {name} of {topic}, {name}.", chip: true },
  { name: "split", title: "Break down", group: "Tasks", prompt: "Break {it} down.", description: "Small" },
  { name: "review", title: "Weekly review" },
  { name: "explain", title: "Explain", prompt: "Explain {selection} of { page }.", sendImmediately: true, chip: true },
];
const ANSWER = [STARTED, chunk("Yes."), FINISHED];

/** A page with skills, and its input. */
async function writing({ skills = SKILLS, ...options } = {}) {
  const page = await open({ runs: Array(5).fill(ANSWER), routes: { "/agent/skills/": skills }, ...options });
  const input = page.root.querySelector(".input");
  return Object.assign(page, {
    input,
    write(text, end = input.value.length) {
      input.setRangeText(text, end, end, "end");
      type(input, input.value);
    },
    key: (name, options) => press(input, name, options),
    selected: () => input.value.slice(input.selectionStart, input.selectionEnd),
    listed: (names) => has(() => page.texts(".palette [role=option] code"), names),
    said: () => page.sent.map(({ messages }) => messages.at(-1).content),
    reads: (text) => until(() => input.value === text, text),
  });
}

const dialogs = (page) => page.all(".shortcuts").length;

test("Enter waits for the list that it chooses from, even if the list comes late", async () => {
  let answer;
  const page = await writing({ skills: () => new Promise((go) => (answer = () => go(Response.json(SKILLS)))) });
  page.input.focus();
  page.write("/?");
  page.key("Enter");
  await until(() => dialogs(page) === 1 && page.input.value === "");
  await page.press("Close", page.root.querySelector(".shortcuts"));
  // The skills arrive when it is open.
  page.write("/");
  await page.listed(["/?"]);
  answer();
  await until(() => page.all("[role=option]").length === 6);
  // Enter chooses from the list for the newest text.
  page.write("?");
  page.key("Enter");
  await until(() => dialogs(page) === 1);
});

test("the list is used with the keyboard", async () => {
  const page = await writing();
  page.input.focus();
  page.write("/");
  await until(() => page.all("[role=option]").length === 6);
  page.key("Escape");
  await page.listed([]);
  assert.equal(page.input.value, "/");
  page.write("ma");
  await page.listed(["/mail"]);
  assert.equal(page.all("[role=option]")[0].getAttribute("aria-selected"), "true");
  page.key("Enter");
  await page.reads("To {name} of {topic}, {name}.");
  assert.deepEqual([page.selected(), page.sent.length], ["{name}", 0]);
  // At the start of a text, too, with what follows for the skill.
  page.input.value = "/weeklyof March";
  page.input.setSelectionRange(7, 7);
  page.input.dispatchEvent(new Event("input"));
  await page.listed(["/review"]);
  page.key("Enter");
  await page.reads("/review of March");
  // A question mark shows the shortcuts only if no input has the focus.
  page.key("?");
  assert.equal(dialogs(page), 0);
  press(page.root.querySelector(".log"), "?");
  await until(() => dialogs(page) === 1);
});

test("the list opens from a button, in groups, and takes what is written", async () => {
  const page = await writing();
  await page.button("Explain");
  page.write("the garden");
  await page.press("Skills");
  await page.listed(["/plan", "/split", "/mail", "/review", "/explain", "/?"]);
  assert.deepEqual(page.all(".palette [role=group]").map(nameOf), ["Tasks", "Texts", "Skills"]);
  await page.press("Skills");
  await page.listed([]);
  await page.press("Skills");
  (await until(() => page.all("[role=option]")[1])).click();
  await page.reads("Break the garden down.");
  await page.press("Skills");
  await until(() => page.all("[role=option]").length);
  page.root.querySelector(".log").dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  await page.listed([]);
});

test("blanks are filled in one after the other, and one that is left is told of once", async () => {
  const page = await writing();
  await page.press("Write a mail");
  await page.reads("To {name} of {topic}, {name}.");
  const fill = (text) => {
    page.input.setRangeText(text, page.input.selectionStart, page.input.selectionEnd, "end");
    type(page.input, page.input.value);
  };
  for (const [shiftKey, blank] of [[false, "{topic}"], [false, "{name}"], [true, "{topic}"], [true, "{name}"]]) {
    page.key("Tab", { shiftKey });
    assert.equal(page.selected(), blank);
  }
  fill("Ada");
  page.key("Tab");
  page.key("Enter");
  await until(() => page.texts("[role=status]").includes("Fill in {topic}, or send it as it is."));
  assert.deepEqual([page.selected(), page.said()], ["{topic}", []]);
  fill("tea");
  await until(() => !page.texts("[role=status]").join().includes("Fill in"));
  page.key("Tab");
  page.key("Enter");
  page.key("Enter");
  await has(page.said, ["To Ada of tea, {name}."]);
  // The page says nothing about a text that nobody has called a blank.
  await page.finished();
  page.write("a {brace}");
  page.key("Enter");
  await until(() => page.said()[1] === "a {brace}");
});

test("the page fills blanks, and a skill without any is sent", async (t) => {
  t.mock.method(console, "warn", () => {});
  const page = await writing();
  for (const [values, text, selected] of [
    [{ selection: "", page: null }, "Explain {selection} of { page }.", "{selection}"],
    [null, "Explain {selection} of { page }.", "{selection}"],
    [{ selection: "Tea for {two}" }, "Explain Tea for {two} of { page }.", "{ page }"],
  ]) {
    page.chat.getSkillContext = () => {
      if (!values) throw new Error("The page is not ready.");
      return values;
    };
    await page.press("Explain");
    await page.reads(text);
    assert.equal(page.selected(), selected);
    type(page.input, "");
  }
  page.chat.getSkillContext = () => ({ selection: "Tea for {two}", page: 7 });
  await page.press("Explain");
  await has(page.said, ["Explain Tea for {two} of 7."]);
  // A skill that is sent at once leaves the draft.
  await page.finished();
  await page.newChat();
  page.write("a draft");
  await page.press("Plan my day");
  await until(() => page.said()[1] === "Plan it.");
  assert.equal(page.input.value, "a draft");
});

// --- Drafts

test("a draft stays with its conversation", async () => {
  const page = await writing({ routes: storeOf([{ title: "first" }, { title: "second" }]).routes });
  const show = (id) => (id ? page.chat.openThread(id) : page.chat.newChat());
  for (const id of ["t0", "t1", null]) {
    show(id);
    await page.reads("");
    page.write(`for ${id}`);
  }
  for (const id of ["t0", "t1", null]) {
    show(id);
    await page.reads(`for ${id}`);
  }
  page.key("Enter");
  await until(() => page.said()[0] === "for null");
  await page.newChat();
  await page.reads("");
  // What is written before a new chat is drawn stays.
  show("t0");
  await page.reads("for t0");
  show(null);
  page.write("for the new one");
  await until(() => page.root.querySelector(".panel.empty"));
  assert.equal(page.input.value, "for the new one");
});

// --- While an answer is written

test("a message waits for the answer, in one place, and can be rewritten or removed", async () => {
  const page = await writing({ runs: [] });
  const waiting = () => page.texts(".queued .bubble");
  const full = () => page.texts(".queued [role=status]")[0];
  page.say("slow");
  await page.push(STARTED, chunk("word1"));
  await page.button("Stop");
  assert.deepEqual(named(page.root, "button", /^Send/), []);
  page.write("first this");
  const send = await page.one("[part=send]");
  assert.equal(send.title, "Send when the answer is complete");
  page.key("Enter");
  await has(waiting, ["first this"]);
  // There is one place: what comes then stays in the input. A press on the button tells why, as the key does.
  for (const act of [() => send.click(), () => page.key("Enter")]) {
    page.write("then that");
    await until(() => send.getAttribute("aria-disabled") === "true");
    act();
    await until(() => full() === "One message is waiting already. Send this one after it.");
    assert.equal(page.input.value, "then that");
    type(page.input, "");
  }
  page.write("what I write now");
  await page.press("Edit the waiting message");
  await page.reads("first this\n\nwhat I write now");
  await has(waiting, []);
  page.key("Enter");
  await has(waiting, ["first this what I write now"]);
  await page.press("Remove the waiting message");
  await has(waiting, []);
  assert.equal(page.root.activeElement, page.input);
  page.write("last");
  page.key("Enter");
  page.runs.push(ANSWER);
  await page.push(FINISHED);
  page.stream.close();
  await until(() => page.said()[1] === "last");
});

test("an arrow up edits the last message, if nothing is written", async () => {
  const page = await writing();
  page.say("hello");
  await page.finished();
  await page.button("Edit the message");
  page.write("a draft");
  page.key("ArrowUp");
  await new Promise((go) => setTimeout(go, 50));
  assert.deepEqual(page.all(".editor"), []);
  type(page.input, "");
  page.key("ArrowUp");
  assert.equal((await page.one(".editor textarea")).value, "hello");
});

test("a model that is chosen goes with each run, and is kept as long as the server has it", async () => {
  const props = [];
  for (const [offered, chosen] of [["quick", "Default"], ["quick", "quick"], ["</agui-chat>", "Default"]]) {
    const page = await writing({ data: { models: JSON.stringify([offered]) }, keeps: props.length > 0 });
    const choice = await page.field("Model");
    assert.deepEqual([...choice.options].map(({ text }) => text), ["Default", offered]);
    assert.equal(choice.options[choice.selectedIndex].text, chosen);
    page.say("hello");
    await page.finished();
    props.push(page.sent[0].forwardedProps);
    if (offered === "quick") type(choice, "quick");
  }
  assert.deepEqual(props, [{}, { model: "quick" }, {}]);
});
