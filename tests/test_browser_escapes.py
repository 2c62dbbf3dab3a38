"""Apps of other MCP servers can't break out of their frame; each attempt succeeds once its defences are taken out."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from escapes import Attempt, Defence, Scene
from escapes.browser import NAVIGATION, NETWORK, ORIGINS, WINDOWS
from escapes.page import REQUESTS, SPEECH, USER
from escapes.without import take_out
from hosting import hosting_apps, page_that_hosts, shown
from outside import Outside, listening
from pages import Browser, cookies_of, drawn
from playwright.sync_api import Error
from servers import LiveProject, wait_until

pytestmark = pytest.mark.browser

ATTEMPTS = [*ORIGINS, *NAVIGATION, *NETWORK, *WINDOWS, *SPEECH, *REQUESTS, *USER]
each_attempt = pytest.mark.parametrize("attempt", [pytest.param(attempt, id=attempt.name) for attempt in ATTEMPTS])


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with listening() as outside:
        yield outside


@pytest.fixture(scope="module")
def undefended(live_project: LiveProject) -> Iterator[LiveProject]:
    """The same project as developers see it: each module is a file of its own, whose lines a test can change."""
    with hosting_apps(live_project) as live:
        yield live


@pytest.fixture(scope="module")
def open_scene(browser: Browser, outside: Outside) -> Iterator[Callable[..., Scene]]:
    """Open an app in a page, of which some defences may be taken out. One page is open at a time."""
    cookies: dict[str, dict] = {}
    with ExitStack() as opened:

        def open_scene(live: LiveProject, without: tuple[Defence, ...] = ()) -> Scene:
            opened.close()
            if live.url not in cookies:
                cookies[live.url] = cookies_of(browser, live)
            page = opened.enter_context(page_that_hosts(browser, cookies[live.url]))
            if browser.browser_type.name == "chromium":
                # Nothing but our defences holds the attempts: the machine outside is in the local network.
                page.context.grant_permissions(
                    ["geolocation", "local-network-access", "clipboard-read", "clipboard-write"]
                )
            if without:
                take_out(page, without)
            page.goto(live.url)
            scene = Scene(page, shown(page), outside)
            scene.watch()
            return scene

        yield open_scene


@pytest.fixture(scope="module")
def shared(open_scene: Callable[..., Scene], hosting_project: LiveProject) -> Iterator[Callable[[], Scene]]:
    """One page for all attempts; one that has spoiled its app leaves a new one to the next."""
    kept: list[Scene] = []
    with listening() as outside:

        def scene_of_all() -> Scene:
            if not kept:
                kept.append(open_scene(hosting_project))
                kept[0].outside = outside
            [scene] = kept
            if scene.is_spoiled:
                scene.show_again()
            return scene

        yield scene_of_all
        # Nothing came late, either.
        assert (outside.paths, outside.datagrams) == ([], 0)


def run(scene: Scene, attempt: Attempt) -> None:
    scene.begin(attempt.name)
    if attempt.prepare:
        attempt.prepare(scene)
    names = f"""const NAME = "{attempt.name}", OUT = "{scene.outside.url}/" + NAME;
        const SITE = (path) => "{scene.page.url.partition("/?")[0]}" + path + "?" + NAME;"""
    scene.app.evaluate(f"""() => {{
        {names}
        window.result = "pending";
        attempt(async () => {attempt.script}).then((result) => {{ window.result = result; }});
    }}""")


def settled(scene: Scene) -> Scene:
    """What an attempt has begun is done: the page has read its messages, and drawn what came of them."""
    if scene.page.url.startswith("http://127.0.0.1") and scene.frame.count():
        scene.page.evaluate("() => fetch('/livez')")
        drawn(scene.page)
    read_result(scene)
    return scene


def read_result(scene: Scene) -> None:
    # An app that has left can't say anything any more.
    with suppress(Error):
        if not scene.app.is_detached():
            scene.result = scene.app.evaluate("String(window.result)")


def succeeds(scene: Scene, attempt: Attempt) -> bool:
    read_result(scene)
    return bool(attempt.proof(scene))


@each_attempt
def test_attempt_fails(shared: Callable[[], Scene], browser: Browser, attempt: Attempt):
    scene = shared()
    scene.is_spoiled = attempt.spoils
    run(scene, attempt)
    if attempt.gap == browser.browser_type.name:
        # A browser that has closed the gap makes this fail.
        wait_until(lambda: succeeds(scene, attempt) or scene.page.wait_for_timeout(20))
        return
    assert not succeeds(settled(scene), attempt)


@pytest.mark.nightly
@each_attempt
def test_attempt_succeeds_without_its_defences(
    open_scene: Callable[..., Scene], undefended: LiveProject, browser: Browser, attempt: Attempt
):
    scene = open_scene(undefended, attempt.defences)
    run(scene, attempt)
    if attempt.only not in ("", browser.browser_type.name):
        assert not succeeds(settled(scene), attempt), "this browser doesn't hold it any more"
        return
    wait_until(lambda: succeeds(scene, attempt) or scene.page.wait_for_timeout(20))
