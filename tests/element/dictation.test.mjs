// The microphone: what is recorded, when nobody listens any more, and what is told when it fails. A browser's own is in Python's tests.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, has, open, press, until } from "./page.mjs";

const SAID = () => Response.json({ text: "buy milk" });

/** A recorder that hears as much as the test wants, and streams that know whether anybody listens. */
function microphone({ bytes = 9, asking = async () => {} } = {}) {
  const heard = { streams: [], live: () => heard.streams.filter(({ readyState }) => readyState === "live").length };
  globalThis.MediaRecorder = class extends EventTarget {
    state = "inactive";
    mimeType = "audio/webm";
    start() {
      this.state = "recording";
      heard.recorder = this;
    }
    stop() {
      this.state = "inactive";
      this.ondataavailable({ data: new Blob(["x".repeat(bytes)]) });
      this.dispatchEvent(new Event("stop")); // happy-dom calls `onstop`, too
    }
  };
  const getUserMedia = async () => {
    await asking(heard);
    const track = { readyState: "live", stop: () => (track.readyState = "ended") };
    heard.streams.push(track);
    return { getTracks: () => [track] };
  };
  Object.defineProperty(navigator, "mediaDevices", { value: { getUserMedia }, configurable: true });
  return heard;
}

/** A page with a microphone, whose server gives these answers, one after the other. */
async function listening({ answers = [SAID], heard = microphone(), ...options } = {}) {
  const asked = [];
  const transcribe = (url, init) => (asked.push(init), answers[Math.min(asked.length, answers.length) - 1](init));
  const page = await open({ modules: { "composer:voice": "./agui_voice/microphone.js" }, data: { transcribeUrl: "/agent/transcribe/" }, routes: { "/agent/transcribe/": transcribe }, ...options });
  const mic = await page.button("Dictate");
  const status = () => page.texts(".voice [role=status]").join();
  const input = page.root.querySelector(".input");
  return Object.assign(page, {
    asked, mic, heard, input, status,
    told: (words) => until(() => (words instanceof RegExp ? words.test(status()) : status() === words), `${words}, not ${status()}`),
    async begin() {
      mic.click();
      await until(() => heard.recorder?.state === "recording" && mic.getAttribute("aria-pressed") === "true");
    },
    async dictate() {
      await this.begin();
      mic.click();
    },
    silent: () => until(() => heard.streams.length && !heard.live()),
  });
}

test("words come to the cursor, and the button waits while they are written down", async () => {
  let answer;
  const page = await listening({ answers: [() => new Promise((go) => (answer = () => go(SAID())))] });
  await page.dictate();
  await page.told(/Transcribing/);
  assert.equal(page.mic.getAttribute("aria-disabled"), "true");
  await page.silent();
  page.mic.click();
  assert.equal(page.heard.streams.length, 1);
  answer();
  await until(() => page.input.value === "buy milk");
  assert.equal(page.asked.length, 1);
});

test("a recording ends by itself when it is too large or too long", async (t) => {
  const page = await listening({ data: { transcribeUrl: "/agent/transcribe/", maxRecordingBytes: "1" } });
  await page.begin();
  page.heard.recorder.ondataavailable({ data: new Blob(["xx"]) });
  await until(() => page.input.value === "buy milk");
  await page.silent();
  const other = await listening();
  await other.begin();
  const later = performance.now() + 5 * 60 * 1000;
  t.mock.method(performance, "now", () => later);
  await until(() => other.input.value === "buy milk");
});

test("a browser that can't record has no button", async () => {
  for (const take of [() => delete globalThis.MediaRecorder, () => Object.defineProperty(navigator, "mediaDevices", { value: undefined, configurable: true })]) {
    const heard = microphone();
    take();
    const page = await open({ modules: { "composer:voice": "./agui_voice/microphone.js" }, data: { transcribeUrl: "/agent/transcribe/" } });
    await new Promise((go) => setTimeout(go, 50));
    assert.deepEqual([page.all("[part=microphone]").length, heard.streams.length], [0, 0]);
  }
});

test("Escape discards the recording and nothing else", async () => {
  const page = await listening();
  page.input.value = "as it was";
  await page.begin();
  press(page.mic, "Escape");
  await page.silent();
  await page.told("The recording was discarded.");
  await page.begin();
  await page.press("Discard (Esc)");
  await page.silent();
  assert.deepEqual([page.input.value, page.asked.length], ["as it was", 0]);
});

test("words that are discarded do not come", async () => {
  const held = [];
  const page = await listening({ answers: [() => new Promise((go) => held.push(() => go(Response.json({ text: "the first" })))), () => Response.json({ text: "the second" })] });
  await page.dictate();
  await page.told(/Transcribing/);
  press(page.mic, "Escape");
  await until(() => page.mic.getAttribute("aria-disabled") !== "true");
  held[0]();
  await page.dictate();
  await until(() => page.input.value === "the second");
});

for (const [name, leave] of Object.entries({
  removed: (chat) => chat.remove(),
  "new chat": (chat) => chat.newChat(),
  "another thread": (chat) => chat.openThread("another"),
  collapsed: (chat) => chat.toggle(true),
  "signed out": (chat) => chat.session.signOut(),
})) {
  test(`nothing is heard after: ${name}`, async () => {
    const page = await listening({ runs: [[STARTED, FINISHED]] });
    page.say("hello");
    await page.finished();
    await page.begin();
    leave(page.chat);
    await page.silent();
    assert.equal(page.asked.length, 0);
  });
}

test("a permission that comes too late is given back", async () => {
  const heard = microphone({ asking: (heard) => new Promise((go) => (heard.allow = go)) });
  const page = await listening({ heard });
  page.mic.click();
  await page.told(/Allow the microphone/);
  press(page.mic, "Escape");
  await until(() => !/Allow/.test(page.status()));
  heard.allow();
  await page.silent();
});

test("a refusal of the browser and a missing microphone are told", async () => {
  const refusals = ["NotAllowedError", "NotFoundError"];
  const heard = microphone({ asking: async () => { if (refusals.length) throw new DOMException("", refusals.shift()); } });
  const page = await listening({ heard });
  page.mic.click();
  await page.told("The browser doesn't let this page use the microphone.");
  page.mic.click();
  await page.told("No working microphone was found.");
  page.all(".voice .icon-button").at(-1).click();
  await page.told("");
  await page.dictate();
  await until(() => page.input.value === "buy milk");
});

const refused = (status, headers = {}) => () => Response.json({ error: "x", message: "No." }, { status, headers });

test("what can't be understood, or is too long, is not sent again", async () => {
  for (const [answer, told] of [[refused(200), "Nothing was understood."], [() => Response.json({ text: "" }), "Nothing was understood."], [refused(413), "The recording is too long."]]) {
    const page = await listening({ answers: [answer] });
    await page.dictate();
    await page.told(told);
    assert.deepEqual(page.texts(".voice .button"), []);
  }
  const page = await listening({ heard: microphone({ bytes: 0 }) });
  await page.dictate();
  await page.told("Nothing was understood.");
  assert.equal(page.asked.length, 0);
});

test("what failed is sent again without being spoken again", async () => {
  const lost = () => Promise.reject(new TypeError("lost"));
  for (const [answer, told] of [[lost, "The connection to the server was lost."], [refused(500), "The recording could not be transcribed."], [refused(429, { "Retry-After": "40" }), /Try again in 40 seconds\./], [refused(401), /You are signed out\./]]) {
    const page = await listening({ answers: [answer, SAID] });
    await page.dictate();
    await page.told(told);
    await page.press("Try again");
    await has(() => page.input.value, "buy milk");
    assert.deepEqual([page.asked.length, page.heard.streams.length], [2, 1]);
  }
});
