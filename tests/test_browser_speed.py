"""How much the page loads, and how long it keeps the reader waiting, with production's static files."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, element_modules, npm_install, page_folders
from page_costs import IDLE, answer, open_thread, settle, stream
from pages import Page, expect, hear, new_chat, sign_in
from playwright.sync_api import Response
from servers import LiveProject, wait_until
from test_javascript import run_element_tests

pytestmark = pytest.mark.browser

# All that the page loads for the element: at first, and with an answer and what its tool has done.
MAX_GZIPPED_BYTES_AT_FIRST = 32_000
MAX_GZIPPED_BYTES_IN_USE = 50_000
MAX_GZIPPED_BYTES_WHEN_IDLE = 6_000
# What nobody needs to read a plain answer.
ON_DEMAND = re.compile(
    r"attach|uploads|palette|question|drawer|chart|schema|placement|copy|undo|editor|judging|versions|rare|refused|formula|shapes"
)


@pytest.fixture(scope="session")
def collected(site: LiveProject) -> dict[str, str]:
    """The names of the static files, as `collectstatic` has made them."""
    return json.loads((site.path / "staticfiles/staticfiles.json").read_text())["paths"]


def loaded(page: Page) -> list[Response]:
    """The files that the page loads from now on."""
    responses: list[Response] = []

    def note(response: Response) -> None:
        if re.search(r"/static/(agui\w*|vendor)/", response.url) and response.ok:
            responses.append(response)

    page.on("response", note)
    return responses


def weigh(responses: list[Response]) -> dict[str, int]:
    """The weight of each file, compressed as it came, or as a server would."""
    weights: dict[str, int] = {}
    for response in responses:
        compressed = response.headers.get("content-encoding") and response.headers.get("content-length")
        size = int(compressed) if compressed else len(gzip.compress(response.body(), 9))
        weights[response.url.split("/static/")[1]] = size
    return weights


def total(weights: dict[str, int]) -> int:
    for name, weight in sorted(weights.items(), key=lambda item: -item[1]):
        print(f"{weight:7} {name}")
    print(f"{sum(weights.values()):7} in all")
    return sum(weights.values())


def read_an_answer(page: Page) -> None:
    """And what two tools have done: the fields of a task, and a table of all."""
    # The page's own view of this tool is no part of the chat.
    page.locator("agui-chat").evaluate("chat => chat.registerToolView('list_tasks', {})()")
    for text in ('add_task title="Buy milk"', "list tasks"):
        hear(page, text)
        page.locator(".tool summary").last.click()
    expect(page.locator(".prose code").first).to_be_visible()
    expect(page.get_by_role("button", name="Copy the answer").last).to_be_attached()
    expect(page.locator(".tool table")).to_be_visible()


def parted(weights: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Part what the user needs from what is loaded when nothing else is to do."""
    idle = {name: weight for name, weight in weights.items() if IDLE.search(name)}
    return {name: weight for name, weight in weights.items() if name not in idle}, idle


def wait_for_idle_modules(page: Page, responses: list[Response]) -> None:
    """Wait until the page has loaded them, and all that they import."""

    def addresses() -> list[str]:
        return [response.url for response in responses if IDLE.search(response.url)]

    wait_until(lambda: len(addresses()) == 5 or page.wait_for_timeout(50))
    page.evaluate("addresses => Promise.all(addresses.map((address) => import(address)))", addresses())


def test_page_is_light_in_use(new_page, site):
    page = new_page()
    responses = loaded(page)
    page.goto(site.url)
    sign_in(page, site)
    page.wait_for_load_state("networkidle")
    first, _ = parted(weigh(responses))
    assert total(first) < MAX_GZIPPED_BYTES_AT_FIRST
    read_an_answer(page)
    wait_for_idle_modules(page, responses)
    weights, idle = parted(weigh(responses))
    assert total(idle) < MAX_GZIPPED_BYTES_WHEN_IDLE
    assert total(first) < total(weights) < MAX_GZIPPED_BYTES_IN_USE
    assert not [name for name in weights if ON_DEMAND.search(name)]
    assert len(weights) < 10


@pytest.mark.nightly
def test_collected_modules_import_nothing_that_may_be_stale(site, collected):
    folders = {folder.name for folder in page_folders(site.path / "agui")}
    for name, hashed in collected.items():
        if name.partition("/")[0] not in folders or not name.endswith(".js"):
            continue
        path = site.path / "staticfiles" / hashed
        text = path.read_text()
        # The table of entities and the styles in modules are texts of many lines, which stay.
        code = re.sub(r"`\n[.@:][^`]*`", "", text)
        if name != "agui/markdown/entities.js":
            assert code.count("\n") < 1 + len(code) / 100, name
        for imported in re.findall(r"""(?:from|import)\s*\(?["'](\.[^"']+)["']""", text):
            assert path.parent.joinpath(imported).exists(), (name, imported)
            assert re.search(r"\.[0-9a-f]{12}\.js$", imported), (name, imported)


def test_no_module_hides_a_name_of_the_browser(chat, site):
    """Modules that are joined share a scope: where one declares `open`, all others would find it."""
    names = chat.evaluate("() => { const all = []; for (const name in window) all.push(name); return all; }")
    names += chat.evaluate("() => Object.getOwnPropertyNames(window)")
    assert {"open", "status", "Text"} <= set(names)
    for path in element_modules(site.path / "agui"):
        declared = re.findall(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) (\w+)", path.read_text(), re.M)
        assert not set(declared) & set(names), path.name


def test_no_module_of_production_uses_a_name_before_it_is_declared(collected, site, tmp_path: Path):
    """As the minifier has made of some of them."""
    modules = npm_install(ROOT / "tests/element/package.json")
    shutil.copy(ROOT / "tests/element/declared-first.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(modules)

    def find_faults(*paths: Path) -> str:
        command = ["node", "declared-first.mjs", *paths]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60).stdout

    wrong = tmp_path / "wrong.js"
    wrong.write_text("function f(e){const{word:n}={...W,...t.strings},t=e.host;return()=>later(n);const later=1}")
    assert find_faults(wrong).count("\n") == 1
    ours = {folder.name for folder in page_folders(site.path / "agui")}
    names = [hashed for name, hashed in collected.items() if name.partition("/")[0] in ours and name.endswith(".js")]
    assert len(names) > 100
    assert find_faults(*(site.path / "staticfiles" / name for name in names)) == ""


LEAN = """
import sys
from pathlib import Path
from agui.contrib.bundle.storage import minified
for path in (path for folder in sys.argv[1:] for path in Path(folder).rglob("*.js")):
    path.write_text(minified(path.name, path.read_text()))
"""


@pytest.mark.nightly
def test_minified_modules_pass_their_tests(site, environment: Path, tmp_path: Path):
    for part in ("agui", "config"):
        shutil.copytree(site.path / part, tmp_path / part)
    subprocess.run(
        [environment / "bin/python", "-c", LEAN, *page_folders(tmp_path / "agui")], cwd=tmp_path, check=True, timeout=60
    )
    run_element_tests(tmp_path / "element", tmp_path / "agui", sweep=0)


# --- Long threads


def messages(page: Page):
    return page.locator(".message")


def test_long_thread_opens_at_its_end_and_earlier_messages_come_as_the_reader_scrolls_up(chat):
    cost = open_thread(chat, 2000)
    print(cost)
    assert cost["main_ms"] < 1000  # of processor time: an idle machine takes a quarter of that
    expect(messages(chat)).to_have_count(20)
    expect(chat.get_by_text("Answer 1999.")).to_be_in_viewport()
    # Nothing moves when earlier messages come.
    expect(chat.locator(".prose code").last).to_be_visible()  # Markdown has its own height, and comes after the text
    settle(chat)
    first = chat.get_by_text("Question 1982", exact=True)
    place = first.evaluate(
        """bubble => {
            bubble.closest(".log").scrollTop = 400;
            return bubble.getBoundingClientRect().top;
        }"""
    )
    expect(chat.get_by_text("Question 1960", exact=True)).to_be_attached()
    settle(chat)
    expect(messages(chat)).to_have_count(40)
    expect(chat.locator(".actions")).to_have_count(40)
    # But for a toolbar that came near: messages have been put above it, which a busy browser lays out later.
    stays = "([bubble, place]) => Math.abs(bubble.getBoundingClientRect().top - place) < 40"
    chat.wait_for_function(stays, arg=[first.element_handle(), place])
    # By the keyboard there is a button; it goes when there is nothing before.
    earlier = chat.get_by_role("button", name="Show earlier messages")
    earlier.focus()
    earlier.press("Enter")
    expect(chat.get_by_text("Question 1940", exact=True)).to_be_attached()
    # Another thread has nothing of a long one.
    chat.get_by_role("button", name="New chat").first.click()
    expect(chat.locator(".message")).to_have_count(0)
    hear(chat, "list tasks")
    assert messages(chat).count() < 10
    # It is drawn in whole turns: the toolbar of an answer copies all of it, so none begins in the middle of one.
    new_chat(chat)
    open_thread(chat, 2001)
    expect(chat.locator(".messages > :first-child")).to_have_class("message user")
    expect(messages(chat)).to_have_count(21)


def test_frames_of_a_stream_touch_only_what_is_written(chat):
    open_thread(chat, 2000)
    expect(chat.locator(".prose .keyword").last).to_be_visible()  # what reads Markdown and code has been used
    settle(chat)
    chat.evaluate(
        """() => {
            window.touched = new Set();
            const list = document.querySelector("agui-chat").shadowRoot.querySelector(".messages");
            new MutationObserver((records) => {
                for (const { target } of records) touched.add(target.parentElement?.closest(".prose"));
            }).observe(list, { childList: true, subtree: true, characterData: true });
        }"""
    )
    cost = stream(chat, answer(1))
    print(cost)
    assert chat.evaluate("[...touched].filter(Boolean).map((prose) => prose.innerText.slice(0, 6))") == ["Part 0"]
    assert cost["layouts"] < 2 * cost["frames"]
