// The tables of words: nothing missing, nothing left over, and the right form for a number.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { FORM_WORDS } from "./agui/answer-form.js";
import { ARGUMENT_WORDS } from "./agui/arguments.js";
import { CHART_WORDS } from "./agui/chart.js";
import { FILE_WORDS } from "./agui/file-face.js";
import { QUESTION_WORDS } from "./agui/question.js";
import { ATTACHMENT_WORDS } from "./agui/attachments.js";
import { PLAN_WORDS } from "./agui/plan.js";
import { EDITOR_WORDS } from "./agui/message-editor.js";
import { FEEDBACK_WORDS } from "./agui/feedback-form.js";
import { STRINGS as COMMON, counted, format, tableFor } from "./agui/strings.js";
import { QUEUE_WORDS } from "./agui/queued.js";
import { TABLE_WORDS } from "./agui/table.js";
import { THREADS_WORDS } from "./agui/threads-drawer.js";
import { NOTE_WORDS } from "./agui/turn-notes.js";
import { VOICE_WORDS } from "./agui/voice.js";

const STRINGS = { ...COMMON, ...FORM_WORDS, ...ARGUMENT_WORDS, ...CHART_WORDS, ...QUESTION_WORDS, ...TABLE_WORDS, ...THREADS_WORDS, ...VOICE_WORDS, ...ATTACHMENT_WORDS, ...PLAN_WORDS, ...EDITOR_WORDS, ...FEEDBACK_WORDS, ...NOTE_WORDS, ...FILE_WORDS, ...QUEUE_WORDS };

const folder = new URL("./agui/strings/", import.meta.url);
const tables = {};
for (const file of readdirSync(folder)) tables[file.replace(".js", "")] = (await import(new URL(file, folder))).STRINGS;
/** Words that are the same in both. */
const SAME = { de: ["entryName", "kindText", "plan"] };
const forms = (text) => (typeof text === "string" ? { other: text } : text);
const places = (text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort().join();
const inside = (document, lang) => ({ parentNode: null, host: { lang: "", parentNode: { lang, parentNode: document } } });

test("there are tables to read", () => assert.deepEqual(Object.keys(tables), ["ar", "de"]));

for (const [language, table] of Object.entries(tables)) {
  test(`${language} has the texts of the English table`, () => {
    assert.equal(table.lang, language);
    assert.deepEqual(Object.keys(table).sort(), Object.keys(STRINGS).sort());
  });

  test(`${language} fills in what the English texts do`, () => {
    for (const [name, text] of Object.entries(table)) assert.equal(places(forms(text).other), places(forms(STRINGS[name]).other), name);
  });

  test(`${language} has every plural form that the language has, where English has any`, () => {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    for (const [name, text] of Object.entries(STRINGS)) {
      if (typeof text !== "string") assert.deepEqual(Object.keys(table[name]).sort(), [...pluralCategories].sort(), name);
    }
  });

  test(`${language} has nothing left in English`, () => {
    const same = Object.keys(STRINGS).filter((name) => JSON.stringify(table[name]) === JSON.stringify(STRINGS[name]));
    assert.deepEqual(same.filter((name) => !(SAME[language] ?? []).includes(name)), []);
  });
}
test("the language in force is the one of whatever is closest, through shadow roots", async () => {
  assert.equal((await tableFor(inside(null, "de-AT"))).lang, "de-AT");
  assert.equal((await tableFor({ lang: "ar", parentNode: { lang: "de" } })).title, tables.ar.title);
  assert.equal((await tableFor(inside(null, "de_AT"))).lang, "de");
});

test("English and what there is no table for need nothing loaded", () => {
  assert.deepEqual(tableFor({ lang: "en-GB" }), { lang: "en-GB" });
  assert.deepEqual(tableFor({ lang: "fr" }), { lang: "en" });
  assert.deepEqual(tableFor({ lang: "" }), { lang: "en" });
});

test("a count has the form and the digits of the language", () => {
  assert.match(counted({ ...STRINGS, ...tables.de }, "answersLeft", 1), /^Noch 1 Entscheidung,/);
  assert.match(counted({ ...STRINGS, ...tables.de }, "answersLeft", 1200), /^Noch 1\.200 Entscheidungen,/);
  assert.equal(counted({ ...STRINGS, ...tables.ar }, "answersLeft", 2), tables.ar.answersLeft.two);
  assert.equal(counted({ ...STRINGS, answersLeft: "{count} left" }, "answersLeft", 3), "3 left");
});

test("a name that runs the other way is isolated, and only that", () => {
  assert.equal(format("Delete “{name}”", { name: "مهام" }), "Delete “\u2068مهام\u2069”");
  assert.equal(format("حذف {name}", { name: "a.txt" }), "حذف \u2068a.txt\u2069");
  assert.equal(format("{a} and {count}, {missing}", { a: "b", count: 3 }), "b and 3, {missing}");
});
