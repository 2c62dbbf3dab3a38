"""Apps of other MCP servers in the chat: how they look, what they may ask for, and how they try to break out."""

import json
from collections.abc import Iterator

import pytest
from conftest import ROOT, npm_install
from hosting import allow, app_of, page_that_hosts, question, shown
from pages import Browser, Page, expect, finished, message_box, runs_of, say
from servers import LiveProject, serve, wait_until

pytestmark = pytest.mark.browser


@pytest.fixture
def shop(browser: Browser, hosting_project: LiveProject, signed_in: dict) -> Iterator[Page]:
    with page_that_hosts(browser, signed_in) as page:
        page.goto(hosting_project.url)
        yield page


def test_app_is_drawn_and_what_it_asks_for_is_asked(shop: Page):
    app = shown(shop)
    inside = shop.frame_locator(".activity iframe").frame_locator("iframe")
    expect(inside.get_by_role("heading")).to_have_css("color", "rgb(1, 2, 3)")
    expect(shop.locator(".app-source")).to_have_text("App of “shop”")
    frame = shop.locator(".activity iframe")
    expect(frame).to_have_attribute("title", "Orders")
    expect(frame).to_have_attribute("sandbox", "allow-scripts")
    assert 80 < frame.bounding_box()["height"] < 400
    # The app gets what the tool got and gave, with what is for apps alone, and what it must know of the page.
    heard = {message["method"].rpartition("/")[2]: message["params"] for message in app.evaluate("heard")}
    assert heard["tool-input"] == {"arguments": {"customer": "Ada"}}
    assert heard["tool-result"]["structuredContent"] == {"count": 2}
    assert heard["tool-result"]["_meta"]["secret"] == "for the app"
    host = app.evaluate("host")
    assert set(host["hostCapabilities"]) == {"serverTools", "serverResources", "openLinks", "message"}
    assert (host["hostContext"]["theme"], host["hostContext"]["locale"]) == ("light", "en")
    shop.locator("agui-chat").evaluate("chat => chat.setAttribute('theme', 'dark')")
    # Playwright's own waiting needs eval, which the app's policy forbids.
    wait_until(lambda: app.evaluate("heard.at(-1).method === 'ui/notifications/host-context-changed'"))
    assert app.evaluate("heard.at(-1).params.theme") == "dark"
    # A harmless tool is called at once. One that may destroy something asks, and only what was asked about is done.
    assert '"calls":' in app.evaluate("ask('tools/call', { name: 'refresh', arguments: {} })")
    app.evaluate("() => { window.answer = ask('tools/call', { name: 'cancel', arguments: { number: 7 } }); }")
    expect(question(shop)).to_contain_text("The app of “shop” asks:")
    expect(question(shop).locator("pre")).to_have_text('Run "Shop cancel"?\nnumber: 7')
    button = question(shop).get_by_role("button", name="Allow", exact=True)
    expect(button).to_be_enabled()
    button.focus()
    shop.keyboard.press("Enter")
    assert "cancelled 7" in app.evaluate("answer")
    expect(question(shop)).to_have_count(0)
    # A message and a link are the user's, too. What nobody sees of a message is not sent.
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey") + "\u202e\u200b"
    app.evaluate(f"""() => {{
        const content = [{{ type: "text", text: {json.dumps(hidden + "Thank you")} }}, {{ type: "image", data: "" }}];
        window.answer = ask("ui/message", {{ role: "user", content }});
    }}""")
    expect(question(shop).locator("pre")).to_have_text("Thank you")
    expect(shop.locator(".user")).to_have_count(1)
    runs = runs_of(shop)
    allow(shop)
    assert app.evaluate("answer") == "{}"
    expect(shop.locator(".assistant").last).to_contain_text("end.")
    assert [message["content"] for message in runs[0]["messages"]] == ["Thank you"]
    shop.context.route("https://example.com/**", lambda route: route.fulfill(body="elsewhere"))
    app.evaluate("() => { window.answer = ask('ui/open-link', { url: 'https://example.com/a' }); }")
    expect(question(shop).locator("pre")).to_have_text("https://example.com/a")
    shop.evaluate("""() => {
        const open = window.open;
        window.open = (...given) => (window.given = given) && open.apply(window, given);
    }""")
    with shop.context.expect_page() as opened:
        allow(shop)
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("opener") is None
    # Headers of the site see to that already. Not all sites have them.
    assert shop.evaluate("given") == ["https://example.com/a", "_blank", "noopener,noreferrer"]
    opened.value.close()
    assert app.evaluate("answer") == "{}"


def test_app_is_a_text_on_paper_and_comes_back(shop: Page):
    shown(shop)
    frame = shop.locator(".activity iframe")
    shop.emulate_media(media="print")
    expect(shop.locator(".view-text")).to_have_text("2 orders of Ada")
    expect(shop.locator(".view-text")).to_be_visible()
    expect(frame).to_be_hidden()
    shop.emulate_media(media="screen")
    # The app comes back after a reload, also on a phone, and from right to left.
    shop.set_viewport_size({"width": 380, "height": 700})
    shop.evaluate("document.documentElement.dir = 'rtl'")
    shop.reload()
    assert app_of(shop).evaluate("told.textContent") == "2 orders of Ada"
    fits = "() => document.documentElement.scrollWidth <= innerWidth"
    assert shop.evaluate(fits)


def test_no_means_no(shop: Page):
    app = shown(shop)
    cancel = "ask('tools/call', { name: 'cancel', arguments: { number: 7 } })"
    for _ in range(2):
        app.evaluate(f"() => {{ window.answer = {cancel}; }}")
        question(shop).get_by_role("button", name="Don't allow").click()
        assert "declined" in app.evaluate("answer")
        expect(question(shop)).to_have_count(0)
        # An app does not ask again and again: only what a person does in the app makes another question.
        message_box(shop).click()
        assert "declined" in app.evaluate(cancel)
        assert app.evaluate("ask('ui/open-link', { url: 'https://example.com/' })").startswith("refused")
        shop.frame_locator(".activity iframe").frame_locator("iframe").get_by_role("button").click()
    assert '"calls":' in app.evaluate("ask('tools/call', { name: 'refresh', arguments: {} })")


# --- What an app can't do: more is in test_browser_escapes.py, and what the server refuses in engine/tests


def test_app_is_heard_only_for_what_it_may_ask(shop: Page):
    app = shown(shop)

    def attempt(action: str) -> str:
        return app.evaluate(f"() => attempt(() => {action})")

    assert attempt("ask('tools/call', { name: 'secrets', arguments: {} })") == "refused: This tool is not for apps."
    assert attempt("ask('resources/list')") == "refused: Unknown method."
    refused = "refused: An app reads what its server offers to apps, and nothing else."
    assert attempt("ask('resources/read', { uri: 'file:///etc/shop.conf' })") == refused
    assert '{\\"a\\": 1}' in attempt("ask('resources/read', { uri: 'ui://shop/data.json' })")
    # Without its user it asks a server sixty times in a minute. Each look at the page's clock is a tenth of a second.
    shop.evaluate("() => { let now = performance.now(); performance.now = () => (now += 100); }")
    flood = """async () => {
        let refused = 0;
        for (let number = 0; number < 70; number += 1) {
            const answer = await attempt(() => ask("tools/call", { name: "x", arguments: {} }));
            refused += answer === "refused: Too many requests.";
        }
        return refused;
    }"""
    assert 10 <= app.evaluate(flood) < 40
    for url in ("data:text/html,x", "https://evil.example/" + "a" * 2000, "x"):
        assert attempt(f"ask('ui/open-link', {{ url: '{url}' }})") == "refused: Only web addresses.", url
    for content in ("[]", "[{ type: 'image' }]", "[{ type: 'text', text: ' ' }]"):
        assert attempt(f"ask('ui/message', {{ content: {content} }})") == "refused: A message is a text.", content
    assert attempt("ask('ui/request-display-mode', { mode: 'fullscreen' })") == '{"mode":"inline"}'
    assert attempt("ask('ping')") == "{}"
    expect(question(shop)).to_have_count(0)
    expect(shop.locator(".user")).to_have_count(1)
    # Its address is no page.
    [address] = [frame.url for frame in shop.frames if "/mcp/apps/" in frame.url]
    assert shop.context.new_page().goto(address).status == 404


# --- Apps that others have written

PUBLISHED = {
    "basic-vanillajs": ("get-time", "Get Server Time"),
    "budget-allocator": ("get-budget-data", "Budget Allocator"),
    "debug": ("debug-tool", "Event Log"),
    "scenario-modeler": ("get-scenario-data", "Scenario Modeler"),
    "system-monitor": ("get-system-info", "System Monitor"),
}


@pytest.fixture(scope="module")
def published(hosting_project: LiveProject) -> Iterator[LiveProject]:
    """The servers that the authors of the protocol publish as examples."""
    packages = npm_install(ROOT / "tests/mcp/apps/package.json")
    servers = {}
    for name in PUBLISHED:
        script = packages / f"@modelcontextprotocol/server-{name}/dist/index.js"
        servers[name] = {"command": "node", "args": [str(script), "--stdio"], "apps": True}
    (hosting_project.path / "published.json").write_text(json.dumps({"mcpServers": servers}))
    with serve(hosting_project.path, AGENT_MODEL="python:hosted.model", MCP_CONFIG="published.json") as live:
        yield live


@pytest.mark.nightly
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_app_runs(new_page, published: LiveProject, signed_in: dict, name: str):
    tool, words = PUBLISHED[name]
    page = new_page(published.url, storage_state=signed_in)
    say(page, json.dumps([(f"{name}_{tool}", {})]))
    page.get_by_role("button", name="Approve", exact=True).click()
    finished(page)
    expect(page.locator(".view[data-open]")).to_be_visible()
    inside = page.frame_locator(".activity iframe").frame_locator("iframe")
    expect(inside.locator("body")).to_contain_text(words)
    height = "document.querySelector('agui-chat').shadowRoot.querySelector('iframe').offsetHeight"
    wait_until(lambda: page.evaluate(height) > 100)
