"""Tools, state and context of the page, in a real Chromium, against the live generated project."""

import json
import re
from collections.abc import Callable

import pytest
from conftest import MANUAL
from pages import (
    Page,
    answers,
    drawn,
    expect,
    finished,
    first,
    hear,
    hold,
    message_box,
    new_chat,
    runs_of,
    say,
    stored_texts,
    thread_id,
)
from servers import LiveProject

pytestmark = pytest.mark.browser

TOOLS = """
customElements.whenDefined("agui-chat").then(() => {
  const chat = document.querySelector("agui-chat");
  const count = (name) => localStorage.setItem(name, Number(localStorage.getItem(name) ?? 0) + 1);
  const tools = {
    echo: { handler: (args) => (count("echo"), args) },
    hang: { handler: (_, { signal }) => {
      count("hang");
      signal.addEventListener("abort", () => count("aborted"));
      return new Promise(() => {});
    } },
    leave: { handler: () => (count("leave"), location.reload(), new Promise(() => {})) },
    wipe: { destructive: true, confirm: "Wipe it?", summary: "Wipe the board", handler: () => count("wipe") },
  };
  for (const [name, tool] of Object.entries(tools)) chat.registerTool({ name, description: name, ...tool });
});
"""


@pytest.fixture
def tools(new_page: Callable[..., Page], scripted_project: LiveProject, signed_in: dict) -> Page:
    """A signed-in page that registers the tools above."""
    page = new_page(storage_state=signed_in)
    page.context.add_init_script(TOOLS)
    page.goto(scripted_project.url)
    return page


def call(page: Page, *calls: tuple[str, object]) -> None:
    say(page, json.dumps(calls))


def counted(page: Page, name: str) -> int:
    return int(page.evaluate("(name) => localStorage.getItem(name)", name) or 0)


def card(page: Page, name: str):
    return page.locator(".tool", has_text=re.compile(name))  # As it is written: "Change" has no "Hang".


def hangs(page: Page, times: int = 1) -> None:
    """Not only called, but begun."""
    page.wait_for_function("times => localStorage.getItem('hang') === `${times}`", arg=times)
    expect(card(page, "Hang")).to_have_attribute("data-status", "running")


def deny(question) -> None:
    """Deny without giving a reason."""
    for _ in range(2):
        question.get_by_role("button", name="Deny").click()


# --- The example


RED = "e => +getComputedStyle(e).backgroundColor.match(/[\\d.]+/)[0]"


def test_page_has_the_systems_colours_until_the_example_changes_the_theme_for_good(chat):
    panel = chat.locator(".panel")
    for scheme in ("dark", "light"):
        chat.emulate_media(color_scheme=scheme)
        assert (panel.evaluate(RED) > 128) == (scheme == "light")
    bodies = runs_of(chat)
    language = chat.evaluate("document.documentElement.lang")
    say(chat, "use the dark theme")
    expect(card(chat, "Change the theme")).to_have_attribute("data-status", "success")
    finished(chat)
    assert {"description": "Language of the page", "value": language} in bodies[0]["context"]
    assert [tool["name"] for tool in bodies[0]["tools"]] == ["set_theme"]
    assert "The theme is now dark." in answers(chat)[-1]
    chat.reload()
    expect(chat.locator("html")).to_have_attribute("data-theme", "dark")
    for place in ("body", ".panel"):
        assert chat.locator(place).evaluate("e => getComputedStyle(e).colorScheme") == "dark"
    assert panel.evaluate(RED) < 128
    say(chat, "use the auto theme")
    expect(chat.locator("html")).to_have_attribute("data-theme", "auto")
    finished(chat)


def test_page_looks_busy_until_its_tools_have_given_what_they_return(tools):
    held = hold(tools, "**/page-turn*.js")
    with tools.expect_request("**/page-turn*.js"):
        call(tools, ("echo", {"text": "hi"}))
    drawn(tools)
    assert tools.get_by_role("button", name="Stop").is_visible()
    assert not tools.get_by_role("button", name="Send", exact=True).is_visible()
    first(tools, held).continue_()
    finished(tools)
    assert "echo gave" in answers(tools)[-1]


# --- What a handler gives


def test_handler_that_hangs_is_stopped_and_the_user_goes_on(tools):
    call(tools, ("hang", {}))
    hangs(tools)
    tools.get_by_role("button", name="Stop").click()
    expect(tools.get_by_text("Stopped.")).to_be_visible()
    tools.wait_for_function("() => localStorage.getItem('aborted') === '1'")
    tools.reload()
    expect(card(tools, "Hang")).to_have_attribute("data-status", "left")
    say(tools, "hello")
    expect(tools.locator(".assistant .prose", has_text="end.")).to_be_visible()
    assert counted(tools, "hang") == 1


# --- Asked first


def test_destructive_tool_is_asked_about_in_its_card(tools):
    call(tools, ("wipe", {}))
    deny(card(tools, "Wipe the board").get_by_role("group", name="Wipe it?"))
    finished(tools)
    tools.reload()  # The server has kept the outcome.
    expect(card(tools, "Wipe the board")).to_have_attribute("data-status", "denied")
    assert counted(tools, "wipe") == 0


def test_tools_of_page_and_server_are_answered_together(tools):
    call(tools, ("wipe", {}), ("echo", {"b": 2}), ("delete_finished_tasks", {}))
    expect(tools.get_by_role("button", name="Approve")).to_have_count(2)
    expect(card(tools, "Echo")).to_have_attribute("data-status", "success")
    tools.reload()
    expect(card(tools, "Echo")).to_have_attribute("data-status", "success")
    bodies = runs_of(tools)
    card(tools, "Delete finished").get_by_role("button", name="Approve").click()
    assert not bodies
    assert counted(tools, "wipe") == 0
    card(tools, "Wipe").get_by_role("button", name="Approve").click()
    expect(tools.locator(".tool[data-status=success]")).to_have_count(3)
    finished(tools)
    [body] = bodies
    assert (len(body["resume"]), len(body["messages"])) == (1, 2)
    assert (counted(tools, "echo"), counted(tools, "wipe")) == (1, 1)


# --- Reloads, tabs, and pages that know nothing


def test_call_that_comes_after_a_reload_is_answered_once_and_by_one_tab(tools, scripted_project):
    call(tools, ("wait", "reloaded"), ("echo", {}))
    thread = thread_id(tools)
    other = tools.context.new_page()
    other.goto(f"{scripted_project.url}/?thread={thread}")
    tools.reload()
    expect(tools.get_by_role("button", name="Stop")).to_be_visible()
    expect(other.get_by_role("button", name="Stop")).to_be_visible()
    (scripted_project.path / "reloaded").touch()
    expect(tools.locator(".assistant .prose", has_text="echo gave")).to_be_visible()
    expect(other.locator(".assistant .prose", has_text="echo gave")).to_be_visible()
    assert counted(tools, "echo") == 1
    assert len(stored_texts(tools, "tool")) == 1


def test_tool_that_leaves_the_page_does_so_once(tools):
    message_box(tools).fill(json.dumps([("leave", {})]))
    message_box(tools).press("Enter")
    expect(tools.locator(".assistant .prose", has_text="The page was left")).to_be_visible()
    assert counted(tools, "leave") == 1


def test_page_without_the_tool_or_with_another_call_goes_on(tools, new_page, signed_in, scripted_project):
    call(tools, ("hang", {}), ("delete_finished_tasks", {}))
    hangs(tools)
    other = new_page(f"{scripted_project.url}/?thread={thread_id(tools)}", storage_state=signed_in)
    deny(other.locator(".question"))
    expect(card(other, "Hang")).to_have_attribute("data-status", "failed")
    expect(other.locator(".assistant .prose", has_text="This page has no tool")).to_be_visible()
    # The call of another page is left alone.
    new_chat(tools)
    call(tools, ("hang", {}))
    hangs(tools, times=2)
    other.goto(f"{scripted_project.url}/?thread={thread_id(tools)}")
    expect(card(other, "Hang")).to_have_attribute("data-status", "left")
    say(other, "hello")
    expect(other.locator(".assistant .prose", has_text="end.")).to_be_visible()


# --- What comes early


def test_what_a_page_sets_before_the_element_is_defined_counts(open_page, site):
    page = open_page(None)
    page.add_init_script("""document.addEventListener("readystatechange", () => {
        const chat = document.querySelector("agui-chat");
        if (!chat || chat.threadId !== undefined) return;
        chat.tools = [{ name: "early", description: "Early bird", handler: () => "caught the worm" }];
        chat.state = { category: "early" };
        chat.getContext = () => [{ description: "When", value: "early" }];
    }, { once: true })""")
    bodies = runs_of(page)
    page.goto(site.url)
    say(page, "early")
    expect(card(page, "Early")).to_have_attribute("data-status", "success")
    finished(page)
    assert bodies[0]["state"] == {"category": "early"}
    assert "caught the worm" in answers(page)[-1]


def test_examples_of_the_manual_do_what_they_say(chat):
    manual = (MANUAL / "page.md").read_text().partition("\n## Let users send files\n")[0]
    examples = "\n".join(re.findall(r"^```js\n(.*?)^```$", manual, re.M | re.S))
    chat.evaluate("document.body.append(Object.assign(document.createElement('p'), { id: 'task-7' }))")
    chat.evaluate(f"async () => {{ {examples} }}")
    assert chat.evaluate("document.body.dataset.category") == "work"
    message_box(chat).fill("hi")
    chat.get_by_role("button", name="Shout").click()
    expect(message_box(chat)).to_have_value("HI")
    bodies = runs_of(chat)
    say(chat, "show_task task_id=8")
    expect(card(chat, "Show a task")).to_have_attribute("data-status", "failed")
    finished(chat)
    assert "There is no task 8 on this page." in answers(chat)[-1]
    say(chat, "show_task task_id=7")
    expect(card(chat, "Show a task").last).to_have_attribute("data-status", "success")
    finished(chat)
    hear(chat, "page_title")
    assert chat.title() in answers(chat)[-1]
    assert bodies[0]["state"] == {"category": "work"}
    assert [one["description"] for one in bodies[0]["context"]] == ["The page that the user looks at", "Selected text"]
