// What can be done with a message that is there, and what the page says of a run that failed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, chunk, custom, failed, has, named, open, press, type, until } from "./page.mjs";

const RATED = { modules: { "answer:feedback": "./agui_feedback/rating.js" }, data: { feedback: "" } };
const said = (words, id = "a", ...more) => [STARTED, chunk(words, id), ...more, FINISHED];
const tell = (page, words) => until(() => page.texts("[role=status]").includes(words), words);

/** A page on which the user has asked, and these runs have answered; `server` answers other requests of the thread. */
async function asked(runs, { server = () => undefined, ...options } = {}) {
  const thread = { messages: [], pending: [], state: {}, running: false };
  const answer = (url, init = {}) => server(url.pathname, init, thread) ?? Response.json(thread);
  const routes = new Proxy({}, { get: (_, path) => (/threads\/.+/.test(path) ? answer : undefined) });
  const page = await open({ runs, routes, ...options });
  page.say("first try");
  await page.finished();
  return page;
}

// --- Versions

test("an edited message is a new version, and each is shown again", async () => {
  let prompt;
  const texts = ["first try", "second try"];
  const versions = (current) => ({ [prompt]: texts.map((text, n) => ({ id: `v${n}`, text, current: n === current })) });
  const server = (path, { method, body }, thread) => {
    if (prompt) Object.assign(thread, { branches: versions(1) });
    if (method !== "PATCH" || !JSON.parse(body).branch) return;
    const current = texts.indexOf("first try");
    return Response.json({ ...thread, branches: versions(current), messages: [{ id: prompt, role: "user", content: texts[current] }] });
  };
  const page = await asked([said("One."), said("Two.", "b")], { server });
  prompt = page.sent[0].messages[0].id;
  await page.press("Edit the message");
  const editor = await page.one(".editor textarea");
  assert.deepEqual([editor.value, page.root.activeElement], ["first try", editor]);
  press(editor, "Escape");
  assert.equal(page.root.activeElement, await page.button("Edit the message"));
  await page.press("Edit the message");
  type(await page.one(".editor textarea"), "second try");
  press(await page.one(".editor textarea"), "Enter");
  assert.equal(page.root.activeElement, page.root.querySelector(".input"));
  await has(() => page.texts(".bubble"), ["second try"]);
  await until(() => page.texts(".pager")[0] === "2 / 2");
  const back = await page.button("Previous version");
  back.focus();
  back.click();
  await has(() => page.texts(".bubble"), ["first try"]);
  await until(() => page.texts(".pager")[0] === "1 / 2");
  assert.equal(page.root.activeElement, back);
});

test("another answer takes the place of the first one", async () => {
  const page = await asked([said("One."), said("Two.", "b")]);
  await page.press("Answer again");
  await has(() => page.texts(".assistant .prose"), ["Two."]);
  assert.deepEqual(page.texts(".bubble"), ["first try"]);
});

test("nothing is offered during a run that would be refused", async () => {
  const page = await asked([said("One.")]);
  page.say("slow");
  await page.push(STARTED, chunk("word1", "b"));
  await has(() => named(page.root, "button", /^(Copy the answer|Edit the message|Answer again)$/).length, 1);
  await page.push({ ...FINISHED, outcome: { type: "cancelled" } });
  page.stream.close();
  await until(() => page.root.querySelector(".log").textContent.includes("Stopped."));
  await has(() => named(page.root, "button", "Edit the message").length, 2);
});

// --- Copies

test("an answer is copied whole, as Markdown and as HTML, or the page says that it can not", async () => {
  const page = await asked([said("**One** and [two](/two).", "a", chunk("```js\nlet x = 1 < 2;\n```", "b"))]);
  const plain = "**One** and [two](/two).\n\n```js\nlet x = 1 < 2;\n```";
  const html = '<p><strong>One</strong> and <a href="https://page.example/two">two</a>.</p><pre><code class="language-js">let x = 1 &lt; 2;</code></pre>';
  const copied = { "text/plain": plain, "text/html": html };
  const copies = [];
  const clipboard = { write: async ([item]) => copies.push(Object.fromEntries(await Promise.all(Object.entries(item).map(async ([type, blob]) => [type, await blob.text()])))) };
  const setClipboard = (value) => Object.defineProperty(navigator, "clipboard", { value, configurable: true });
  globalThis.ClipboardItem = function (forms) {
    return forms;
  };
  setClipboard(clipboard);
  await page.press("Copy the answer");
  await tell(page, "Copied");
  assert.deepEqual(copies, [copied]);
  setClipboard({ write: () => Promise.reject(new Error()) });
  for (const [works, words] of [[true, "Copied"], [false, "The browser doesn't let this page copy."]]) {
    document.execCommand = () => {
      const data = {};
      const clipboardData = { setData: (type, text) => (data[type] = text) };
      page.root.querySelector("textarea.visually-hidden").dispatchEvent(Object.assign(new Event("copy"), { clipboardData }));
      return copies.push(data), works;
    };
    const { length } = copies;
    await page.press("Copy the answer");
    await until(() => copies.length > length);
    await tell(page, words);
    assert.equal(page.root.activeElement, await page.button("Copy the answer"));
  }
  assert.deepEqual(copies, Array(3).fill(copied));
});

test("each table is copied with its cells, and no formula", async () => {
  const page = await asked([said("| Name | Sum |\n|---|--:|\n| **Ada** | =1+1 |\n| Bo  b | -5 |")]);
  const copies = [];
  Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  const table = await page.one(".table");
  const button = await page.button("Copy", table);
  document.execCommand = () => {
    const clipboardData = { setData: (_, text) => copies.push(text) };
    return button.nextElementSibling.dispatchEvent(Object.assign(new Event("copy"), { clipboardData }));
  };
  button.click();
  await until(() => copies.length);
  assert.deepEqual(copies, [
    "Name\tSum\nAda\t'=1+1\nBo b\t-5",
    '<table border="1" cellpadding="4" style="border-collapse:collapse"><tr><th>Name</th><th>Sum</th></tr><tr><td>Ada</td><td>\'=1+1</td></tr><tr><td>Bo  b</td><td>-5</td></tr></table>',
  ]);
});

// --- Their times, and a conversation that goes on from them

test("messages say when they were sent, as the server knows it or the browser", async () => {
  const page = await asked([said("One.")]);
  const times = () => page.all("time").map((time) => time.dateTime ?? time.getAttribute("datetime"));
  await until(() => times().length === 2 && times().every(Boolean));
  for (const time of times()) assert.ok(Math.abs(new Date(time) - new Date()) < 60_000, time);
  const messages = [{ id: "p", role: "user", content: "Hello" }, { id: "q", role: "assistant", content: "One." }, { id: "r", role: "user", content: "And?" }, { id: "s", role: "assistant", content: "Two." }];
  const sent = { p: "2025-03-01T10:00:00+00:00", q: "2025-03-01T10:00:05.250000+00:00", r: "no time" };
  const server = () => Response.json({ messages, times: sent, pending: [], state: {}, running: false });
  const stored = await asked([said("One.")], { server });
  stored.chat.openThread("stored");
  await until(() => stored.texts(".bubble").includes("And?"));
  const shown = () => stored.all("time").filter((time) => time.textContent);
  await until(() => shown().length === 2);
  assert.deepEqual(shown().map((time) => time.getAttribute("datetime")), ["2025-03-01T10:00:00.000Z", "2025-03-01T10:00:05.250Z"]);
  for (const time of shown()) assert.match(time.textContent, /2025/);
});

test("a conversation goes on from an answer in another one", async () => {
  let refuses = true;
  const forks = [];
  const server = (path, { method, body }, thread) => {
    if (!path.endsWith("/fork/")) return path.includes("fork-1") ? Response.json({ ...thread, messages: [{ id: "x", role: "user", content: "first try" }] }) : undefined;
    forks.push([method, path, JSON.parse(body)]);
    return refuses ? Response.json({ error: "not_found" }, { status: 404 }) : Response.json({ thread_id: "fork-1", title: "" }, { status: 201 });
  };
  const page = await asked([said("One.")], { server });
  const { threadId } = page.chat;
  await page.press("Continue in a new conversation");
  await tell(page, "That is not possible from this answer.");
  assert.equal(page.chat.threadId, threadId);
  refuses = false;
  const button = await page.button("Continue in a new conversation");
  for (let pressed = 0; pressed < 2; pressed++) button.click();
  await until(() => page.chat.threadId === "fork-1");
  await has(() => page.texts(".bubble"), ["first try"]);
  assert.deepEqual(forks, Array(2).fill(["POST", `/agent/threads/${threadId}/fork/`, { message_id: "a" }]));
});

// --- Feedback

test("feedback is kept or taken back, and what is not saved is not shown", async () => {
  const put = [];
  let works = true;
  const server = (path, { body }) => {
    if (!path.endsWith("/feedback/")) return;
    if (!works) throw new TypeError("Failed to fetch");
    put.push(JSON.parse(body));
    return Response.json({});
  };
  const page = await asked([said("One.")], { server, ...RATED });
  const [good, bad] = [await page.button("Good answer"), await page.button("Bad answer")];
  const pressed = (expected) => has(() => [good, bad].map((one) => one.getAttribute("aria-pressed")), expected.map(String));
  good.click();
  await tell(page, "Thank you.");
  await pressed([true, false]);
  bad.click();
  const comment = await page.field("What was wrong with it? (optional)");
  assert.equal(page.root.activeElement, comment);
  type(comment, "Not a word of it is <b>true</b>");
  press(comment, "Enter");
  await until(() => !comment.isConnected && page.root.activeElement === bad);
  await pressed([false, true]);
  bad.click();
  await pressed([false, false]);
  assert.deepEqual(put.map(({ value, comment }) => [value, comment]), [[1, ""], [-1, ""], [-1, "Not a word of it is <b>true</b>"], [0, ""]]);
  bad.click();
  press(await page.field("What was wrong with it? (optional)"), "Escape");
  await until(() => page.root.activeElement === bad);
  works = false;
  good.click();
  await tell(page, "This could not be saved.");
  await pressed([false, true]);
});

// --- What it took

test("usage is shown when the server tells it", async () => {
  const told = { inputTokens: 7, outputTokens: 1, cost: 0.00123, contextTokens: 500, contextWindow: 1000 };
  const usage = [{ inputTokens: 1200, outputTokens: 30 }, { inputTokens: 34, outputTokens: 5 }];
  const page = await asked([[STARTED, chunk("Hello."), { ...FINISHED, usage }], said("Again.", "b", custom("usage", { messageId: "b", usage: told }))]);
  await until(() => page.texts(".usage").includes("1,234 tokens read, 35 written"));
  page.say("and again");
  await until(() => page.texts(".usage").at(-1) === "7 tokens read, 1 written · $0.0012 · 50% of the context");
});

// --- Failures

const RUN = { runId: "3f2a91bc" };
const DEBUG = { hint: "Look at OPENAI_API_KEY in .env.", cause: "ModelHTTPError: 401" };
for (const [code, message, metadata, step, besides] of [
  ["model_refused", "The model or its provider refused the request.", {}, "Try again", "Run 3f2a91bc"],
  ["empty_answer", "The model's answer was empty. Try again.", {}, "Try again", "Run 3f2a91bc"],
  ["context_window", "The conversation is too long for the model. Start a new one.", {}, "New chat", "Run 3f2a91bc"],
  ["budget_exceeded", "Your budget is used up.", { resets_at: "2026-11-23T00:00:00+00:00" }, undefined, "You can continue at Nov 2"],
  ["internal_error", "The run failed on the server.", { debug: DEBUG }, "Try again", "look at OPENAI_API_KEY in .env.ModelHTTPError: 401"],
]) {
  test(`after ${code} the next step is ${step ?? "none"}`, async () => {
    const empty = code === "empty_answer" ? [{ type: "TEXT_MESSAGE_START", messageId: "a", role: "assistant" }] : [];
    const page = await asked([[STARTED, ...empty, failed(message, code, { ...RUN, ...metadata })]], RATED);
    await until(() => page.texts(".failure").length);
    const [text] = page.texts(".failure");
    assert.ok(text.includes(message) && text.toLowerCase().includes(besides.toLowerCase()), text);
    assert.deepEqual(page.texts(".failure button.button"), step ? [step] : []);
    assert.deepEqual(named(page.root, "button", "Good answer"), []); // An empty answer is not a row of thumbs.
    if (step !== "New chat") return;
    await page.press("New chat", page.root.querySelector(".failure"));
    await has(() => page.texts(".message, .failure"), []);
  });
}

test("a failure stays with its turn, or is tried again in its place", async () => {
  const page = await asked([[STARTED, failed("No.", "model_error", RUN)], said("Yes."), [STARTED, failed("Not again.", "model_error", RUN)], said("Yes.", "b")]);
  await page.press("Try again");
  await has(() => page.texts(".assistant .prose"), ["Yes."]);
  assert.deepEqual([page.texts(".failure"), page.texts(".bubble")], [[], ["first try"]]);
  for (const words of ["once more", "and go on"]) {
    page.say(words);
    await page.finished();
  }
  await until(() => /Not again\./.test(page.texts(".messages .failure")[0]));
  assert.deepEqual(page.texts(".messages .failure button.button"), []);
  assert.deepEqual(page.all(".messages > :is(.user, .failure)").map((one) => one.classList[0]), ["message", "message", "failure", "message"]);
});

test("an answer that is not whole says so, and only the newest one goes on", async () => {
  const page = await asked([said("The first step is to", "a", custom("answer_cut", { messageId: "a", reason: "length" })), said("stop.", "b")]);
  await page.press("Continue");
  await until(() => page.texts(".bubble").at(-1) === "Continue");
  await page.finished();
  await has(() => page.texts(".turn-note"), ["This answer is incomplete."]);
});

test("a file that the model can't read is told of below the answer", async () => {
  const files = [{ mime: "audio/wav", size: 3 }];
  const page = await asked([said("I can't hear it.", "a", custom("files_left_out", { messageId: "a", files }))], { modules: { "metadata:files_left_out": "./agui_attachments/sent-files.js" } });
  await until(() => /can't read a file of this conversation/.test(page.root.querySelector(".messages").textContent));
});

test("a suggestion is sent, and makes way", async () => {
  const texts = ["Buy milk", "<b>Drink</b> it"];
  const page = await asked([said("There is none.", "a", custom("follow_ups", { messageId: "a", suggestions: texts })), said("Bought.", "b")], { modules: { "last:follow_ups": "./agui_suggestions/suggestions.js" } });
  const shown = async () => [...(await page.group("Suggested messages")).querySelectorAll("button")];
  await until(async () => (await shown()).length === 2);
  const buttons = await shown();
  assert.deepEqual(buttons.map((one) => one.textContent), texts);
  buttons[0].click();
  await has(() => page.texts(".bubble"), ["first try", "Buy milk"]);
  await page.finished();
  assert.deepEqual([named(page.root, "[role=group]", "Suggested messages"), page.root.activeElement], [[], page.root.querySelector(".input")]);
});

test("a thought says how long it took", async () => {
  const page = await open({ runs: [null] });
  page.say("hello");
  await page.push(STARTED, { type: "REASONING_MESSAGE_CHUNK", messageId: "thought", delta: "Hm." });
  await has(() => page.texts(".reasoning summary"), ["Thinking…"]);
  await page.push(chunk("Yes."), FINISHED);
  await until(() => /^Thought · \d+ s$/.test(page.texts(".reasoning summary")[0]));
});
