"""Documents beside the conversation: the panel, its versions and its place, and what a document may not do."""

import base64
import re

import page_events
import pytest
from page_events import FINISHED, begun, ended
from pages import Page, Route, drawn, expect, message_box, new_chat, open_stream

pytestmark = pytest.mark.browser

PARAGRAPHS = "\n\n".join(f"Paragraph {number} of a long report." for number in range(60))
IS_AT_END = "box => box.scrollHeight - box.scrollTop - box.clientHeight < 5"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def shown(number: int, *pieces: str, **content: object) -> dict:
    document = {"id": "report", "title": "Report", "kind": "markdown", "text": pieces}
    return page_events.shown("document", document | content, f"d{number}")


def more(number: int, text: str) -> dict:
    return page_events.changed("document", "/text/-", text, op="add", message_id=f"d{number}")


def keep_thread(page: Page, thread_id: str, *documents: dict) -> None:
    """Let the server have a conversation with these documents."""
    about = {"role": "activity", "activityType": "document"}
    messages = [{"id": event["messageId"], "content": event["content"]} | about for event in documents]
    page_events.keep_thread(page, {"id": "u", "role": "user", "content": "Write"}, *messages, thread_id=thread_id)


def panel(page: Page):
    return page.get_by_role("complementary")


def card(page: Page, name: str):
    return page.locator(".log").get_by_role("button", name=name)


def test_a_document_grows_beside_the_messages_and_keeps_its_versions(chat):
    chat.evaluate("addEventListener('ag-ui-document', ({ detail }) => (window.told = detail))")
    push = open_stream(chat)
    message_box(chat).focus()
    push(*begun("c"), shown(1, "# The report\n\n", title="<b>Report</b>"))
    # It opens by itself, and takes no focus.
    expect(panel(chat)).to_have_accessible_name("<b>Report</b>")
    expect(message_box(chat)).to_be_focused()
    expect(card(chat, "<b>Report</b>")).to_have_text("<b>Report</b>Document · Being written…")
    expect(card(chat, "<b>Report</b>")).to_have_attribute("aria-expanded", "true")
    assert chat.evaluate("told") == {"id": "report", "title": "<b>Report</b>", "version": 1}
    box = panel(chat).get_by_role("document")
    # The reader is at the end of the text until they scroll up.
    push(more(1, PARAGRAPHS))
    expect(panel(chat).get_by_text("Paragraph 59")).to_be_in_viewport()
    chat.wait_for_function("() => true")
    assert box.evaluate(IS_AT_END)
    box.evaluate("box => (box.scrollTop = 40)")
    push(more(1, f"\n\n**The end.**\n\n{PARAGRAPHS}"))
    expect(panel(chat).locator("strong")).to_have_text("The end.")
    assert box.evaluate("box => box.scrollTop") == 40
    expect(panel(chat).get_by_role("status")).to_be_empty()
    push(ended("c"))
    expect(panel(chat).get_by_role("status")).to_have_text("The document is updated.")
    expect(card(chat, "<b>Report</b>")).to_have_text("<b>Report</b>Document")
    # Who reads the last version sees the next one. Who has turned back stays there.
    push(*begun("d"), shown(2, "Second", title="New"), ended("d"))
    expect(panel(chat).locator(".prose")).to_have_text("Second")
    expect(panel(chat)).to_contain_text("Version 2 of 2")
    panel(chat).get_by_role("button", name="Previous version").click()
    expect(panel(chat)).to_contain_text("Version 1 of 2")
    push(*begun("e"), shown(3, "Third", title="Newest"), ended("e"))
    expect(card(chat, "Newest")).to_have_text("NewestDocument · Version 3")
    expect(panel(chat)).to_contain_text("Version 1 of 3")
    expect(panel(chat).locator("strong")).to_have_text("The end.")
    # Escape in the panel closes it, and does not stop the run. It stays closed in this turn.
    chat.keyboard.press("Escape")
    expect(panel(chat)).to_have_count(0)
    expect(message_box(chat)).to_be_focused()
    assert chat.evaluate("told.id") is None
    push(*begun("f"), shown(4, "Other", id="other", title="Other"))
    expect(card(chat, "Other")).to_be_visible()
    expect(panel(chat)).to_have_count(0)
    # A card opens its own version and takes the focus, which comes back to it.
    card(chat, "New Document").click()
    expect(panel(chat)).to_be_focused()
    expect(panel(chat)).to_contain_text("Version 2 of 3")
    chat.keyboard.press("Escape")
    expect(card(chat, "New Document")).to_be_focused()
    # A page can open a document, and another conversation closes it.
    assert chat.locator("agui-chat").evaluate("chat => chat.openActivity('document', 'no')") is False
    assert chat.locator("agui-chat").evaluate("chat => chat.openActivity('document', 'report')") is True
    expect(panel(chat).locator(".prose")).to_have_text("Third")
    chat.locator("agui-chat").evaluate("chat => chat.newChat()")
    expect(panel(chat)).to_have_count(0)


def test_readers_resize_copy_and_save(chat):
    push = open_stream(chat)
    rows = {"kind": "table", "title": "Trains", "columns": ["train", "price"], "rows": [["=1+1", 89.9], ["IC", None]]}
    code = {"id": "code", "kind": "code", "language": "python", "title": "First steps"}
    # The run has ended before the code has come that draws documents.
    steps = shown(2, "print('a')\n", "# ``` no end\n", **code)
    push(*begun("c"), shown(1, id="trains", **rows), steps, ended("c"), FINISHED)
    expect(panel(chat).locator("code .string")).to_have_text("'a'")
    edge = panel(chat).get_by_role("separator", name="Width of the document")

    def width() -> int:
        return round(panel(chat).bounding_box()["width"])

    before = width()
    assert edge.get_attribute("aria-valuenow") == str(before)
    edge.press("ArrowLeft")
    assert width() == before + 24
    edge.press("Home")
    assert width() == 320
    edge.press("End")
    assert round(chat.locator(".transcript").bounding_box()["width"]) == 360
    edge.press("ArrowRight")
    box = edge.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 100
    before = width()
    chat.mouse.move(x, y)
    chat.mouse.down()
    chat.mouse.move(x + 20, y)
    chat.mouse.move(x + 50, y)
    drawn(chat)
    chat.mouse.move(x + 60, y)
    chat.mouse.up()
    chosen = width()
    assert chosen == before - 60
    panel(chat).get_by_role("button", name="Close").click()
    card(chat, "First steps").click()
    assert width() == chosen
    with chat.expect_download() as download:
        panel(chat).get_by_role("button", name="Save as a file").click()
    assert download.value.suggested_filename == "First-steps.py"
    assert download.value.path().read_text() == "print('a')\n# ``` no end\n"
    card(chat, "Trains").click()
    expect(panel(chat).get_by_role("cell", name="89.9")).to_be_visible()
    with chat.expect_download() as download:
        panel(chat).get_by_role("button", name="Save as a file").click()
    assert download.value.suggested_filename == "Trains.csv"
    assert download.value.path().read_text("utf-8-sig") == "train,price\n'=1+1,89.9\nIC,\n"
    panel(chat).get_by_role("button", name="Copy").click()
    expect(panel(chat).get_by_role("status")).to_have_text("Copied")
    # On paper is the document, not the conversation.
    chat.emulate_media(media="print")
    expect(panel(chat).get_by_role("cell", name="89.9")).to_be_visible()
    expect(chat.locator(".log")).to_be_hidden()
    expect(panel(chat).get_by_role("button", name="Close")).to_be_hidden()


def test_documents_come_back_and_cover_a_small_chat(chat):
    keep_thread(chat, "t1", shown(1, "One"), shown(2, "Two"))
    keep_thread(chat, "t2", shown(3, "Of another conversation"))
    chat.locator("agui-chat").evaluate("chat => chat.open('t1')")
    # What is stored does not open by itself.
    expect(card(chat, "Report").last).to_have_text("ReportDocument · Version 2")
    expect(panel(chat)).to_have_count(0)
    card(chat, "Report").first.click()
    expect(panel(chat)).to_contain_text("Version 1 of 2")
    chat.set_viewport_size({"width": 380, "height": 700})
    # Without room beside the messages the panel covers them.
    dialog = chat.get_by_role("dialog", name="Report")
    expect(dialog).to_be_focused()
    assert round(dialog.bounding_box()["width"]) == 380
    expect(chat.locator(".transcript")).to_have_js_property("inert", True)
    chat.go_back()
    expect(dialog).to_have_count(0)
    expect(chat.locator(".transcript")).to_have_js_property("inert", False)
    card(chat, "Report").last.click()
    expect(dialog.locator(".prose")).to_have_text("Two")
    chat.set_viewport_size({"width": 1200, "height": 700})
    expect(chat.locator(".transcript")).to_have_js_property("inert", False)
    # If the room goes while something else is open over the chat, users can still close that.
    message_box(chat).press_sequentially("/?")
    message_box(chat).press("Enter")
    shortcuts = chat.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_be_visible()
    chat.set_viewport_size({"width": 380, "height": 700})
    expect(chat.locator(".transcript")).to_have_js_property("inert", True)
    shortcuts.get_by_role("button", name="Close").click()
    expect(shortcuts).to_have_count(0)
    chat.set_viewport_size({"width": 1200, "height": 700})
    expect(panel(chat)).to_contain_text("Version 2 of 2")
    expect(chat.locator(".transcript")).to_have_js_property("inert", False)
    # What is open is open again after a reload, and never in another conversation.
    chat.reload()
    expect(panel(chat).locator(".prose")).to_have_text("Two")
    expect(panel(chat)).not_to_be_focused()
    chat.locator("agui-chat").evaluate("chat => chat.open('t2')")
    expect(card(chat, "Report")).to_have_attribute("aria-expanded", "false")
    expect(panel(chat)).to_have_count(0)


def test_the_open_document_is_kept_as_the_open_conversation_is(chat):
    keys = "() => [...Object.keys(sessionStorage), ...Object.keys(localStorage)].filter(key => /document$/.test(key))"
    element = chat.locator("agui-chat")
    keep_thread(chat, "t1", shown(1, "One"))
    element.evaluate("chat => chat.open('t1')")
    card(chat, "Report").click()
    expect(panel(chat)).to_be_visible()
    user = element.get_attribute("user-key")
    assert user
    assert chat.evaluate(keys) == [f"agui-chat:%2Fagent%2F:{user}:document"]
    # Nothing is left for the next user of this browser.
    element.evaluate("chat => chat.session.signOut()")
    expect(panel(chat)).to_have_count(0)
    assert chat.evaluate(keys) == []
    element.evaluate("chat => (chat.dataset.threadMemory = 'none')")
    element.evaluate("chat => chat.open('t1')")
    card(chat, "Report").click()
    expect(panel(chat)).to_be_visible()
    assert chat.evaluate(keys) == []


def test_a_document_loads_nothing_from_elsewhere(new_page, site, signed_in):
    page = new_page(site.url, storage_state=signed_in, bypass_csp=True)
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url) if "evil" in request.url else None)

    def fulfil(route: Route) -> None:
        picture = {"content_type": "image/png", "body": base64.b64decode(PIXEL)}
        elsewhere = {"status": 302, "headers": {"Location": "https://evil.example/a.png"}}
        answers = {
            "good.png": picture,
            "redirect.png": elsewhere,
            "page/": {"body": "<p>Hi", "content_type": "text/html"},
        }
        route.fulfill(**answers[re.search(r"/shop/(.+)$", route.request.url)[1]])

    page.route("**/shop/**", fulfil)
    push = open_stream(page)
    page.locator("agui-chat").evaluate("""chat => {
        const { request } = chat;
        chat.request = (url, init) => (url.includes("/shop/") ? fetch : request)(url, init);
    }""")
    push(*begun("c"), shown(1, kind="image", title="A map", path="/shop/good.png"))
    expect(panel(page).get_by_role("img", name="A map")).to_be_visible()
    for number, path in enumerate(["/shop/redirect.png", "//evil.example/a.png", "/\\evil.example/a.png"], 2):
        push(shown(number, kind="image", title="A map", path=path))
        expect(panel(page)).to_contain_text(f"Version {number} of {number}")
        expect(panel(page)).to_contain_text("This can't be shown here.")
        expect(panel(page).get_by_role("img")).to_have_count(0)
    push(shown(9, kind="page", title="The shop", id="p", path="/shop/page/"))
    frame = panel(page).locator("iframe")
    expect(frame).to_have_attribute("sandbox", "")
    expect(frame.content_frame.get_by_text("Hi")).to_be_visible()
    expect(panel(page).get_by_role("link", name="Open in a new tab")).to_have_attribute(
        "href", re.compile("/shop/page/$")
    )
    push(shown(10, kind="page", title="Elsewhere", id="q", path="https://evil.example/"))
    expect(panel(page)).to_contain_text("This can't be shown here.")
    expect(panel(page).locator("iframe, a[href]")).to_have_count(0)
    push(shown(11, "![x](https://evil.example/b.png)", title="Text", id="r"))
    expect(panel(page).locator(".prose")).to_have_text("x")
    assert outside == []
    new_chat(page)
