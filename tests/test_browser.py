"""The chat's page in a real Chromium, against the live generated project.

What it makes of what it does not know, and of parts that are missing, is in tests/element/whole-page.test.mjs.
"""

import base64
import json
import os
import re

import pytest
from page_events import BOOKING, answer_with, asking, question, show_answer
from pages import (
    SLOW_ANSWER,
    Page,
    answers,
    asked,
    drawn,
    expect,
    finished,
    hear,
    message_box,
    new_chat,
    noted,
    runs_of,
    say,
    seen,
    sign_in,
    stored,
    stored_texts,
)

pytestmark = pytest.mark.browser


# --- The first visit


def test_first_visit_leads_through_the_login_and_asks_for_no_history_and_no_other_host(new_page, site):
    page = new_page(site.url)
    assert "/login/" in page.url
    requests = asked(page)
    sign_in(page, site)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".chip").first).to_be_visible()
    assert not [url for url in requests if "/threads/" in url]
    assert not [url for url in requests if not url.startswith((site.url, "data:"))]


# --- A conversation


def test_answers_cards_and_reasoning_are_elements_that_nothing_was_parsed_for(chat):
    """The browser would refuse markup in a string, report it, and so fail any test of this page."""
    assert "unsafe" not in chat.request.get(chat.url).headers["content-security-policy"]
    assert chat.evaluate("() => { try { document.body.innerHTML = '<b></b>' } catch (error) { return error.name } }")
    chat.evaluate("addEventListener('securitypolicyviolation', (event) => (window.refused = event.violatedDirective))")
    say(chat, 'add a task title="Buy milk" category=home')
    card = chat.locator(".tool", has_text="Add task")
    expect(card).to_have_attribute("data-status", "success")
    card.locator("summary").click()
    lists = card.locator("dl")
    expect(lists).to_have_count(2)
    expect(lists.first).to_have_text("titleBuy milkcategoryhome")
    expect(lists.last).to_contain_text("doneFalse", ignore_case=True)
    finished(chat)
    hear(chat, "Think about it: list tasks")
    expect(chat.locator(".prose code").first).to_be_visible()
    expect(chat.locator(".prose table").last).to_contain_text("Buy milk")
    reasoning = chat.locator(".reasoning")
    expect(reasoning.locator(".prose")).to_be_hidden()
    reasoning.locator("summary").click()
    expect(reasoning.locator(".prose")).not_to_be_empty()
    assert chat.evaluate("window.refused") is None


def test_enter_sends_and_escape_stops_the_run_and_keeps_the_text(scripted):
    message_box(scripted).press_sequentially("slow")
    message_box(scripted).press("Shift+Enter")
    message_box(scripted).press_sequentially("日本")
    message_box(scripted).press("Enter")
    expect(scripted.locator(".bubble")).to_have_text("slow\n日本", use_inner_text=True)
    expect(message_box(scripted)).to_have_value("")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word2")
    message_box(scripted).press("Escape")
    expect(scripted.get_by_text("Stopped.")).to_be_visible()
    [text] = answers(scripted)
    assert text.startswith("word0 word1 word2")
    assert "end." not in text
    assert stored(scripted)["running"] is False
    hear(scripted, "again")
    assert answers(scripted)[-1] == "word0 word1 word2 word3 end."


# --- Approvals


def test_approval_asks_with_the_tools_own_words_and_runs_once(chat):
    # What shows questions can't be loaded at first.
    chat.route("**/question*.js*", lambda route: route.abort())
    say(chat, "delete finished tasks")
    expect(chat.get_by_role("alert")).to_contain_text("connection to the server was lost")
    chat.unroute("**/question*.js*")
    chat.get_by_role("button", name="Try again").click()
    card = chat.locator(".tool[data-status=waiting]")
    expect(card.locator(".question")).to_contain_text("They can't be restored.")
    expect(card.get_by_role("button", name="Edit", exact=True)).to_have_count(0)  # it has no arguments
    expect(chat.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    card.get_by_role("button", name="Approve").click()
    expect(chat.locator(".tool")).to_have_attribute("data-status", "success")
    finished(chat)
    assert len([m for m in stored(chat)["messages"] if m["role"] == "tool"]) == 1
    expect(message_box(chat)).to_be_focused()


def test_reason_of_a_denial_and_answer_of_a_form_reach_their_tools(scripted):
    say(scripted, "once twice")
    cards = scripted.locator(".tool:visible")
    for number in range(2):
        card = cards.nth(number)
        card.get_by_role("button", name="Deny").click()
        card.get_by_label("Reason").fill(f"Reason {number}.")
        card.get_by_role("button", name="Deny").click()
    finished(scripted)
    for number in range(2):
        card = cards.nth(number)
        expect(card).to_contain_text("Denied")
        card.locator("summary").click()
        expect(card.locator("pre")).to_have_text(f"Reason {number}.")
    new_chat(scripted)
    say(scripted, "plan a trip")
    form = scripted.get_by_role("group", name="When do you go?")
    expect(form).to_be_visible()
    scripted.reload()
    form.get_by_label("Day").select_option("Tuesday")
    form.get_by_label("Code").fill("what only the server refuses")
    send_answer(scripted)
    expect(scripted.get_by_role("alert")).to_contain_text("does not have the form")
    form.get_by_label("Code").fill("")
    send_answer(scripted)
    finished(scripted)
    expect(scripted.locator(".tool")).to_have_attribute("data-status", "success")
    expect(scripted.get_by_role("alert")).to_be_hidden()
    [result] = [json.loads(m["content"]) for m in stored(scripted)["messages"] if m["role"] == "tool"]
    assert result == {"day": "Tuesday", "people": 2}


# --- Questions: what they ask and send is in tests/element/questions.test.mjs


def send_answer(page: Page) -> None:
    page.get_by_role("button", name="Send answer").click()


# On how many lines the text of an element is.
LINES = """(element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
}"""


def test_phone_shows_the_beginning_of_a_form_and_nothing_sideways(open_page):
    page = open_page(viewport={"width": 380, "height": 780})
    answer_with(page, asking(question("q", BOOKING), question("other")))
    say(page, "hello")
    expect(page.get_by_text("Question q?")).to_be_in_viewport()
    expect(page.get_by_label("Guest")).to_be_in_viewport()
    # Two questions are two cards, with a gap between them.
    upper, lower = (card.bounding_box() for card in page.locator(".tool").all())
    assert upper["y"] + upper["height"] + 4 < lower["y"]
    page.get_by_label("Billing").check()
    assert page.locator(".log").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    new_chat(page)
    row = "| 2026-12-24T10:00:00 | 1,240.50 | a long remark of a customer about the colour of the parcel |"
    show_answer(page, f"| when | total | what |\n|---|---:|:---:|\n{row}")
    # Columns keep their alignment, and figures do not break.
    cells = page.locator("agui-chat .prose td")
    expect(cells).to_have_count(3)
    assert [cell.evaluate("e => getComputedStyle(e).textAlign") for cell in cells.all()][1:] == ["right", "center"]
    assert [cells.nth(index).evaluate(LINES) for index in range(2)] == [1, 1]
    assert cells.nth(2).evaluate(LINES) > 1


# --- Files

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
BIG = b"%PDF-1.7" + os.urandom(2_000_000)
CRAWLING = 100_000  # bytes a second: slow enough to see BIG go


def attach(page: Page, **files: bytes) -> None:
    """Pick files: `attach(page, notes_txt=b"...")` picks notes.txt."""
    named = [(name.replace("_", "."), data) for name, data in files.items()]
    payloads = [{"name": name, "mimeType": "", "buffer": data} for name, data in named]
    page.locator("input[type=file]").set_input_files(payloads)


def chip(page: Page, name: str):
    return page.locator(".tray .file").filter(has_text=name)


def attached(page: Page, **files: bytes) -> None:
    """Pick files and wait until the server has them."""
    attach(page, **files)
    for name in files:
        expect(chip(page, name.replace("_", "."))).to_have_attribute("data-status", "ready")


def send_button(page: Page):
    return page.get_by_role("button", name="Send", exact=True)


def sent_file(page: Page, name: str):
    return page.locator(".user").get_by_role("link", name=name)


def test_files_are_picked_sent_read_and_come_back_after_a_reload(scripted):
    with scripted.expect_file_chooser() as chooser:
        scripted.get_by_role("button", name="Attach files").click()
    assert chooser.value.is_multiple()
    chooser.value.set_files(
        [
            {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"one\n<b>two</b>"},
            {"name": "<b>x.png", "mimeType": "image/png", "buffer": PIXEL},
        ]
    )
    expect(chip(scripted, "<b>x.png").locator("canvas")).to_be_visible()
    expect(chip(scripted, "notes.txt")).to_contain_text("TXT · 14 bytes")
    expect(message_box(scripted)).to_be_focused()
    expect(send_button(scripted)).to_be_enabled()
    say(scripted, "read this")
    expect(scripted.locator(".tray .file")).to_have_count(0)
    finished(scripted)
    [message] = [one for one in stored(scripted)["messages"] if one["role"] == "user"]
    assert [one["name"] for one in message["metadata"]["attachments"]] == ["notes.txt", "<b>x.png"]
    for _ in range(2):
        expect(scripted.locator(".bubble")).to_have_text("read this")
        with scripted.expect_download() as download:
            sent_file(scripted, "notes.txt").click()
        assert download.value.path().read_bytes() == b"one\n<b>two</b>"
        # A picture opens large, and can be saved there.
        sent_file(scripted, "<b>x.png").click()
        large = scripted.get_by_role("dialog", name="Images")
        expect(large.get_by_role("img", name="<b>x.png")).to_be_visible()
        with scripted.expect_download() as download:
            large.get_by_role("button", name="Save the image").click()
        assert download.value.path().read_bytes() == PIXEL
        assert download.value.suggested_filename.endswith("x.png")
        scripted.keyboard.press("Escape")
        expect(large).to_have_count(0)
        # What the agent reads of a file reads well.
        text, picture = (scripted.locator(".tool", has_text=name) for name in ("Read notes.txt", "x.png"))
        text.locator("summary").click()
        expect(text.locator("pre")).to_have_text("one\n<b>two</b>", use_inner_text=True)
        picture.locator("summary").click()
        expect(picture.locator(".tool-body")).to_have_text("The assistant was given the file as it is.")
        scripted.reload()
    # A message may be nothing but files.
    new_chat(scripted)
    attached(scripted, notes_txt=b"one", more_txt=b"two")
    send_button(scripted).click()
    expect(sent_file(scripted, "more.txt")).to_be_visible()
    expect(scripted.locator(".bubble")).to_be_hidden()


@pytest.mark.nightly
def test_files_are_dropped_and_a_folder_is_refused(chat, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "dropped.txt").write_text("dropped")
    devtools = chat.context.new_cdp_session(chat)

    def drag(step: str, x: int) -> None:
        files = [str(path) for path in sorted(tmp_path.iterdir())]
        data = {"items": [], "files": files, "dragOperationsMask": 1}
        devtools.send("Input.dispatchDragEvent", {"type": step, "x": x, "y": 500, "data": data})

    chat.locator("agui-chat").evaluate("e => e.setAttribute('placement', 'floating')")
    panel, inside, outside = chat.locator(".panel"), 1000, 200
    expect(chat.locator(".frame .panel")).to_be_visible()
    drag("dragEnter", inside)
    drag("dragOver", inside)
    expect(panel).to_have_class(re.compile("dropping"))
    # The part brings its style with the first file.
    is_told = "panel => getComputedStyle(panel, '::after').content.includes('Drop the files')"
    chat.wait_for_function(is_told, arg=panel.element_handle())
    drag("dragOver", outside)
    expect(panel).not_to_have_class(re.compile("dropping"))
    drag("dragOver", inside)
    drag("drop", inside)
    expect(chip(chat, "dropped.txt")).to_have_attribute("data-status", "ready")
    expect(chip(chat, "folder")).to_contain_text("can't be read")
    expect(panel).not_to_have_class(re.compile("dropping"))


PASTE = """(input, texts) => {
    const clipboardData = new DataTransfer();
    for (const [type, text] of Object.entries(texts)) clipboardData.setData(type, text);
    clipboardData.items.add(new File(["pasted"], "pasted.txt"));
    const options = { clipboardData, bubbles: true, composed: true, cancelable: true };
    return input.dispatchEvent(new ClipboardEvent("paste", options));
}"""


def test_files_are_pasted_and_tried_again_if_they_were_lost(chat):
    ready = chat.locator(".tray .file[data-status=ready]")
    is_text = message_box(chat).evaluate(PASTE, {"text/plain": "cells", "text/html": "<table>"})  # an office program's
    assert is_text
    drawn(chat)
    expect(ready).to_have_count(0)
    for count, texts in enumerate([{}, {"text/plain": "pasted.txt"}], start=1):  # a picture, and a file manager's file
        assert not message_box(chat).evaluate(PASTE, texts)
        expect(ready).to_have_count(count)
    chat.route("**/agent/attachments/", lambda route: route.abort(), times=1)
    attach(chat, notes_txt=b"notes")
    expect(chip(chat, "notes.txt")).to_contain_text("connection to the server was lost")
    chat.get_by_role("button", name="Try notes.txt again").click()
    expect(chip(chat, "notes.txt")).to_have_attribute("data-status", "ready")
    expect(chip(chat, "notes.txt")).to_contain_text("5 bytes")
    expect(chat.get_by_role("button", name="Remove notes.txt")).to_be_focused()


def test_progress_is_told_and_a_message_waits_for_its_files(chat):
    devtools = chat.context.new_cdp_session(chat)

    def upload_at(bytes_per_second: int) -> None:
        conditions = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes_per_second}
        devtools.send("Network.emulateNetworkConditions", conditions)

    upload_at(CRAWLING)
    runs = runs_of(chat)
    message_box(chat).fill("wait for it")
    chat.evaluate("""() => {
        window.seen = [];
        const root = document.querySelector("agui-chat").shadowRoot;
        const look = () => {
            const bar = root.querySelector("progress");
            if (bar && !bar.hidden) seen.push(bar.value);
            requestAnimationFrame(look);
        };
        look();
    }""")
    attach(chat, big_pdf=BIG)
    expect(chat.get_by_role("progressbar", name="Uploading big.pdf")).to_be_visible()
    expect(send_button(chat)).to_be_disabled()
    expect(send_button(chat)).to_have_attribute("title", re.compile("Wait for the files"))
    message_box(chat).press("Enter")
    chat.wait_for_function("() => new Set(seen.filter((value) => value > 0 && value < 1)).size > 2")
    upload_at(-1)
    expect(chip(chat, "big.pdf")).to_have_attribute("data-status", "ready")
    expect(chat.get_by_role("progressbar")).to_have_count(0)
    expect(chat.locator(".tray [role=status]")).to_have_text("big.pdf is attached.")
    seen = chat.evaluate("seen")
    assert seen == sorted(seen)
    assert runs == []
    expect(message_box(chat)).to_have_value("wait for it")
    message_box(chat).press("Enter")
    expect(sent_file(chat, "big.pdf")).to_be_visible()


@pytest.mark.nightly
def test_files_go_up_and_down_with_a_token_alone_and_not_for_who_is_signed_out(chat, site):
    attached(chat, notes_txt=b"notes")
    seen(chat, "list tasks")
    chat.context.clear_cookies()
    attach(chat, more_txt=b"more")
    expect(chip(chat, "more.txt").get_by_text("signed out")).to_be_visible()
    expect(chip(chat, "more.txt").get_by_role("link", name="Sign in")).to_have_attribute("href", re.compile("/login/"))
    sent_file(chat, "notes.txt").click()
    expect(chat.get_by_role("alert").get_by_role("link", name="Sign in")).to_be_visible()
    expect(chat.locator(".user")).to_have_count(0)
    header = f"Bearer {site.token}"
    chat.locator("agui-chat").evaluate("(e, header) => { e.getHeaders = () => ({ Authorization: header }); }", header)
    chat.locator("agui-chat").evaluate("e => e.newChat()")
    attached(chat, notes_txt=b"notes")
    say(chat, "list tasks")
    with chat.expect_download() as download:
        sent_file(chat, "notes.txt").click()
    assert download.value.path().read_bytes() == b"notes"


# --- What goes wrong


def test_reload_in_the_middle_of_a_run_loses_and_doubles_nothing(scripted, go_on):
    # Playwright doesn't hear of all bodies that Firefox sends.
    runs = noted(scripted, lambda request: request.method == "POST" and request.url.endswith("/agent/"))
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word5")
    scripted.reload()
    expect(scripted.locator(".assistant .prose")).to_contain_text("word7")
    expect(scripted.get_by_role("button", name="Stop")).to_be_visible()
    go_on()
    finished(scripted)
    assert answers(scripted) == [SLOW_ANSWER]
    assert scripted.locator(".bubble").all_inner_texts() == ["slow"]
    assert len(runs) == 1
    assert [text.strip() for text in stored_texts(scripted, "assistant")] == [SLOW_ANSWER]
