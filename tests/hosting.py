"""A project whose page hosts the app of another MCP server, and the app, which does what a test wants."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pages import Browser, Page, drawn, expect, finished, say
from playwright.sync_api import Frame
from servers import LiveProject, serve, wait_until

ALLOWED, DECLARED = "https://api.example.com", "https://declared.example"
# How the script of an app speaks to the page.
SPEECH = """
const waiting = {}; let count = 0;
window.ask = (method, params = {}) => new Promise((resolve) => {
  waiting[(count += 1)] = resolve;
  setTimeout(resolve, 60_000, "no answer"); // only to end a hang
  parent.postMessage({ jsonrpc: "2.0", id: count, method, params }, "*");
});
window.tell = (method, params = {}) => parent.postMessage({ jsonrpc: "2.0", method, params }, "*");
window.attempt = async (action) => {
  try { return String(await action()); } catch (error) { return error.name; }
};
"""
# This app speaks the protocol, and lets a test try anything. Its own policy would allow everything.
APP = """<!doctype html>
<html><head>
<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline' 'unsafe-eval' data: blob:">
<style>h1 { color: rgb(1, 2, 3) } :root { color-scheme: var(--scheme) }</style>
</head><body>
<h1>Orders</h1><p id="told"></p><button onclick="window.pressed = true">Press</button>
<script>
SPEECH
window.heard = [];
window.add = (markup) => {
  // Scripts of markup run only if it is made so.
  const range = document.createRange();
  range.selectNode(document.body);
  document.body.append(range.createContextualFragment(markup));
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
</script></body></html>""".replace("SPEECH", SPEECH)


@contextmanager
def hosting_apps(project: LiveProject) -> Iterator[LiveProject]:
    """Serve a project that is connected with the server of engine/tests/app_server.py."""
    shutil.copy(Path(__file__).with_name("page_model.py"), project.path / "hosted.py")
    (project.path / "hosted.gate").touch()
    shutil.copy(Path(__file__).parents[1] / "engine/tests/app_server.py", project.path / "app_server.py")
    (project.path / "app.html").write_text(APP)
    about = {"APP_HTML": str(project.path / "app.html")}
    about["APP_CSP"] = json.dumps({"connectDomains": [ALLOWED, DECLARED], "resourceDomains": [DECLARED]})
    shop = {"command": str(project.path / ".venv/bin/python"), "args": ["app_server.py"], "cwd": ".", "env": about}
    servers = {"shop": {**shop, "apps": {"connectDomains": [ALLOWED, "https://undeclared.example"]}}}
    (project.path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with serve(project.path, AGENT_MODEL="python:hosted.model", MCP_CONFIG="mcp.json") as live:
        yield live


@contextmanager
def page_that_hosts(browser: Browser, cookies: dict) -> Iterator[Page]:
    """A page whose own scripts must not fail; its app may, and policies may refuse things."""
    context = browser.new_context(storage_state=cookies, viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.add_init_script("""for (const kind of ["error", "unhandledrejection"]) {
        addEventListener(kind, ({ message, reason }) => (window.failures ??= []).push(message ?? String(reason)));
    }""")
    # Playwright doesn't hear of all bodies that Firefox sends.
    page.add_init_script("""if (self === top) {
        const send = window.fetch;
        window.posted = [];
        window.fetch = (url, options) => {
            if (options?.method === "POST" && String(url).includes("/mcp/apps/")) posted.push(JSON.parse(options.body));
            return send(url, options);
        };
    }""")
    yield page
    page.unroute_all(behavior="ignoreErrors")
    failures = page.evaluate("window.failures")
    context.close()
    assert failures is None


def app_of(page: Page) -> Frame:
    """The app's own frame, once it is drawn: the last one, if there are several."""
    expect(page.locator(".view[data-open]").last).to_be_visible()
    outer = [frame for frame in page.frames if "/mcp/apps/" in frame.url][-1]
    [inner] = outer.child_frames
    wait_until(lambda: inner.evaluate("Boolean(window.ready)"))
    wait_until(lambda: inner.evaluate("Boolean(told.textContent)"))
    return inner


def shown(page: Page) -> Frame:
    say(page, json.dumps([("shop_orders", {"customer": "Ada"})]))
    finished(page)
    return app_of(page)


def question(page: Page):
    return page.locator(".app-asks [role=group]")


def allow(page: Page) -> None:
    """Answer as a person does, who clicks again if the page has moved: the button counts once it stands still."""
    button = question(page).get_by_role("button", name="Allow", exact=True)

    def press() -> bool:
        button.scroll_into_view_if_needed()
        button.click()
        drawn(page)
        return question(page).count() == 0

    wait_until(press)


@pytest.fixture(scope="module")
def hosting_project(site: LiveProject) -> Iterator[LiveProject]:
    """The project as in production, with an app."""
    with hosting_apps(site) as live:
        yield live
