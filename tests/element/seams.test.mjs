// What a page makes its own without a fork, and what each of its seams promises.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, begun, chunk, custom, ended, failed, has, named, open, question, shown, type, until, waiting } from "./page.mjs";
import { storeOf } from "./store.mjs";

const DONE = [STARTED, chunk("Hello.", "a"), FINISHED];
const ICON = "M4 4h16v16H4z";
const asked = (id) => [STARTED, ...begun(id, "wipe"), waiting(question(id, undefined, { reason: "tool_call", toolCallId: id, message: "Wipe it?" }))];
const drawn = (chat, selector) => [...chat.querySelectorAll(`:scope > ${selector}`)].filter((one) => !one.hidden && !one.style.display).map((one) => one.textContent);

/** A view that draws approvals and ends. */
const WIPE = {
  done: ({ result }, element) => {
    if (WIPE.breaks) throw new Error("broken");
    element.textContent = `Yes: ${result}`;
  },
  failed: ({ status }, element) => (element.textContent = `No: ${status}`),
  approval: ({ message, approve, deny, answered }, element) => {
    const button = (textContent, onclick) => Object.assign(document.createElement("button"), { textContent, onclick });
    element.replaceChildren(message, button("Yes, please", approve), button("No, thanks", () => deny("Not today")), answered ?? "");
  },
};
const own = (page, text) => until(() => [...page.chat.querySelectorAll("button")].find((one) => one.textContent === text));
const resume = async (page, number) => (await until(() => page.sent[number])).resume.map(({ payload }) => payload);

test("buttons in the header, and whether they are shown or pressed", async () => {
  const page = await open();
  let [helped, isOpen] = [null, false];
  page.chat.registerAction({ name: "help", label: "Help", icon: ICON, on: "header", run: ({ threadId }) => (helped = threadId ?? "new") });
  page.chat.registerAction({ name: "none", label: "None", icon: ICON, on: "header", run() {}, when: () => false });
  page.chat.registerAction({ name: "panel", label: "Panel", icon: ICON, on: "header", run: () => (isOpen = !isOpen), pressed: () => isOpen });
  await page.press("Help");
  assert.equal(helped, "new");
  assert.deepEqual(named(page.root, "button", "None"), []);
  for (const pressed of ["false", "true"]) {
    await until(() => named(page.root, "button", "Panel")[0].getAttribute("aria-pressed") === pressed);
    await page.press("Panel");
  }
});

test("an avatar stands beside each answer, and goes with the conversation", async () => {
  const page = await open({ runs: [DONE, [STARTED, chunk("And.", "b"), FINISHED]] });
  page.chat.append(Object.assign(document.createElement("img"), { slot: "avatar" }));
  page.chat.registerAnswer(() => {});
  for (const count of [2, 3]) {
    page.say("hello");
    await until(() => page.chat.querySelectorAll(":scope > img").length === count); // the page's own, which is not shown, and copies
    await page.finished();
  }
  await page.newChat();
  await until(() => page.chat.querySelectorAll(":scope > img").length === 1);
});

test("a rule for texts changes what is complete", async () => {
  const page = await open();
  page.chat.registerAnswer((answer) => answer.querySelectorAll("code").forEach((code) => code.classList.add("dressed")));
  page.say("hello");
  await page.push(STARTED, chunk("Use `#ff0000`."));
  await page.one(".prose code");
  assert.deepEqual(page.texts(".prose .dressed"), []);
  await page.push(FINISHED);
  await has(() => page.texts(".prose .dressed"), ["#ff0000"]);
});

test("a page brings words and a language of its own", async () => {
  const strings = "data:text/javascript,export const STRINGS = { lang: 'fr', placeholder: 'Demandez', send: 'Envoyer', newChat: 'Nouveau' };";
  const page = await open({ data: { stringsUrl: strings, strings: '{"send":"Los"}' }, before: (chat) => Object.assign(chat, { lang: "fr", strings: { placeholder: "Une question ?" } }) });
  await page.button("Los");
  await page.button("Nouveau");
  assert.match(page.root.querySelector(".input").placeholder, /^Une question \?/);
});

test("a page draws approvals, and how calls end", async () => {
  WIPE.breaks = false;
  const page = await open({ runs: [asked("a"), [STARTED, ended("a", "Not today", { outcome: "denied" }), FINISHED], asked("b"), [STARTED, ended("b", "Gone."), FINISHED]] });
  const takeBack = page.chat.registerToolView("wipe", WIPE);
  page.say("wipe");
  await page.group("Wipe it?");
  assert.deepEqual(named(page.root, "button", "Approve"), []);
  (await own(page, "No, thanks")).click();
  assert.deepEqual(await resume(page, 1), [{ approved: false, reason: "Not today" }]);
  await has(() => drawn(page.chat, "[slot^=tool-]"), ["No: denied"]);
  // A listener's event is no changed argument. An error of the page's function is the card of the chat.
  WIPE.breaks = true;
  await page.finished();
  page.say("wipe");
  (await own(page, "Yes, please")).click();
  assert.deepEqual(await resume(page, 3), [{ approved: true }]);
  await until(() => /Done/.test(page.texts(".tool summary").at(-1)));
  takeBack();
  await has(() => drawn(page.chat, "[slot^=tool-]"), []);
});

test("a view of a tool follows the arguments as they stream", async () => {
  const page = await open();
  page.chat.registerToolView("write", { running: ({ args, step, percent }, element) => (element.textContent = [args.title, args.lines?.length, step, percent].join("|")) });
  page.say("hello");
  const call = { toolCallId: "c" };
  const [mine, delta] = [(text) => has(() => drawn(page.chat, "[slot^=tool-]"), [text]), (delta) => page.push({ type: "TOOL_CALL_ARGS", ...call, delta })];
  await page.push(STARTED, { type: "TOOL_CALL_START", ...call, toolCallName: "write" });
  await mine("|||");
  await delta('{"title": "Dear A');
  await mine("Dear A|||");
  await delta('da", "lines": ["a", "b');
  await mine("Dear Ada|2||");
  // Without a function for the end, the card shows it.
  await delta('"]}');
  await page.push({ type: "TOOL_CALL_END", ...call }, ended("c"), FINISHED);
  await page.one(".tool summary");
});

test("failures of buttons are told, and all that is registered can be taken back", async () => {
  const page = await open();
  const { chat } = page;
  const back = [
    chat.registerAction({ name: "a", label: "Break", icon: ICON, on: "header", run() { throw new Error("sync"); } }),
    chat.registerAction({ name: "b", label: "Fail", icon: ICON, on: "composer", disabled: ({ text }) => !text, run: async () => { throw new Error("late"); } }),
    chat.registerEvent("stock", (value, element) => (element.className = "my-stock")),
    chat.registerActivity("map", (content, element) => (element.className = "my-map")),
    chat.registerTool({ name: "hello", handler() {} }),
  ];
  const told = (words) => until(() => page.texts("[role=alert]").includes(words));
  await until(() => named(page.root, "button", "Fail")[0]?.getAttribute("aria-disabled") === "true");
  await page.press("Fail"); // not yet
  await page.press("Break");
  await told("“Break” did not work.");
  assert.ok(!page.texts("[role=alert]").includes("“Fail” did not work."));
  type(page.root.querySelector(".input"), "x");
  await until(() => named(page.root, "button", "Fail")[0].getAttribute("aria-disabled") !== "true");
  await page.press("Fail");
  await told("“Fail” did not work.");
  page.say("hello");
  await page.push(STARTED, custom("stock", {}), shown("map", {}));
  await until(() => chat.querySelectorAll(":scope > :is(.my-stock, .my-map)").length === 2);
  for (const takeBack of back) takeBack();
  await until(() => !named(page.root, "button", /^(Break|Fail)$/).length);
  await until(() => page.all(".message.activity > details").length === 1 && page.all(".message.activity").length === 1);
  assert.ok(!chat.tools.some(({ name }) => name === "hello"));
  // What has been registered under the same name since then stays.
  const action = (label) => ({ name: "c", label, icon: ICON, on: "header", run() {} });
  const takeBack = chat.registerAction(action("First"));
  chat.registerAction(action("Second"));
  takeBack();
  await page.button("Second");
});

test("send and open tell what has become of it", async () => {
  const page = await open({ runs: [DONE, [STARTED, failed("No.")], DONE, DONE, asked("c")] });
  const outcome = (promise) => promise.then(({ status }) => status, ({ name }) => name);
  assert.equal(await outcome(page.chat.send("hello")), "idle");
  assert.equal(await outcome(page.chat.send("fail")), "failed");
  assert.equal(await outcome(page.chat.send(" ")), "InvalidStateError");
  // A message that waits has its own end.
  assert.deepEqual(await Promise.all(["one", "two"].map((text) => outcome(page.chat.send(text)))), ["idle", "idle"]);
  assert.equal(await outcome(page.chat.send("ask")), "waiting");
  // Another conversation is open before the run has ended.
  await page.newChat();
  const gone = outcome(page.chat.send("slow"));
  await page.push(STARTED);
  page.chat.newChat();
  assert.equal(await gone, "AbortError");
});

test("open tells whether the conversation is there, and how its last run ended", async () => {
  const store = storeOf([{ title: "hello" }, { title: "ask", pending: [question("q")] }]);
  const { chat } = await open({ routes: store.routes });
  const outcomes = ["t0", "t1", "gone"].map((id) => () => chat.open(id).then(({ status }) => status, ({ name }) => name));
  const told = [];
  for (const outcome of outcomes) told.push(await outcome());
  assert.deepEqual(told, ["idle", "waiting", "AbortError"]);
});
