// A document for a page that runs in Node, and what its user does: loaded before the page.
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><body></body>", { url: "http://127.0.0.1/", pretendToBeVisual: true });
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis)) globalThis[name] = window[name];
}
Object.assign(globalThis, { window, FormData: window.FormData });

/** Wait until something is true. */
export async function until(what, check) {
  for (let tries = 0; tries < 2400; tries += 1) {
    const value = check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`No ${what}: ${document.body.innerHTML}`);
}

const send = globalThis.fetch;
let accepted = 0;
globalThis.fetch = async (url, init) => {
  const response = await send(url, init);
  if (init?.method === "POST" && String(url).endsWith("/messages/") && response.status === 202) accepted += 1;
  return response;
};

/** Ask, send two messages while the agent works, and print what the page shows at the end. */
export async function steerAndQueue(ask, shown) {
  const gate = crypto.randomUUID();
  const answers = [[{ say: "first " }, { wait: gate }, { call: "echo", arguments: { text: "x" } }], [{ say: "Done." }]];
  ask(`script: ${JSON.stringify(answers)}`);
  await until("first words", () => shown().at(-1)?.startsWith("assistant: first"));
  const form = await until("field", () => document.querySelector("form"));
  const messages = { steer: "Only ten.", queue: `script: ${JSON.stringify([[{ say: "Well." }]])}` };
  for (const [index, [mode, text]] of Object.entries(messages).entries()) {
    form.elements.text.value = text;
    form.requestSubmit(form.querySelector(`button[value=${mode}]`));
    await until("answer", () => accepted === index + 1);
  }
  await send(`${process.env.AGUI_URL}/gates/${gate}/`, { method: "POST" });
  await until("end", () => shown().at(-1) === "assistant: Well.");
  for (const line of shown()) console.log(line.slice(0, 22).trimEnd());
  process.exit(0);
}
