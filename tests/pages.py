"""What the tests of the page share: a model that does as it is told, a signed-in page, and how to use it."""

import os
import re
import select
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, Request, Route, expect, sync_playwright
from servers import LiveProject, serve, wait_until

SECONDS = 90  # only to end a hang: a busy machine is no failure
expect.set_options(timeout=SECONDS * 1000)

# Without its own windows and menus, which nobody sees, Chromium takes a third less of the processors.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or shutil.which("chromium-browser")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
# To draw pages as a graphics card would takes a tenth more of the processors.
FLAGS += ["--disable-gpu", "--disable-gpu-compositing", "--disable-software-rasterizer"]
# A microphone that beeps, and that every page may use.
FLAGS += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]

PHONE = {"viewport": {"width": 380, "height": 700}, "has_touch": True, "is_mobile": True}
SLOW_ANSWER = " ".join(f"word{number}" for number in range(40)) + " end."


class Proxy:
    """Passes bytes on to the server, until its connections are cut."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.open: list[socket.socket] = []
        self.requests: list[bytes] = []
        self.latest: dict[socket.socket, bytes] = {}
        self.asleep: set[socket.socket] = set()
        self.is_asleep = False
        self.is_down = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def cut(self) -> None:
        """Drop every connection: what a change of network does."""
        for connection in self.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.open.clear()

    def sleep(self) -> None:
        """Let the runs that are followed fall silent for ever: what sleep, or a change of network, may do."""
        runs = [one for one, request in self.latest.items() if b" /agent/ " in request or b"/events/ " in request]
        self.asleep |= set(runs)

    def close(self) -> None:
        self.listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                if self.is_down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.target))
                self.open += [client, server]
                self.asleep |= {client} if self.is_asleep else set()
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError, ValueError), client, server:
            while True:
                for readable in select.select([client, server], [], [])[0]:
                    data = readable.recv(65536)
                    if not data:
                        return
                    if client in self.asleep:
                        continue
                    if readable is client:
                        self.requests.append(data)
                        if b" HTTP/1.1\r\n" in data:  # a body may come by itself
                            self.latest[client] = data
                    (server if readable is client else client).sendall(data)


# --- Fixtures


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    if os.environ.get("BROWSER") == "firefox":
        yield from launch_firefox(playwright)
        return
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    with closing(playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)) as browser:
        yield browser


def launch_firefox(playwright: Playwright, **options) -> Iterator[Browser]:
    """Firefox as Debian or Mozilla ships it: this channel speaks WebDriver BiDi with it."""
    if not FIREFOX:
        pytest.skip("firefox is not installed")
    with tempfile.TemporaryDirectory() as directory:
        start = Path(directory) / "firefox"
        start.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -B "{Path(__file__).with_name("firefox.py")}" "{FIREFOX}" "$@"\n'
        )
        start.chmod(0o700)
        with closing(playwright.firefox.launch(channel="moz-firefox", executable_path=start, **options)) as browser:
            yield browser


@pytest.fixture(scope="session")
def scripted_project(site: LiveProject) -> Iterator[LiveProject]:
    """The same project, served by a second process with the model of page_model.py."""
    shutil.copy(Path(__file__).with_name("page_model.py"), site.path / "scripted.py")
    (site.path / "scripted.gate").touch()
    with serve(site.path, AGENT_MODEL="python:scripted.model") as live:
        yield live


@pytest.fixture
def new_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    """Open pages; errors of any script, and refusals of the Content-Security-Policy, fail the test."""
    errors: list[str] = []
    pages: list[Page] = []

    def open_page(url: str = "", **options) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | options))
        context.set_default_timeout(SECONDS * 1000)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: errors.append(m.text) if "Content Security Policy" in m.text else None)
        pages.append(page)
        if url:
            page.goto(url)
        return page

    yield open_page
    if directory := os.environ.get("SCREENSHOTS"):
        for number, page in enumerate(pages):
            page.screenshot(path=Path(directory) / f"{request.node.name}-{number}.png")
    for page in pages:
        if not page.is_closed():
            page.unroute_all(behavior="ignoreErrors")  # of a request that is still on its way
        page.context.close()
    assert errors == []


@pytest.fixture(scope="session")
def signed_in(browser: Browser, site: LiveProject) -> dict:
    """The cookies of somebody who has signed in, good for both servers: they share a database."""
    return cookies_of(browser, site)


def cookies_of(browser: Browser, live: LiveProject) -> dict:
    """The cookies of the administrator, after signing in."""
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(live.url)
        sign_in(page, live)
        return context.storage_state()


@pytest.fixture
def open_page(new_page: Callable[..., Page], site: LiveProject, signed_in: dict) -> Callable[..., Page]:
    """Open signed-in pages on the demo model: `open_page(viewport=...)`, and with no path one that has yet to go."""

    def open_page(path: str | None = "/", **options) -> Page:
        return new_page("" if path is None else site.url + path, storage_state=signed_in, **options)

    return open_page


@pytest.fixture
def chat(open_page: Callable[..., Page]) -> Page:
    return open_page()


@pytest.fixture
def scripted(new_page: Callable[..., Page], scripted_project: LiveProject, signed_in: dict) -> Page:
    """A signed-in page on the model of page_model.py."""
    return new_page(scripted_project.url, storage_state=signed_in)


@pytest.fixture
def go_on(scripted_project: LiveProject) -> Callable[[], None]:
    """Let the slow answer come to its end, once some of it has been seen."""
    return (scripted_project.path / "scripted.gate").touch


# --- How to use a page


def sign_in(page: Page, live: LiveProject) -> Page:
    page.get_by_label("Username").fill(live.username)
    page.get_by_label("Password").fill(live.password)
    page.get_by_role("button", name="Sign in").click()
    expect(message_box(page)).to_be_visible()
    return page


def speak(page: Page, url: str, language: str, change: Callable[[str], str] = str) -> None:
    """Serve the page as a project in this language would."""

    def answer(route: Route) -> None:
        response = route.fetch()
        tag = f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}">'
        text, count = re.subn(r"<html [^>]*>", tag, response.text())
        assert count == 1
        route.fulfill(response=response, body=change(text))

    page.route(re.compile(re.escape(url) + r"/(\?.*)?$"), answer)


def message_box(page: Page):
    return page.get_by_role("textbox", name="Your message")


def say(page: Page, text: str) -> None:
    message_box(page).fill(text)
    # Nothing is sent into a conversation that is not there yet.
    page.wait_for_function("() => !document.querySelector('agui-chat').session.loading")
    message_box(page).press("Enter")
    drawn(page)


def hear(page: Page, text: str) -> None:
    """Say it, and hear the answer to its end."""
    say(page, text)
    finished(page)


def new_chat(page: Page) -> None:
    """Begin an empty conversation in the same page."""
    page.get_by_role("button", name="New chat").first.click()
    expect(page.locator(".messages .message")).to_have_count(0)


def seen(page: Page, text: str) -> None:
    """Say it, see the answer, and wait until the server knows that: nothing is on its way any more."""
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        hear(page, text)


def open_stream(page: Page):
    """Start a run whose events come when they are pushed."""
    page.locator("agui-chat").evaluate("""chat => {
        const headers = { "Content-Type": "text/event-stream" };
        const text = new TextEncoder();
        window.push = undefined;
        chat.request = async (url) => new Response(new ReadableStream({ start: (stream) => {
            if (new URL(url, location).pathname !== "/agent/") return;
            window.push = (event) => stream.enqueue(text.encode(`data: ${JSON.stringify(event)}\\n\\n`));
        } }), { headers });
    }""")
    say(page, "hello")
    page.wait_for_function("() => window.push !== undefined")

    def push(*events: dict) -> None:
        page.evaluate("events => events.forEach(push)", list(events))

    push({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    return push


def drawn(page: Page) -> None:
    """The page draws once a frame: what follows is to see what it drew."""
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def keep_picture(page: Page, path: Path) -> None:
    """Take a small picture of the page. `make picture` keeps it in the manual."""
    message_box(page).blur()
    page.set_viewport_size({"width": 760, "height": 480})
    drawn(page)
    path = Path(os.environ.get("MANUAL_PICTURES") or path.parent) / path.name
    page.screenshot(path=path, animations="disabled", caret="hide")
    assert path.stat().st_size < 60_000


def finished(page: Page) -> None:
    """Wait until the run has ended that has just begun: the button sends again."""
    drawn(page)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


def noted(page: Page, pick: Callable[[Request], object]) -> list:
    """What this makes of the page's requests from now on."""
    found: list = []

    def note(request: Request) -> None:
        if picked := pick(request):
            found.append(picked)

    page.on("request", note)
    return found


def asked(page: Page, pattern: str = "") -> list[str]:
    """The addresses that the page asks for from now on."""
    return noted(page, lambda request: re.search(pattern, request.url) and request.url)


def runs_of(page: Page) -> list[dict]:
    """The bodies of the runs that the page asks for from now on."""
    return noted(page, lambda r: r.method == "POST" and r.url.endswith("/agent/") and r.post_data_json)


def hold(page: Page, url: str | re.Pattern[str]) -> list[Route]:
    """Hold these requests back: `first` waits for one of them."""
    held: list[Route] = []
    page.route(url, lambda route: held.append(route))
    return held


def first(page: Page, held: list[Route]) -> Route:
    """The first request that a test holds back, as soon as it has come."""
    # Playwright hands requests over only while a test waits for the page.
    return wait_until(lambda: held or page.wait_for_timeout(10))[0]


def answers(page: Page) -> list[str]:
    return page.locator(".assistant .prose:visible").all_inner_texts()


def thread_id(page: Page) -> str:
    """What the page itself says: Playwright hears of a new address a little later."""
    return page.wait_for_function("() => new URLSearchParams(location.search).get('thread')").json_value()


def origin(page: Page) -> str:
    return page.evaluate("location.origin")


def stored(page: Page) -> dict:
    """The conversation as the server has it."""
    return page.request.get(f"{origin(page)}/agent/threads/{thread_id(page)}/").json()


def stored_texts(page: Page, role: str) -> list[str]:
    return [m["content"] for m in stored(page)["messages"] if m["role"] == role and m.get("content")]
