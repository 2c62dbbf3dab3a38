// The tables of words: nothing missing, nothing left over, and the right form for a number.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { FORM_WORDS } from "./agui/approvals/answer-form.js";
import { ARGUMENT_WORDS } from "./agui/tools/arguments.js";
import { CHART_WORDS } from "./agui_charts/chart.js";
import { DOCUMENT_WORDS } from "./agui_documents/words.js";
import { FILE_WORDS } from "./agui_attachments/file-face.js";
import { IMAGE_WORDS } from "./agui_attachments/image-words.js";
import { QUESTION_WORDS } from "./agui/approvals/question.js";
import { SEEN_WORDS } from "./agui/approvals/seen.js";
import { ATTACHMENT_WORDS } from "./agui_attachments/attachments.js";
import { INTAKE_WORDS } from "./agui_attachments/intake.js";
import { LEFT_OUT_WORDS } from "./agui_attachments/left-out.js";
import { READ_WORDS } from "./agui_attachments/read-call.js";
import { PLAN_WORDS } from "./agui/tools/plan.js";
import { EDITOR_WORDS } from "./agui/messages/editor.js";
import { FEEDBACK_WORDS } from "./agui_feedback/feedback-form.js";
import { RATING_WORDS } from "./agui_feedback/rating.js";
import { STRINGS as COMMON, counted, format, tableFor } from "./agui/words/strings.js";
import { PALETTE_WORDS } from "./agui/composer/palette.js";
import { PLACEMENT_WORDS } from "./agui/page/placement.js";
import { LONG_WORDS } from "./agui/messages/long-message.js";
import { ACTION_STATE_WORDS } from "./agui/catalog/action-state.js";
import { EARLIER_WORDS } from "./agui/messages/earlier-messages.js";
import { QUEUE_WORDS } from "./agui/messages/queued.js";
import { RICH_WORDS } from "./agui/markdown/rich-text.js";
import { SAVE_WORDS } from "./agui/words/save-words.js";
import { OPEN_WORDS } from "./agui/approvals/open-bar.js";
import { RECORD_WORDS } from "./agui/approvals/record.js";
import { SOURCE_WORDS } from "./agui_sources/source-words.js";
import { SUGGESTION_WORDS } from "./agui_suggestions/suggestions.js";
import { GROUP_WORDS } from "./agui/tools/group.js";
import { ACTIVITY_WORDS } from "./agui/tools/table-activity.js";
import { TABLE_WORDS } from "./agui/tools/table.js";
import { TEXT_WORDS } from "./agui/tools/text-block.js";
import { TOOL_WORDS } from "./agui/tools/card.js";
import { ANSWER_WORDS } from "./agui/messages/answer-bar.js";
import { PROMPT_WORDS } from "./agui/messages/prompt-bar.js";
import { ACTION_WORDS } from "./agui/threads/actions.js";
import { LIST_WORDS } from "./agui/threads/list.js";
import { THREADS_WORDS } from "./agui/threads/drawer.js";
import { NOTE_WORDS } from "./agui/messages/turn-notes.js";
import { USAGE_WORDS, usageText } from "./agui/messages/usage.js";
import { VERSION_WORDS } from "./agui/messages/versions.js";
import { BACKGROUND_WORDS } from "./agui/page/background.js";
import { SHORTCUT_WORDS } from "./agui/finding/shortcuts.js";
import { COMMAND_WORDS } from "./agui/finding/commands.js";
import { FIND_WORDS } from "./agui/finding/find-bar.js";
import { FOUND_WORDS } from "./agui/words/find-words.js";
import { MENTION_WORDS } from "./agui_mentions/mentions.js";
import { MENU_WORDS } from "./agui/threads/menu.js";
import { MODEL_WORDS } from "./agui/page/model-picker.js";
import { MICROPHONE_WORDS } from "./agui_voice/microphone.js";
import { VIEW_WORDS } from "./agui_views/view-words.js";
import { VOICE_WORDS } from "./agui_voice/voice.js";
import { WAITING_KEY_WORDS } from "./agui_queue/keys.js";
import { IN_RUN_WORDS } from "./agui_queue/read-in-run.js";
import { WAITING_WORDS } from "./agui_queue/words.js";

const STRINGS = {
  ...COMMON,
  ...ACTIVITY_WORDS,
  ...ANSWER_WORDS,
  ...ARGUMENT_WORDS,
  ...ATTACHMENT_WORDS,
  ...BACKGROUND_WORDS,
  ...CHART_WORDS,
  ...COMMAND_WORDS,
  ...DOCUMENT_WORDS,
  ...EDITOR_WORDS,
  ...FEEDBACK_WORDS,
  ...FILE_WORDS,
  ...FIND_WORDS,
  ...FOUND_WORDS,
  ...FORM_WORDS,
  ...GROUP_WORDS,
  ...IMAGE_WORDS,
  ...INTAKE_WORDS,
  ...LEFT_OUT_WORDS,
  ...MENTION_WORDS,
  ...MENU_WORDS,
  ...MICROPHONE_WORDS,
  ...MODEL_WORDS,
  ...NOTE_WORDS,
  ...OPEN_WORDS,
  ...PALETTE_WORDS,
  ...PLACEMENT_WORDS,
  ...PLAN_WORDS,
  ...PROMPT_WORDS,
  ...QUESTION_WORDS,
  ...SEEN_WORDS,
  ...LONG_WORDS,
  ...QUEUE_WORDS,
  ...RATING_WORDS,
  ...READ_WORDS,
  ...ACTION_STATE_WORDS,
  ...EARLIER_WORDS,
  ...RICH_WORDS,
  ...SAVE_WORDS,
  ...SHORTCUT_WORDS,
  ...SOURCE_WORDS,
  ...RECORD_WORDS,
  ...SUGGESTION_WORDS,
  ...TABLE_WORDS,
  ...TEXT_WORDS,
  ...ACTION_WORDS,
  ...LIST_WORDS,
  ...THREADS_WORDS,
  ...USAGE_WORDS,
  ...TOOL_WORDS,
  ...VERSION_WORDS,
  ...VIEW_WORDS,
  ...VOICE_WORDS,
  ...IN_RUN_WORDS,
  ...WAITING_KEY_WORDS,
  ...WAITING_WORDS,
};

const folder = new URL("./agui/words/languages/", import.meta.url);
const tables = {};
for (const file of readdirSync(folder)) tables[file.replace(".js", "")] = (await import(new URL(file, folder))).STRINGS;
/** Words that are the same in both. */
const SAME = {
  de: ["documentVersion", "entryName", "kindText", "plan"],
  es: ["no", "plan"],
  fr: ["arguments", "conversation", "documentCode", "documentImage", "documentMarkdown", "documentPage", "documentVersion", "plan", "threads", "title", "versions"],
};
const forms = (text) => (typeof text === "string" ? { other: text } : text);
const places = (text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort().join();
const inside = (document, lang) => ({ parentNode: null, host: { lang: "", parentNode: { lang, parentNode: document } } });

test("there are tables to read", () => assert.deepEqual(Object.keys(tables), ["ar", "de", "es", "fr", "ja"]));

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

// The rules of the prose (docs/contributing.md), as far as they hold for a few words in any language.
const RULES = {
  "three dots instead of an ellipsis": /\.\.\./,
  "a straight quotation mark": /"/,
  "a space too many": /^\s|\s$| {2}/,
  "a sentence of more than 20 words": /[^\s.!?؟:]+(?:\s+[^\s.!?؟:]+){20}/,
};
const OWN_RULES = {
  en: { "somebody without a name": /\b(?:he|she|his|her|whoever)\b/i },
  de: { "another form of address than Sie": /\b(?:du|dir|dich|dein\w*|euch|euer|eure\w*)\b/i },
  ar: { "a mark of Latin writing": /[?,;]/ },
  es: { "another form of address than usted": /(?<!\p{L})(?:tú|tus?|te|ti|contigo|vosotr[oa]s|vuestr[oa]s?)(?!\p{L})/iu },
  fr: {
    "another form of address than vous": /(?<!\p{L})(?:tu|te|toi|ton|ta|tes)(?!\p{L})/iu,
    "a mark without a space that holds": /[^\u00a0][:»]|«[^\u00a0]|[^\u202f][;!?]/,
    "a straight apostrophe": /'/,
  },
  ja: { "a mark of Latin writing": /[?!,;]/, "a plain form": /(?:する|だ|である)。/ },
};
const END = /[.!?؟…。？！]$/;

for (const [language, table] of Object.entries({ en: STRINGS, ...tables })) {
  test(`${language} keeps to the rules of the prose`, () => {
    for (const [name, text] of Object.entries(table)) {
      for (const form of Object.values(forms(text))) {
        for (const [found, rule] of Object.entries({ ...RULES, ...OWN_RULES[language] })) {
          assert.doesNotMatch(form, rule, `${language}.${name} has ${found}`);
        }
      }
    }
  });

  test(`${language} ends sentences where English does, and labels have no full stop`, () => {
    for (const [name, text] of Object.entries(table)) {
      assert.equal(END.test(forms(text).other), END.test(forms(STRINGS[name]).other), `${language}.${name}: ${forms(text).other}`);
    }
  });
}

test("the language in force is the one of whatever is closest, through shadow roots", async () => {
  assert.equal((await tableFor(inside(null, "de-AT"))).lang, "de-AT");
  assert.equal((await tableFor({ lang: "ar", parentNode: { lang: "de" } })).title, tables.ar.title);
  assert.equal((await tableFor(inside(null, "de_AT"))).lang, "de");
});

test("English and what there is no table for need nothing loaded", () => {
  assert.deepEqual(tableFor({ lang: "en-GB" }), { lang: "en-GB" });
  assert.deepEqual(tableFor({ lang: "nl" }), { lang: "en" });
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

test("what an answer has used is told in words", () => {
  const english = { ...COMMON, lang: "en" };
  const used = { inputTokens: 1234, outputTokens: 35, cost: 0.00456, contextTokens: 1269, contextWindow: 200_000 };
  assert.equal(usageText(used, english), "1,234 tokens read, 35 written · $0.0046 · 1% of the context");
  assert.match(usageText({ ...used, cost: 1.5 }, english), / · \$1\.50 · /);
  assert.equal(usageText({ outputTokens: 35 }, english), "0 tokens read, 35 written");
  assert.equal(usageText([{ inputTokens: 2 }, { inputTokens: 3, outputTokens: 1 }], english), "5 tokens read, 1 written");
  assert.equal(usageText([], english), "");
});

test("the hint about skills keeps the page's own words", () => {
  for (const table of [STRINGS, ...Object.values(tables)]) {
    const hint = format(table.placeholderSkills, { ...table, placeholder: "Ask about your order" });
    assert.match(hint, /Ask about your order/);
    assert.match(format(table.placeholderSkills, table), new RegExp(`^${table.placeholder}.+/`));
  }
});
