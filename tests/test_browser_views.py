"""Cards from templates in the chat: how they look, what their buttons do, and what a card can't do."""

import re
from collections.abc import Iterator

import pytest
from hosting import SPEECH
from page_events import shown
from pages import Browser, Page, Route, drawn, expect, finished, hear, new_chat, open_stream
from servers import LiveProject, wait_until

pytestmark = pytest.mark.browser

CARD = """{% load agui_views %}
<style>b { color: rgb(1, 2, 3) }</style>
<h3>Order {{ number }}</h3>
<p>For <b>{{ customer }}</b>, <a href="/orders/{{ number }}/">details</a></p>
<button {% call_tool "cancel_order" number=number %}>Cancel the order</button>
"""


@pytest.fixture
def viewing(scripted: Page, scripted_project: LiveProject) -> Page:
    """A page whose project has the template of the card."""
    folder = scripted_project.path / "assistant/templates/shop"
    folder.mkdir(exist_ok=True)
    (folder / "order_card.html").write_text(CARD)
    return scripted


def card(page: Page):
    return page.locator(".activity").last.frame_locator("iframe")


def test_card_is_drawn_and_its_button_calls_a_tool_through_the_approval(viewing: Page):
    hear(viewing, "Show my order")
    expect(card(viewing).get_by_role("heading")).to_have_text("Order 7")
    expect(card(viewing).locator("b")).to_have_text("<i>Ada</i>")
    expect(card(viewing).locator("b")).to_have_css("color", "rgb(1, 2, 3)")
    frame = viewing.locator(".activity iframe")
    expect(frame).to_have_attribute("title", "Order")
    expect(frame).to_have_attribute("sandbox", "allow-scripts")
    expect(viewing.locator(".view-text")).to_be_hidden()
    # The frame is as high as its card, on a phone, too.
    assert 80 < frame.bounding_box()["height"] < 250
    viewing.set_viewport_size({"width": 380, "height": 700})
    inside = viewing.frames[-1]
    fits = "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    wait_until(lambda: inside.evaluate(fits))
    # The card is as light or as dark as the page.
    chat = viewing.locator("agui-chat")
    for theme in ("dark", "light"):
        chat.evaluate("(chat, theme) => chat.setAttribute('theme', theme)", theme)
        expect(card(viewing).locator("html")).to_have_css("color-scheme", theme)
    expect(viewing.locator(".view-text")).to_have_text("Order 7\nFor <i>Ada</i>, details")
    # It comes back after a reload.
    viewing.reload()
    button = card(viewing).get_by_role("button", name="Cancel the order")
    # Only the chat speaks to the card, and only a person presses its button.
    forged = {"method": "ui/notifications/tool-result", "params": {"_meta": {"agui/view": {"html": "<p>Forged"}}}}
    expect(button).to_be_visible()
    inside = viewing.frames[-1]
    inside.evaluate("message => postMessage({ jsonrpc: '2.0', ...message }, '*')", forged)
    button.focus()
    button.evaluate("button => button.click()")
    expect(button).to_be_enabled()
    expect(viewing.locator(".user")).to_have_count(1)
    viewing.keyboard.press("Enter")
    expect(viewing.locator(".user").last).to_contain_text('Cancel the order (cancel_order {"number": 7})')
    viewing.get_by_role("button", name="Approve", exact=True).click()
    finished(viewing)
    expect(viewing.locator(".assistant").last).to_contain_text("Order 7 is cancelled.")
    # A link opens a tab of its own, without power over this one.
    with viewing.context.expect_page() as opened:
        card(viewing).get_by_role("link", name="details").click()
    assert opened.value.evaluate("opener") is None
    assert opened.value.url.endswith("/orders/7/")
    opened.value.wait_for_load_state()
    drawn(viewing)
    expect(card(viewing).get_by_role("link", name="details")).to_be_visible()


# --- What a card can't do, even if the checks of the server let it through


HOSTILE_HTML = """
<h3>Hostile</h3>
<img src="/agent/threads/?image" onerror="parent.postMessage('owned', '*')">
<svg onload="parent.postMessage('owned', '*')"></svg>
<iframe src="/agent/threads/?frame" srcdoc="<script>top.postMessage('owned', '*')</script>"></iframe>
<object data="/agent/threads/?object"></object>
<style>@import url("/agent/threads/?style"); h3 { background: url("/agent/threads/?background") }</style>
<meta http-equiv="refresh" content="0;url=/agent/threads/?refresh">
<a href="javascript:parent.postMessage('owned', '*')">Script</a>
<form action="/agent/threads/?form"><button>Form</button></form>
<button onclick="parent.postMessage('owned', '*')">Handler</button>
<button data-tool="delete_finished_tasks" data-arguments="{}">Delete</button>
"""
HOSTILE_APP = """<!doctype html><h3>Hostile</h3><button>Press</button><script>
SPEECH
addEventListener("message", ({ data }) => {
  console.log(JSON.stringify(data));
  waiting[data.id]?.(data.error?.message ?? JSON.stringify(data.result));
});
window.ready = ask("ui/initialize").then(() => tell("ui/notifications/initialized"));
</script>""".replace("SPEECH", SPEECH)
ORDER = {"tool": "cancel_order", "arguments": '{"number": 7}', "label": "Cancel"}


def view(html: str, **content: object) -> dict:
    card = {"title": "Order", "html": html, "text": "Its text", "lang": "en", "dir": "ltr", "actions": [ORDER]}
    return shown("view", card | content, "v1")


@pytest.fixture
def watched(browser: Browser, site: LiveProject, signed_in: dict) -> Iterator[Page]:
    """A page that may refuse things by its Content-Security-Policy."""
    context = browser.new_context(storage_state=signed_in, viewport={"width": 1200, "height": 800})
    page = context.new_page()
    page.add_init_script("addEventListener('message', ({ data }) => data === 'owned' && (window.owned = true))")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(site.url)
    yield page
    context.close()
    assert errors == []


@pytest.mark.parametrize("policy", ["ours", "none"])
def test_html_that_was_not_escaped_does_nothing(watched: Page, policy: str):
    push = open_stream(watched)
    if policy == "none":
        # Some hosts put the document into one of their own, where its policy does not count.
        def serve_bare(route: Route) -> None:
            body = re.sub(r"<meta http-equiv[^>]*>", "", route.fetch().text())
            route.fulfill(body=body, content_type="text/html")

        watched.route("**/agent/views/frame/", serve_bare)
    asked: list[str] = []
    # What a policy refuses is no request yet.
    watched.route("**/agent/threads/?*", lambda route: (asked.append(route.request.url), route.abort()))
    push(view(HOSTILE_HTML, lang="ar", dir="rtl"))
    inside = card(watched)
    expect(inside.get_by_role("main")).to_have_attribute("lang", "ar")
    expect(inside.get_by_role("heading")).to_have_css("direction", "rtl")
    expect(inside.get_by_role("heading")).to_have_text("Hostile")
    for name in ("Form", "Handler", "Delete"):
        inside.get_by_role("button", name=name).click()
    expect(inside.get_by_role("status")).to_have_text("This can't be done now.")
    inside.get_by_role("link", name="Script").click()
    expect(inside.get_by_role("heading")).to_have_text("Hostile")
    assert asked == []
    assert watched.evaluate("window.owned") is None
    assert len(watched.context.pages) == 1
    expect(watched.locator(".user")).to_have_count(1)


def test_app_that_is_hostile_reaches_nothing(watched: Page):
    push = open_stream(watched)
    hostile = {"body": HOSTILE_APP, "content_type": "text/html"}
    watched.route("**/agent/views/frame/", lambda route: route.fulfill(**hostile))
    watched.evaluate(
        "() => { document.querySelector('agui-chat').sendMessage = (text) => (window.sent ??= []).push(text) > 0; }"
    )
    push(view("<p>x</p>"))
    frame = watched.locator(".activity iframe")
    expect(watched.locator(".view")).to_have_attribute("data-open", "")
    app = watched.frames[-1]
    app.evaluate("ready")

    def attempt(action: str) -> str:
        return app.evaluate(f"() => attempt(() => {action})")

    assert attempt("origin") == "null"
    # Calls: the user types in the page and has pressed nothing here. Then only those for which there is a button.
    call = "ask('tools/call', { name: 'cancel_order', arguments: { number: 7 } })"
    link = "ask('ui/open-link', { url: 'https://evil.example/' })"
    refused = "This can't be done now."
    assert attempt(call) == refused
    assert attempt(link) == refused
    app.evaluate("tell('ui/notifications/size-changed', { height: 200 })")
    card(watched).get_by_role("button", name="Press").click()
    watched.evaluate(
        "Object.defineProperty(navigator, 'userActivation', { value: { isActive: false }, configurable: true })"
    )
    assert attempt(call) == refused
    assert attempt(link) == refused
    watched.evaluate("delete navigator.userActivation")
    for other in (
        "ask('tools/call', { name: 'cancel_order', arguments: { number: 8 } })",
        "ask('tools/call', { name: 'delete_finished_tasks', arguments: { number: 7 } })",
        "ask('tools/call', { name: 'cancel_order' })",
        "ask('ui/open-link', { url: 'javascript:top.owned = 1' })",
    ):
        assert attempt(other) == refused, other
    assert watched.evaluate("window.sent") is None
    # It can't hide the page below itself, or become a window of its own.
    for height, pixels in {"1e9": 1600, "300": 300, "'500'": 300, "Infinity": 300, "-5": 0, "20": 20}.items():
        app.evaluate(f"tell('ui/notifications/size-changed', {{ height: {height} }})")
        assert attempt("ask('ping')") == "Unknown method."
        expect(frame).to_have_css("height", f"{pixels}px")
    # Rubbish is no message.
    other = "{ id: 1, method: 'ui/initialize' }"
    for data in ("null", "1", "'x'", "{}", "{ jsonrpc: '2.0' }", "{ jsonrpc: '2.0', id: 1, method: {} }", other):
        app.evaluate(f"parent.postMessage({data}, '*')")
    # An answer of the app gets no answer: it might have the number of another request.
    app.evaluate("() => { waiting[77] = () => (window.answered = true); }")
    app.evaluate("parent.postMessage({ jsonrpc: '2.0', id: 77, result: {} }, '*')")
    assert attempt("ask('ping')") == "Unknown method."
    assert app.evaluate("window.answered") is None
    assert attempt(call) == '{"content":[]}'
    assert watched.evaluate("window.sent") == ['Cancel (cancel_order {"number": 7})']
    assert watched.evaluate("window.owned") is None


@pytest.mark.parametrize("speaks", [True, False])
def test_frame_that_goes_elsewhere_gets_nothing_and_is_closed(watched: Page, speaks: bool):
    push = open_stream(watched)
    hostile = {"body": HOSTILE_APP, "content_type": "text/html"}
    watched.route("**/agent/views/frame/", lambda route: route.fulfill(**hostile))
    # One that speaks does so before it is loaded, which it never is.
    elsewhere = hostile | {"body": f"{HOSTILE_APP}<img src=/held/>" if speaks else "Quiet"}
    watched.route("**/held/", lambda route: None)
    watched.route("**/elsewhere/", lambda route: route.fulfill(**elsewhere))
    with watched.expect_console_message(lambda message: "its card" in message.text):
        push(view("<p>its card</p>"))
    told: list[str] = []
    watched.on("console", lambda message: told.append(message.text))
    expect(watched.locator(".view-text")).to_be_hidden()
    watched.frames[-1].evaluate("location.href = '/elsewhere/'")
    expect(watched.locator(".activity iframe")).to_have_count(0)
    expect(watched.locator(".view-text")).to_have_text("Its text")
    assert [text for text in told if "its card" in text] == []


def test_without_a_frame_the_card_is_its_text(chat: Page):
    push = open_stream(chat)
    chat.route("**/agent/views/frame/", lambda route: route.fulfill(status=401, body="{}"))
    push(view("<p>x</p>"))
    expect(chat.locator(".view-text")).to_have_text("Its text")
    new_chat(chat)
    push = open_stream(chat)
    chat.locator("agui-chat").evaluate("chat => chat.removeAttribute('data-view-frame-url')")
    push(view("<p>x</p>", text=""))
    expect(chat.locator(".view-text")).to_have_text("Order")
    expect(chat.locator(".activity iframe")).to_have_count(0)
