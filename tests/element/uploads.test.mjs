import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { FILE_WORDS, describe, formatSize, ownText, readFiles, reasonOf } from "./agui_attachments/file-face.js";
import { holdsFiles } from "./agui_attachments/intake.js";
import { STRINGS } from "./agui/words/strings.js";
import { isFinal, Uploads } from "./agui_attachments/uploads.js";

const file = (name, text = "x") => new File([text], name);

/** Uploads whose server answers when the test says so: `server.sent[0].answer()` or `.refuse(error)`. */
function uploadsOf(options = {}) {
  const server = { sent: [], discarded: [], ...options };
  server.send = (file, { signal, onprogress }) =>
    new Promise((resolve, refuse) => {
      const attachment = { id: `id of ${file.name}`, name: file.name, mime: "text/plain", size: file.size };
      server.sent.push({ name: file.name, onprogress, refuse, answer: () => resolve(attachment) });
      signal.addEventListener("abort", () => server.slow || refuse(signal.reason));
    });
  server.discard = async (id) => void server.discarded.push(id);
  return { server, uploads: new Uploads(server) };
}

const states = ({ list }) => list.map(({ status }) => status);

/** Let go on what doesn't wait for the server. */
const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
};

/** Do it, and wait until an upload is there or has failed. */
async function settled(uploads, action) {
  const done = once(uploads, "settled");
  action();
  const [{ detail }] = await done;
  await settle();
  return detail;
}

test("a file goes from uploading to ready, and tells how far it is", async () => {
  const { server, uploads } = uploadsOf();
  uploads.add([file("a.txt")]);
  await settle();
  assert.deepEqual([states(uploads), uploads.open, uploads.ready], [["uploading"], true, []]);
  server.sent[0].onprogress(0.25);
  assert.equal(uploads.list[0].progress, 0.25);
  await settled(uploads, server.sent[0].answer);
  assert.deepEqual([states(uploads), uploads.open], [["ready"], false]);
  assert.deepEqual(uploads.ready, [{ id: "id of a.txt", name: "a.txt", mime: "text/plain", size: 1 }]);
});

test("three go at once, the others follow in their order", async (t) => {
  t.mock.method(console, "warn", () => {});
  const { server, uploads } = uploadsOf();
  uploads.add(["a", "b", "c", "d", "e"].map((name) => file(name)));
  await settle();
  assert.deepEqual(server.sent.map(({ name }) => name), ["a", "b", "c"]);
  await settled(uploads, server.sent[1].answer);
  await settled(uploads, () => server.sent[0].refuse(new TypeError("cut")));
  assert.deepEqual(server.sent.map(({ name }) => name), ["a", "b", "c", "d", "e"]);
  for (const one of server.sent) one.answer();
  await settle();
  assert.deepEqual(uploads.ready.map(({ name }) => name), ["b", "c", "d", "e"]);
});

test("the files of a message keep the order in which they were added", async () => {
  const { server, uploads } = uploadsOf();
  uploads.add([file("a"), file("b")]);
  await settle();
  await settled(uploads, server.sent[1].answer);
  await settled(uploads, server.sent[0].answer);
  assert.deepEqual(uploads.ready.map(({ name }) => name), ["a", "b"]);
});

for (const [what, error, expected, final] of [
  ["a refusal", { code: "unsupported_media_type", message: "Not this.", status: 415 }, { code: "unsupported_media_type", message: "Not this.", status: 415 }, true],
  ["a refusal by a proxy", { code: "http_error", message: "HTTP 413", status: 413 }, { code: "file_too_large", status: 413 }, true],
  ["a server without room", { code: "at_capacity", message: "Busy.", status: 503 }, { code: "at_capacity", message: "Busy.", status: 503 }, false],
  ["a lost connection", new TypeError("cut"), { code: "connection_lost" }, false],
]) {
  test(`${what} is told, and the message stays open until it is tried again`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const { server, uploads } = uploadsOf();
    uploads.add([file("a")]);
    await settle();
    const one = await settled(uploads, () => server.sent[0].refuse(error));
    assert.deepEqual([one.status, one.error, uploads.open, isFinal(one.error)], ["failed", expected, true, final]);
    uploads.retry(one);
    await settle();
    assert.deepEqual([one.status, one.error], ["uploading", null]);
    await settled(uploads, server.sent[1].answer);
    assert.deepEqual([one.status, uploads.open], ["ready", false]);
  });
}

test("what can't be read is not sent", async () => {
  const { server, uploads } = uploadsOf();
  const folder = { name: "folder", size: 4096, slice: () => ({ arrayBuffer: () => Promise.reject(new Error("NotFoundError")) }) };
  const one = await settled(uploads, () => uploads.add([folder]));
  assert.deepEqual([one.error, server.sent], [{ code: "file_unreadable" }, []]);
});

test("what is known to be too large is not sent", async () => {
  const { server, uploads } = uploadsOf({ maxBytes: 3 });
  const one = await settled(uploads, () => uploads.add([file("a", "1234"), file("b", "123")]));
  assert.deepEqual([one.name, one.error, server.sent.map(({ name }) => name)], ["a", { code: "file_over_limit" }, ["b"]]);
});

test("no more files are sent than the server reads of a message", async () => {
  const { uploads } = uploadsOf();
  const one = await settled(uploads, () => uploads.add(Array.from({ length: 51 }, (_, index) => file(`${index}`))));
  assert.deepEqual([one.name, one.error], ["50", { code: "too_many_files" }]);
});

test("removing stops an upload and lets the next one go", async () => {
  const { server, uploads } = uploadsOf();
  uploads.add(["a", "b", "c", "d"].map((name) => file(name)));
  await settle();
  uploads.remove(uploads.list[0]);
  await settle();
  assert.deepEqual(uploads.list.map(({ name, status }) => [name, status]), [["b", "uploading"], ["c", "uploading"], ["d", "uploading"]]);
  assert.deepEqual(server.discarded, []);
});

test("removing what is there deletes it, also when it came just too late", async () => {
  const { server, uploads } = uploadsOf({ slow: true });
  uploads.add([file("a"), file("b")]);
  await settle();
  await settled(uploads, server.sent[0].answer);
  for (const one of [...uploads.list]) uploads.remove(one);
  server.sent[1].answer();
  await settle();
  assert.deepEqual([uploads.list, server.discarded], [[], ["id of a", "id of b"]]);
});

test("what a message has taken is not deleted, and may be given back once", async () => {
  const { server, uploads } = uploadsOf();
  uploads.add([file("a")]);
  await settle();
  await settled(uploads, server.sent[0].answer);
  const attachments = uploads.ready;
  uploads.clear();
  assert.deepEqual([uploads.ready, server.discarded], [[], []]);
  uploads.restore(attachments);
  uploads.restore(attachments);
  assert.deepEqual([uploads.ready, uploads.open, states(uploads)], [attachments, false, ["ready"]]);
});

for (const [bytes, text] of [[1, "1 byte"], [999, "999 bytes"], [1000, "1 kB"], [1_260_000, "1.3 MB"], [5e12, "5,000 GB"], [0, "0 bytes"]]) {
  test(`${bytes} bytes are ${text}`, () => assert.equal(formatSize(bytes, "en"), text));
}

test("a file is described by what is known of it", () => {
  const found = [["a.pdf", 2000], ["a", 2000], ["a.pdf", undefined], ["notes.of.today", null]].map(([name, size]) => describe(name, size, "en"));
  assert.deepEqual(found, ["PDF · 2 kB", "2 kB", "PDF", "TODAY"]);
});

for (const named of [undefined, null, "1", { id: "1" }, [null, "1", { name: "no id" }]]) {
  test(`${JSON.stringify(named)} names no files`, () => assert.deepEqual(readFiles(named), []));
}

test("a file without a name has its id for one", () => {
  assert.deepEqual(readFiles([{ id: 7 }]), [{ id: "7", name: "7", mime: undefined, size: undefined }]);
});

test("the names of its files are no text of a message", () => {
  const files = [{ name: "a.txt" }, { name: "b.txt" }];
  assert.deepEqual(["a.txt, b.txt", "a.txt", "Read a.txt, b.txt"].map((text) => ownText(text, files)), ["", "a.txt", "Read a.txt, b.txt"]);
});

test("the server's sentence tells why, or our own if it has none", () => {
  assert.match(reasonOf({ code: "file_over_limit" }, STRINGS, 2_000_000), /2 MB/);
  assert.equal(reasonOf({ code: "file_too_large" }, STRINGS, 2_000_000), FILE_WORDS.file_too_large);
  assert.equal(reasonOf({ code: "too_large", message: "At most so much." }, STRINGS), "At most so much.");
  assert.equal(reasonOf({ code: "unauthorized", message: "Sign in." }, STRINGS), STRINGS.unauthorized);
});

for (const [event, types, expected] of [
  ["drop", ["Files"], true],
  ["drop", ["text/plain"], false],
  ["paste", ["Files"], true],
  ["paste", ["text/plain", "Files"], true], // a file copied in a file manager, with its name
  ["paste", ["text/html", "Files"], true], // a picture copied from a page
  ["paste", ["text/plain", "text/html", "Files"], false], // a text with its picture, from an office program
]) {
  test(`${event} of ${types} ${expected ? "brings files" : "is not about files"}`, () => assert.equal(holdsFiles(event, types), expected));
}

test("a refused file says in words what can be sent", () => {
  const kinds = ["PNG", "DOCX", "texts"];
  assert.equal(reasonOf({ code: "unknown_kind", kinds, message: "no" }, STRINGS), "This kind of file can't be read. You can send: PNG, DOCX, texts.");
  assert.equal(reasonOf({ code: "unknown_kind", kinds }, { ...STRINGS, texts: "Texte", unknown_kind: "Nur {kinds}" }), "Nur PNG, DOCX, Texte");
  assert.match(reasonOf({ code: "unknown_encoding", message: "no" }, STRINGS), /UTF-8/);
});
