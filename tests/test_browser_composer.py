"""The input in a real Chromium: what Enter does, skills, drafts."""

import html
import json
import re
from collections.abc import Callable

import pytest
from pages import (
    PHONE,
    SLOW_ANSWER,
    Page,
    answers,
    drawn,
    expect,
    finished,
    hear,
    message_box,
    new_chat,
    say,
    stored_texts,
    thread_id,
    without_queue,
)

pytestmark = pytest.mark.browser

FULL = "One message is waiting already. Send this one after it."

SELECTED = """() => {
    const input = document.querySelector("agui-chat").shadowRoot.querySelector("textarea");
    return input.value.slice(input.selectionStart, input.selectionEnd);
}"""
NOW = {"sendImmediately": True, "chip": True}
SKILLS = [
    {"name": "plan", "title": "Plan my day", "group": "Tasks", "prompt": "Plan it.", **NOW},
    {
        "name": "mail",
        "title": "Write a mail",
        "group": "Texts",
        "prompt": "To {name} of {topic}, {name}.",
        "chip": True,
    },
    {"name": "split", "title": "Break down", "group": "Tasks", "prompt": "Break {it} down.", "description": "Small"},
    {"name": "review", "title": "Weekly review"},
    {"name": "explain", "title": "Explain", "prompt": "Explain {selection} of { page }.", **NOW},
]


@pytest.fixture
def skilled(open_page: Callable[..., Page], site) -> Page:
    page = open_page(None)
    page.route("**/agent/skills/", lambda route: route.fulfill(json=SKILLS))
    page.goto(site.url)
    expect(page.locator(".chip").first).to_be_visible()
    return page


# --- While an answer is written


def test_message_waits_for_the_answer_and_arrow_up_edits_the_last(scripted, go_on):
    without_queue(scripted)
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word1")
    stop, send = (scripted.get_by_role("button", name=name) for name in ("Stop", "Send when the answer"))
    expect(send).to_be_hidden()
    message_box(scripted).fill("first this")
    expect(stop).to_be_enabled()
    expect(send).to_be_enabled()
    message_box(scripted).press("Enter")
    expect(message_box(scripted)).to_have_value("")
    expect(scripted.locator(".queued")).to_contain_text("first this")
    # There is one place: what comes then stays in the input.
    message_box(scripted).fill("then that")
    expect(send).to_be_disabled()
    send.click(force=True)  # A press tells why, as the key does.
    expect(scripted.locator(".queued [role=status]")).to_have_text(FULL)
    message_box(scripted).press("Enter")
    expect(message_box(scripted)).to_have_value("then that")
    expect(scripted.locator(".queued [role=status]")).to_have_text(FULL)
    assert "end." not in scripted.locator(".assistant .prose").inner_text()
    go_on()
    expect(scripted.locator(".queued")).to_be_hidden()
    expect(scripted.locator(".bubble:visible")).to_have_count(2)
    finished(scripted)
    assert stored_texts(scripted, "user") == ["slow", "first this"]
    expect(message_box(scripted)).to_have_value("then that")
    assert answers(scripted)[0] == SLOW_ANSWER
    new_chat(scripted)
    hear(scripted, "hello")
    expect(scripted.get_by_role("button", name="Edit the message")).to_have_count(1)
    message_box(scripted).fill("a draft")
    message_box(scripted).press("ArrowUp")
    expect(scripted.locator(".editor")).to_have_count(0)
    message_box(scripted).fill("")
    message_box(scripted).press("ArrowUp")
    expect(scripted.locator(".editor textarea")).to_be_focused()
    expect(scripted.locator(".editor textarea")).to_have_value("hello")


# Safari sends the Enter that accepts a word after the end of the composition, with the code 229 only.
KEYS_OF_AN_INPUT_METHOD = """(element) => {
    const reached = [];
    const listener = ({ key }) => reached.push(key);
    document.addEventListener("keydown", listener);
    for (const init of [{ isComposing: true }, { keyCode: 229 }, {}]) {
        for (const key of init.keyCode || init.isComposing ? ["Enter", "Escape", "Tab", "ArrowUp"] : ["F9"]) {
            element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, ...init }));
        }
    }
    document.removeEventListener("keydown", listener);
    return reached;
}"""


def test_no_listener_sees_a_key_of_an_input_method(scripted):
    new_chat(scripted)
    hear(scripted, "hello")
    message_box(scripted).press("ArrowUp")
    editor = scripted.locator(".editor textarea")
    editor.fill("日本")
    for element in [*scripted.locator(".panel textarea").all(), *scripted.locator(".panel button:visible").all()]:
        assert element.evaluate(KEYS_OF_AN_INPUT_METHOD) == ["F9"]
    drawn(scripted)
    expect(editor).to_have_value("日本")
    editor.press("Enter")
    expect(scripted.locator(".bubble").first).to_have_text("日本")


# --- Skills


def test_blanks_are_filled_in_one_after_the_other_and_the_palette_takes_what_is_written(skilled):
    skilled.get_by_role("button", name="Write a mail").click()
    press = skilled.keyboard.press
    expect(message_box(skilled)).to_have_value("To {name} of {topic}, {name}.")
    assert skilled.evaluate(SELECTED) == "{name}"
    for key, blank in [("Tab", "{topic}"), ("Tab", "{name}"), ("Shift+Tab", "{topic}"), ("Shift+Tab", "{name}")]:
        press(key)
        assert skilled.evaluate(SELECTED) == blank
    skilled.keyboard.type("Ada")
    press("Tab")
    assert skilled.evaluate(SELECTED) == "{topic}"
    press("Enter")
    expect(skilled.get_by_role("status").filter(has_text="Fill in {topic}, or send it as it is.")).to_be_visible()
    expect(skilled.locator(".bubble")).to_have_count(0)
    assert skilled.evaluate(SELECTED) == "{topic}"
    skilled.keyboard.type("tea")
    expect(skilled.get_by_role("status").filter(has_text="Fill in")).to_have_count(0)
    press("Tab")
    assert skilled.evaluate(SELECTED) == "{name}"
    press("Enter")
    press("Enter")
    expect(skilled.locator(".bubble")).to_have_text("To Ada of tea, {name}.")
    # The page says nothing about a text that nobody has called a blank.
    say(skilled, "a {brace}")
    expect(skilled.locator(".bubble")).to_have_count(2)
    # The palette opens from a button, grouped.
    new_chat(skilled)
    message_box(skilled).fill("the garden")
    skilled.get_by_role("button", name="Skills").click()
    listbox = skilled.get_by_role("listbox")
    expect(listbox.get_by_role("group")).to_have_count(3)
    assert listbox.get_by_role("group").all_inner_texts()[0].split("\n")[0] == "Tasks"
    options = listbox.get_by_role("option")
    names = [text.split("\n")[0] for text in options.all_inner_texts()]
    assert names == ["/plan", "/split", "/mail", "/review", "/explain", "/?"]  # The shortcuts come last.
    skilled.get_by_role("button", name="Skills").click()
    expect(listbox).to_be_hidden()
    skilled.get_by_role("button", name="Skills").click()
    options.filter(has_text="/split").click()
    expect(listbox).to_be_hidden()
    expect(message_box(skilled)).to_have_value("Break the garden down.")
    # At the start of a text, too, with what follows for the skill.
    message_box(skilled).fill("of March")
    message_box(skilled).press("Home")
    message_box(skilled).press_sequentially("/weekly")
    expect(options).to_have_count(1)
    message_box(skilled).press("Enter")
    expect(message_box(skilled)).to_have_value("/review of March")
    skilled.get_by_role("button", name="Skills").click()
    skilled.locator(".log").click(position={"x": 40, "y": 40})
    expect(listbox).to_be_hidden()


def test_the_page_fills_blanks_and_a_skill_without_any_is_sent(skilled):
    give = """(values) => {
        document.querySelector("agui-chat").getSkillContext = () => {
            if (!values) throw new Error("The page is not ready.");
            return values;
        };
    }"""
    chip = skilled.get_by_role("button", name="Explain")
    for values, text, selected in (
        ({"selection": "", "page": None}, "Explain {selection} of { page }.", "{selection}"),
        (None, "Explain {selection} of { page }.", "{selection}"),
        ({"selection": "Tea for {two}"}, "Explain Tea for {two} of { page }.", "{ page }"),
    ):
        skilled.evaluate(give, values)
        chip.click()
        expect(message_box(skilled)).to_have_value(text)
        assert skilled.evaluate(SELECTED) == selected
        message_box(skilled).fill("")
    skilled.evaluate(give, {"selection": "Tea for {two}", "page": 7})
    chip.click()
    expect(skilled.locator(".bubble")).to_have_text("Explain Tea for {two} of 7.")
    # A chip that is sent at once leaves the draft.
    new_chat(skilled)
    message_box(skilled).fill("a draft")
    skilled.get_by_role("button", name="Plan my day").click()
    expect(skilled.locator(".bubble")).to_have_text("Plan it.")
    expect(message_box(skilled)).to_have_value("a draft")


# --- Drafts


def test_draft_stays_with_its_conversation(chat):
    hear(chat, "hello")
    first = thread_id(chat)
    message_box(chat).fill("for the first")
    chat.get_by_role("button", name="New chat").first.click()
    expect(message_box(chat)).to_have_value("")
    message_box(chat).fill("for a new one")
    chat.go_back()
    expect(message_box(chat)).to_have_value("for the first")
    chat.reload()
    expect(message_box(chat)).to_have_value("for the first")
    chat.get_by_role("button", name="New chat").first.click()
    expect(message_box(chat)).to_have_value("for a new one")
    message_box(chat).press("Enter")
    finished(chat)
    assert thread_id(chat) != first
    chat.reload()
    expect(message_box(chat)).to_have_value("")
    chat.get_by_role("button", name="New chat").first.click()
    expect(message_box(chat)).to_have_value("")
    # What is written before a new chat is drawn stays.
    new_chat(chat)
    hear(chat, "hello")
    message_box(chat).fill("for the old one")
    chat.locator("agui-chat").evaluate("""chat => {
        chat.newChat();
        const input = chat.shadowRoot.querySelector("textarea");
        input.value += "for the new one";
        input.dispatchEvent(new Event("input"));
    }""")
    drawn(chat)
    expect(message_box(chat)).to_have_value("for the new one")
    chat.go_back()
    expect(message_box(chat)).to_have_value("for the old one")


def test_phone_keeps_its_keyboard_down(open_page):
    page = open_page(**PHONE)
    expect(page.locator(".chip").first).to_be_visible()
    page.get_by_role("button", name="New chat").first.tap()
    expect(message_box(page)).not_to_be_focused()
    page.get_by_role("button", name="Conversations", exact=True).tap()
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    expect(page.get_by_role("dialog", name="Conversations")).to_be_focused()
    page.get_by_role("button", name="Close").first.tap()
    page.get_by_role("button", name="Skills").tap()
    expect(message_box(page)).not_to_be_focused()
    page.get_by_role("option").first.tap()
    expect(page.locator(".bubble")).to_have_count(1)


# --- The choice of a model


@pytest.mark.nightly
def test_chosen_model_goes_with_each_run_and_is_kept(open_page, site):
    offered = ["quick"]

    def with_models(route):
        answer = route.fetch()
        names = html.escape(json.dumps(offered))
        route.fulfill(response=answer, body=answer.text().replace("<agui-chat", f'<agui-chat data-models="{names}"'))

    def ask(text: str) -> dict:
        with page.expect_request(lambda request: request.method == "POST" and "/agent/" in request.url) as run:
            say(page, text)
        finished(page)
        return run.value.post_data_json["forwardedProps"]

    page = open_page(None)
    page.route(re.compile(rf"{re.escape(site.url)}/?(\?.*)?$"), with_models)
    page.goto(site.url)
    choice = page.get_by_role("combobox", name="Model")
    expect(choice.get_by_role("option")).to_have_text(["Default", "quick"])
    assert ask("Hello") == {}
    choice.select_option("quick")
    assert ask("Hello again") == {"model": "quick"}
    page.reload()
    expect(choice).to_have_value("quick")
    assert ask("And again") == {"model": "quick"}
    # The server has it no longer.
    offered[:] = ["</agui-chat>"]
    page.reload()
    expect(choice).to_have_value("")
    assert ask("Once more") == {}
