// Are the messages and the state that our reducer makes of streams those of the official client?
//
//   node compare.mjs <folder of the element> <conversations generated> [<file of recorded runs>]
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { HttpAgent } from "@ag-ui/client";

import { generate } from "./generate.mjs";

const [folder, count, file] = process.argv.slice(2);
const { beginRun, emptyConversation, loadFor, reduce } = await import(pathToFileURL(`${folder}/conversation/conversation.js`).href);
for (const type of ["TEXT_MESSAGE_CHUNK", "STATE_DELTA"]) await loadFor({ type });

console.warn = console.error = () => {}; // Both tell what they drop

/** What may differ, and why. Everything else is the same, to the last key. */
function essence({ messages, state }) {
  const same = messages.map(({ content, ...message }) => ({
    ...message,
    // Of a message that a tool call began and whose text stayed empty, the official client knows no text, and we know "".
    content: content === "" ? undefined : content,
  }));
  return JSON.parse(JSON.stringify({ messages: same, state }));
}

/** The official client's own end of a conversation. */
async function official({ runs }) {
  let events;
  const fetch = async () => {
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  const agent = new HttpAgent({ url: "http://localhost/", threadId: "thread", fetch });
  for (const run of runs) {
    ({ events } = run);
    run.messages.forEach((message) => agent.addMessage(message));
    let refusal;
    const end = events.at(-1);
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" }));
    await agent.runAgent({ runId: run.runId, ...(resume.length && { resume }) }).catch((error) => (refusal = error));
    if (refusal && end.type !== "RUN_ERROR") throw refusal;
  }
  return { messages: agent.messages, state: agent.state };
}

function ours({ runs }, start = emptyConversation()) {
  return runs.reduce((state, { runId, messages, events }) => events.reduce(reduce, beginRun(state, { runId, messages })), start);
}

function compare(name, mine, theirs, events) {
  try {
    assert.deepEqual(essence(mine), essence(theirs));
  } catch (error) {
    console.log(`${name} differs:\n${error.message}\n${process.env.EVENTS ? events.map((event) => JSON.stringify(event)).join("\n") : ""}`);
    process.exit(1);
  }
}

const seen = new Map();
let total = 0;
function tally(events) {
  total += 1;
  for (const { type } of events) seen.set(type, (seen.get(type) ?? 0) + 1);
}

// What was recorded: runs in which the official client took part, from what it had to what it made of them, or mere streams.
const records = file ? readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
for (const [index, { before, events, after }] of records.entries()) {
  const runs = [{ runId: events[0].runId, messages: [], events }];
  const start = { ...emptyConversation(), ...before };
  compare(`recorded ${index + 1}`, ours({ runs }, start), after ?? (await official({ runs })), events);
  tally(events);
}
const only = process.env.SEED;
for (let seed = Number(only ?? 1); seed <= Number(only ?? count); seed += 1) {
  const conversation = generate(seed);
  const events = conversation.runs.flatMap((run) => run.events);
  tally(events);
  const theirs = await official(conversation).catch((error) => assert.fail(`Not well-formed (${seed}): ${error.message}\n${JSON.stringify(events.slice(-3))}`));
  compare(`generated ${seed}`, ours(conversation), theirs, events);
}
console.log(JSON.stringify({ total, recorded: records.length, types: Object.fromEntries(seen) }));
