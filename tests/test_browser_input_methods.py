"""The Enter that ends a conversion of Japanese, Chinese or Korean text acts in no field, in a real Chromium.

tests/fixtures/input_methods has what each browser sends, and where that is described.
"""

import json
from pathlib import Path

import pytest
from page_events import FINISHED, STARTED, answer_with, approval, asking, question
from pages import Page, drawn, expect, finished, hear, message_box, new_chat, noted, say, without_queue

pytestmark = pytest.mark.browser

SEQUENCES = [
    sequence
    for path in sorted((Path(__file__).parent / "fixtures/input_methods").glob("*.json"))
    for sequence in json.loads(path.read_text())
]
RECORDED = [sequence for sequence in SEQUENCES if sequence["is_recorded"]]
# Each event is played with what it had. A script's events change no text, so `value` does.
PLAY = """(field, { events }) => {
    const about = { bubbles: true, composed: true, cancelable: true };
    const kinds = { input: InputEvent, beforeinput: InputEvent, keydown: KeyboardEvent, keyup: KeyboardEvent };
    const before = field.value;
    let isHandled = false;
    field.focus();
    for (const { type, value, keyCode, ...init } of events) {
        // A browser that may not do what a key does sends no event of it.
        if (init.inputType === "insertLineBreak" && isHandled) continue;
        if (value !== undefined) {
            field.value = before + value;
            field.setSelectionRange(field.value.length, field.value.length);
        }
        const event = new (kinds[type] ?? CompositionEvent)(type, { ...about, ...init });
        if (keyCode !== undefined) Object.defineProperty(event, "keyCode", { value: keyCode });
        isHandled = !field.dispatchEvent(event);
    }
}"""


def type_with_all(field, still) -> None:
    """Type with each input method; `still` expects that nothing has happened."""
    for sequence in SEQUENCES:
        if not sequence["acts"]:
            field.evaluate("field => { field.value = ''; field.dispatchEvent(new InputEvent('input')); }")
            field.evaluate(PLAY, sequence)
            drawn(field.page)
            expect(field).to_have_value(sequence["text"])
            still()


def test_sequences_are_of_each_browser_and_language():
    names = " ".join(sequence["browser"] for sequence in SEQUENCES if not sequence["is_recorded"])
    for name in ("Chromium on macOS", "Chromium on Windows", "Firefox", "Safari"):
        assert names.count(name) == 3
    safari = [sequence["events"] for sequence in SEQUENCES if sequence["browser"] == "Safari"]
    enter = {"type": "keydown", "key": "Enter", "keyCode": 229, "isComposing": False}
    assert [events[-2] for events in safari] == [enter] * 3
    for name in ("Chromium", "Firefox"):
        for engine in ("anthy", "pinyin", "hangul"):
            assert [one for one in RECORDED if one["browser"].startswith(name) and engine in one["browser"]]


def test_input_sends_only_when_the_user_sends(scripted):
    scripted.evaluate("""() => {
        window.sent = [];
        document.querySelector("agui-chat").addEventListener("ag-ui-submit", (event) => {
            sent.push(event.detail.text);
            event.preventDefault();
        });
    }""")
    box = message_box(scripted)

    def still() -> None:
        assert scripted.evaluate("sent") == []

    type_with_all(box, still)
    for sequence in SEQUENCES:
        if sequence["acts"]:  # a Korean syllable and its Enter: once, and not once for each event
            box.fill("")
            box.evaluate(PLAY, sequence)
            drawn(scripted)
            assert scripted.evaluate("sent.splice(0)") == [sequence["text"]]
    # With the list of skills open, it chooses none.
    box.fill("/")
    expect(scripted.get_by_role("option").first).to_be_visible()
    safari = next(one for one in SEQUENCES if one["browser"] == "Safari")
    confirm = {**safari, "events": [event for event in safari["events"] if event["type"] != "input"]}
    box.evaluate(PLAY, confirm)
    drawn(scripted)
    expect(scripted.get_by_role("option").first).to_be_visible()
    still()


def test_fields_of_messages_and_questions_act_only_on_an_enter_of_the_user(scripted):
    hear(scripted, "hello")
    scripted.get_by_role("button", name="Edit the message").click()
    editor = scripted.locator(".editor textarea")
    type_with_all(editor, lambda: expect(editor).to_be_visible())
    editor.press("Escape")
    scripted.get_by_role("button", name="Bad answer").click()
    comment = scripted.locator(".feedback textarea")
    type_with_all(comment, lambda: expect(comment).to_be_visible())
    comment.press("Enter")
    expect(comment).to_have_count(0)
    sent = answer_with(scripted, asking(question("q", {"type": "string"})), [STARTED, FINISHED])
    say(scripted, "ask me")
    answer = scripted.locator(".question :is(textarea, input)")
    type_with_all(answer, lambda: expect(answer).to_be_visible())
    assert len(sent) == 1
    answer.press("Enter")
    finished(scripted)
    assert len(sent) == 2
    new_chat(scripted)
    sent = answer_with(scripted, asking(approval("it")), [STARTED, FINISHED])
    say(scripted, "ask me")
    asked = scripted.locator(".question")
    for name, label in (("Edit", "Title"), ("Deny", "Reason")):
        asked.get_by_role("button", name=name, exact=True).click()
        field = asked.get_by_label(label)
        type_with_all(field, lambda field=field: expect(field).to_be_focused())
        assert len(sent) == 1
        field.press("Escape" if name == "Edit" else "Enter")
    finished(scripted)
    assert len(sent) == 2


def test_fields_that_search_act_only_on_an_enter_of_the_user(scripted):
    hear(scripted, "東京 is where I live, and 東京 it stays")
    scripted.keyboard.press("Control+f")
    find, status = scripted.locator(".find input"), scripted.locator(".find [role=status]")
    find.fill("東京")
    expect(status).to_have_text("1 of 2")
    japanese = [sequence for sequence in SEQUENCES if sequence["text"] == "東京"]
    assert len(japanese) > 4
    for sequence in japanese:
        find.fill("")
        find.evaluate(PLAY, sequence)
        drawn(scripted)
        expect(status).to_have_text("1 of 2")  # An Enter would have led to the second.
    type_with_all(find, lambda: expect(find).to_be_focused())
    find.press("Escape")
    expect(find).to_have_count(0)
    scripted.keyboard.press("Control+k")
    everything = scripted.get_by_role("combobox")
    type_with_all(everything, lambda: expect(everything).to_be_focused())
    everything.fill("")
    expect(scripted.get_by_role("option").first).to_be_visible()
    confirm = {"type": "keydown", "key": "Enter", "keyCode": 229, "isComposing": False}
    everything.evaluate(PLAY, {"events": [confirm]})
    drawn(scripted)
    expect(everything).to_be_focused()


def test_fields_of_the_list_act_only_on_an_enter_of_the_user(scripted):
    hear(scripted, "hello")
    scripted.get_by_role("button", name="Conversations", exact=True).click()
    drawer = scripted.get_by_role("dialog", name="Conversations")
    row = drawer.locator("li:has(.thread)").first
    title = row.locator(".thread-title").inner_text()
    renamed = noted(scripted, lambda request: request.method == "PATCH")
    row.hover()
    row.get_by_role("button", name="More for").click()
    scripted.get_by_role("menuitem", name="Rename").click()
    name = drawer.get_by_label("New title")
    type_with_all(name, lambda: expect(name).to_be_focused())
    assert renamed == []
    name.press("Escape")
    expect(drawer.locator(".thread-title").first).to_have_text(title)
    # Escape ends a conversion, too, and closes nothing.
    search = drawer.get_by_role("searchbox")
    search.fill("word")
    key = {"type": "keydown", "key": "Escape", "keyCode": 229, "isComposing": True}
    escape = {"events": [{"type": "compositionstart"}, key, {"type": "compositionend"}]}
    search.evaluate(PLAY, escape)
    expect(search).to_have_value("word")
    expect(drawer).to_be_visible()
    type_with_all(search, lambda: expect(search).to_be_focused())


def test_queue_is_not_said_to_be_full_while_the_user_converts(scripted: Page, go_on):
    without_queue(scripted)
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word1")
    say(scripted, "next")
    expect(scripted.locator(".queued")).to_be_visible()
    box = message_box(scripted)
    type_with_all(box, lambda: expect(scripted.locator(".queued [role=status]")).to_be_empty())
    box.press("Enter")
    expect(scripted.locator(".queued [role=status]")).not_to_be_empty()
    go_on()
