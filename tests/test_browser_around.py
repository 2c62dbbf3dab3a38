"""What users find around the messages: quotations, a voice, news of a run, drafts, in a real Chromium."""

import pytest
from page_events import FINISHED, begun_text, failed, show_answer
from pages import Page, drawn, expect, finished, hear, message_box, new_chat, open_stream, thread_id
from test_browser_look import SELECT

pytestmark = pytest.mark.browser

LOOK_AWAY = """hidden => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
NOTIFICATIONS = """() => { window.told = []; window.asked = 0;
window.Notification = class {
    static permission = "PERMISSION";
    static async requestPermission() { asked++; return (this.permission = "granted"); }
    constructor(title, options) { told.push([title, options.body]); }
    close() {}
}; }"""
VOICE = """() => { window.said = []; window.speaking = false;
speechSynthesis.speak = ({ text, lang }) => { said.push([lang, text]); speaking = true; };
speechSynthesis.cancel = () => { speaking = false; };
Object.defineProperty(speechSynthesis, "speaking", { get: () => speaking });
}"""


# --- The language


def test_a_user_reads_another_language_without_scripts_of_the_page(chat: Page):
    push = open_stream(chat)
    push(begun_text("")[0])
    menu = chat.locator("#account-menu")
    chat.locator(".avatar").click()
    menu.locator("summary").press("Enter")
    expect(menu.get_by_role("button", name="English")).to_have_attribute("aria-current", "true")
    # Escape closes the menu, and the run goes on.
    chat.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(chat.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    push({"type": "TEXT_MESSAGE_END", "messageId": "m"}, FINISHED)
    finished(chat)
    chat.locator(".avatar").click()
    menu.get_by_role("button", name="日本語").click()
    expect(chat.locator("html")).to_have_attribute("lang", "ja")
    expect(chat.get_by_role("button", name="送信", exact=True)).to_be_visible()
    expect(chat.get_by_role("heading", name="何をお手伝いしましょうか")).to_be_visible()
    [cookie] = [one for one in chat.context.cookies() if one["name"] == "django_language"]
    assert (cookie["value"], cookie["sameSite"], cookie["httpOnly"]) == ("ja", "Lax", True)


# --- Quotations, and a voice


def test_answer_is_quoted_and_read_aloud(chat: Page):
    show_answer(chat, "First *line*.\n\nSecond.")
    message_box(chat).fill("Look:")
    expect(chat.locator(".assistant .prose p")).to_have_count(2)  # Markdown comes after the text.
    chat.evaluate(SELECT)
    # The chat's own button, not that of the toolbar.
    chat.locator(".quote-selection").click()
    expect(message_box(chat)).to_have_value("Look:\n\n> First line.\n\n")
    expect(message_box(chat)).to_be_focused()
    expect(chat.locator(".quote-selection")).to_have_count(0)
    # By keyboard, and cut.
    new_chat(chat)
    message_box(chat).fill("")
    show_answer(chat, "<img src=x>\n" + "long " * 3000)
    chat.get_by_role("button", name="Quote", exact=True).focus()
    chat.keyboard.press("Enter")
    expect(message_box(chat)).to_be_focused()
    value = message_box(chat).input_value()
    assert value.startswith("> <img src=x>\n> long long")
    assert value.endswith("…\n\n")
    assert len(value) < 4100
    new_chat(chat)
    chat.evaluate(VOICE)
    show_answer(chat, "# Plan\n\nSee [it](https://example.com).\n\n```\ncode\n```")
    button = chat.get_by_role("button", name="Read aloud")
    button.click()
    chat.wait_for_function("() => said.length === 2")
    assert chat.evaluate("said") == [["en", "Plan"], ["en", "See it."]]
    button.click()
    chat.wait_for_function("() => !speaking")
    assert len(chat.evaluate("said")) == 2


# --- News of a run


def end_unseen(page: Page, last: dict, permission: str = "default") -> None:
    """Look at another tab while a run ends, once the page waits for that: what does so is loaded now."""
    page.evaluate(NOTIFICATIONS.replace("PERMISSION", permission))
    push = open_stream(page)
    page.evaluate("""() => {
        const chat = document.querySelector("agui-chat");
        window.waits = false;
        chat.addEventListener = (type, ...rest) => {
            EventTarget.prototype.addEventListener.call(chat, type, ...rest);
            window.waits ||= type === "ag-ui-run-finished";
        };
    }""")
    page.evaluate(LOOK_AWAY, True)
    page.wait_for_function("() => window.waits")
    push(last)


def test_title_and_notification_tell_of_a_run_that_ends_while_nobody_looks(chat: Page):
    # A notification tells nothing of the conversation.
    end_unseen(chat, failed("secret"), permission="granted")
    chat.wait_for_function("() => told.length === 1")
    assert chat.evaluate("told") == [["Assistant", "The answer failed"]]
    chat.evaluate(LOOK_AWAY, False)
    drawn(chat)
    expect(chat.get_by_text("Notify me next time")).to_have_count(0)
    new_chat(chat)
    title = chat.title()
    end_unseen(chat, FINISHED)
    chat.wait_for_function("() => document.title.startsWith('● ')")
    assert chat.evaluate("[told, asked]") == [[], 0]  # Nobody has allowed it.
    chat.evaluate(LOOK_AWAY, False)
    chat.wait_for_function("title => document.title === title", arg=title)
    chat.get_by_role("button", name="Notify me next time").click()
    chat.wait_for_function("() => asked === 1")
    expect(chat.get_by_text("An answer came while you were away.")).to_have_count(0)
    # An offer that was declined does not come again.
    new_chat(chat)
    end_unseen(chat, FINISHED)
    chat.wait_for_function("() => document.title.startsWith('● ')")
    chat.evaluate(LOOK_AWAY, False)
    chat.locator(".notify").get_by_role("button", name="Close").click()
    assert chat.evaluate("Object.keys(localStorage).filter((key) => key.endsWith('notify:declined')).length") == 1


# --- Drafts


def test_draft_outlives_its_tab(chat: Page):
    hear(chat, "hello")
    thread, url = thread_id(chat), chat.url.split("?")[0]
    message_box(chat).press_sequentially("half a thou")
    other = chat.context.new_page()
    chat.close()
    other.goto(f"{url}?thread={thread}")
    expect(message_box(other)).to_have_value("half a thou")
    message_box(other).fill("")
    other.reload()
    expect(other.get_by_role("button", name="Copy the answer")).to_be_attached()
    expect(message_box(other)).to_have_value("")
