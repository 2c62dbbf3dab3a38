"""The Enter that ends a conversion of Japanese, Chinese or Korean text acts in no field, in a real Chromium.

tests/fixtures/input_methods has what each browser sends, and where that is described.
"""

import json
from pathlib import Path

import pytest
from pages import Page, drawn, expect, finished, message_box, say
from test_browser_cards import FINISHED, STARTED, answer_with, approval, asking

pytestmark = pytest.mark.browser

SEQUENCES = [
    sequence
    for path in sorted((Path(__file__).parent / "fixtures/input_methods").glob("*.json"))
    for sequence in json.loads(path.read_text())
]
PLAY = """(field, { text, events }) => {
    const about = { bubbles: true, composed: true, cancelable: true };
    const before = field.value;
    field.focus();
    for (const [type, key, keyCode, isComposing] of events) {
        if (type === "input") {
            field.value = before + key;
            field.setSelectionRange(field.value.length, field.value.length);
            field.dispatchEvent(new InputEvent("input", { ...about, inputType: "insertCompositionText", data: key }));
        } else if (type.startsWith("composition")) {
            field.dispatchEvent(new CompositionEvent(type, { ...about, data: text }));
        } else {
            const event = new KeyboardEvent(type, { ...about, key, code: key, isComposing });
            Object.defineProperty(event, "keyCode", { value: keyCode });
            field.dispatchEvent(event);
        }
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
    assert len(SEQUENCES) == 12
    assert {one["browser"] for one in SEQUENCES} >= {"Chromium on macOS", "Firefox", "Safari"}
    assert [one["events"][-2] for one in SEQUENCES if one["browser"] == "Safari"] == [
        ["keydown", "Enter", 229, False]
    ] * 3


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
    confirm = {**safari, "events": [event for event in safari["events"] if event[0] != "input"]}
    box.evaluate(PLAY, confirm)
    drawn(scripted)
    expect(scripted.get_by_role("option").first).to_be_visible()
    still()


def test_fields_of_messages_and_questions_act_only_on_an_enter_of_the_user(scripted):
    say(scripted, "hello")
    finished(scripted)
    scripted.get_by_role("button", name="Edit the message").click()
    editor = scripted.locator(".editor textarea")
    type_with_all(editor, lambda: expect(editor).to_be_visible())
    editor.press("Escape")
    scripted.get_by_role("button", name="Bad answer").click()
    comment = scripted.locator(".feedback textarea")
    type_with_all(comment, lambda: expect(comment).to_be_visible())
    comment.press("Enter")
    expect(comment).to_have_count(0)
    asked = asking(approval("q", reason="input_required", message="Which?", responseSchema={"type": "string"}))
    sent = answer_with(scripted, asked, [STARTED, FINISHED])
    say(scripted, "ask me")
    answer = scripted.locator(".question :is(textarea, input)")
    type_with_all(answer, lambda: expect(answer).to_be_visible())
    assert len(sent) == 1
    answer.press("Enter")
    finished(scripted)
    assert len(sent) == 2


def test_fields_of_the_list_act_only_on_an_enter_of_the_user(scripted):
    say(scripted, "hello")
    finished(scripted)
    scripted.get_by_role("button", name="Conversations", exact=True).click()
    drawer = scripted.get_by_role("dialog", name="Conversations")
    row = drawer.locator("li:has(.thread)").first
    title = row.locator(".thread-title").inner_text()
    renamed: list[str] = []
    scripted.on("request", lambda request: renamed.append(request.url) if request.method == "PATCH" else None)
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
    escape = {"text": "", "events": [["compositionstart"], ["keydown", "Escape", 229, True], ["compositionend"]]}
    search.evaluate(PLAY, escape)
    expect(search).to_have_value("word")
    expect(drawer).to_be_visible()
    type_with_all(search, lambda: expect(search).to_be_focused())


def test_queue_is_not_said_to_be_full_while_the_user_converts(scripted: Page, go_on):
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word1")
    say(scripted, "next")
    expect(scripted.locator(".queued")).to_be_visible()
    box = message_box(scripted)
    type_with_all(box, lambda: expect(scripted.locator(".queued [role=status]")).to_be_empty())
    box.press("Enter")
    expect(scripted.locator(".queued [role=status]")).not_to_be_empty()
    go_on()
