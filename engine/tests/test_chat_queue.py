"""`manage.py chat` while the agent works: what is typed then waits, is read, edited, taken back and never lost."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import AsyncMock

import pytest

from agui.contrib.client import AGUIClient, AGUIStatusError
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.terminal import message_queue
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.keyboard import Keyboard, Listener
from agui.contrib.terminal.message_queue import MessageQueue, Stand
from agui.models import Run, get_conversation_model
from agui.testing import Pause, call, fail, say
from tests.conftest import parts_of, until

Thread = get_conversation_model()

pytestmark = pytest.mark.usefixtures("user")

ALT = "\x1b"


class Keys:
    """The keyboard of a person, who types in the midst of a script."""

    listener: Any = None

    @contextmanager
    def watched(self, listener: Listener) -> Iterator[None]:
        self.listener = listener
        yield

    def type(self, line: str) -> None:
        self.listener.hear(line.removesuffix(ALT), line.endswith(ALT))

    def waiting(self) -> list[str]:
        return [row.message["content"] for row in self.listener._conversation.waiting]


@pytest.fixture
def keys(monkeypatch):
    keys = Keys()
    monkeypatch.setattr(Keyboard, "watched", lambda _, listener: keys.watched(listener))
    return keys


@dataclass(frozen=True)
class Typed(Pause):
    """The person types lines; the model waits until these texts wait, or for ever."""

    keys: Keys | None = None
    lines: tuple[str, ...] = ()
    texts: tuple[str, ...] | None = ()
    kept: tuple[str, ...] = ()
    """What waits for the next prompt."""
    then: Callable[[], Any] = bool

    async def happen(self) -> None:
        for line in self.lines:
            self.keys.type(line)
        if self.texts is None:
            await asyncio.Future()
        await until(lambda: self.keys.waiting() == [*self.texts])
        await until(lambda: {*self.kept} <= {*self.keys.listener._keyboard._typed})
        self.then()


def typed(keys: Keys, *lines: str, waits: str | None = "", **options: Any) -> Typed:
    texts = None if waits is None else tuple(waits.split())
    return Typed(keys=keys, lines=lines, texts=texts, **options)


def prompts_of(told: Any) -> list[list[str]]:
    """The user's words in each request, those of the earlier ones left out."""
    seen: list[str] = []
    new = []
    for request in told.requests:
        texts = [part.content for part in parts_of(request) if part.part_kind == "user-prompt"]
        new.append(texts[len(seen) :])
        seen = texts
    return new


def in_order(printed: str, *words: str) -> bool:
    places = [printed.index(word) for word in words]
    return places == sorted(places)


# --- Enter


def test_what_is_typed_is_read_after_the_answer_and_may_be_followed_by_more(keys, talk):
    first, second = typed(keys, "then?", "last?", waits="then? last?"), typed(keys, "b", waits="b")
    answers = [[say("One."), first], [say("Two."), second], say("Three."), say("Four.")]
    told = talk(*answers, lines=["Go", "Hello again"])
    assert prompts_of(told) == [["Go"], ["then?", "last?"], ["b"], ["Hello again"]]
    assert len(told.requests[-1].messages) == 7
    assert in_order(told.out, "One.", "> then?", "> last?", "Two.", "> b", "Three.", "Four.")
    assert "read while it worked" not in told.out
    assert not QueuedMessage.objects.filter(state="waiting").exists()
    assert Thread.objects.count() == 1


def stand(held: str | None = None, run: str = "", *ids: str) -> dict[str, Any]:
    messages = [{"message_id": key, "message": {"id": key, "content": ""}, "mode": "queue"} for key in ids]
    return {"messages": messages, "held": held, "run": {"run_id": run} if run else None}


WAITS, NEW = stand("finished", "", "a"), stand(None, "new")


@pytest.mark.parametrize(
    ("answers", "asked", "expected"),
    [
        ([stand("failed", "", "a")], "GET", Stand(held="failed")),
        ([stand(None, "new", "a")], "GET", Stand("new")),
        ([stand(None, "old", "a"), WAITS, NEW], "GET GET GET", Stand("new")),
        ([stand("finished")], "GET", Stand(held="finished")),
        ([AGUIStatusError("u", 404, "None")], "GET", Stand()),
        ([WAITS, WAITS, NEW], "GET GET POST", Stand("new")),
        ([WAITS, WAITS, AGUIStatusError("u", 409, "Busy", "conflict"), NEW], "GET GET POST GET", Stand("new")),
    ],
)
async def test_what_follows_is_certain_before_the_prompt(answers, asked, expected, monkeypatch):
    """A run that ends or begins is waited for; one that does not begin is begun."""
    monkeypatch.setattr(message_queue, "LOOKS", 3 if asked == "GET GET GET" else 2)
    server, conversation = AsyncMock(), Conversation("t1")
    server.queue.side_effect = answers
    conversation.run_id = "old"
    assert await MessageQueue(server).settled(conversation) == expected
    assert " ".join(one.args[0] for one in server.queue.await_args_list) == asked


def test_lines_before_a_run_has_begun_are_kept(keys, talk, monkeypatch):
    """The server refuses the run, so nothing is sent beside it: a message would begin another one."""
    run = AGUIClient.run

    async def refuse(self: AGUIClient, run_input: Any) -> Any:
        monkeypatch.setattr(AGUIClient, "run", run)
        keys.type("one")
        raise AGUIStatusError(self.name, 503, "The server is busy.")
        yield

    monkeypatch.setattr(AGUIClient, "run", refuse)
    told = talk(say("Hi."), lines=["Go"])
    assert told.requests[0].prompt == "one"
    assert not QueuedMessage.objects.exists()
    assert "> one" in told.out


@pytest.mark.parametrize("line", ["Stop" + ALT, "/steer Stop"])
def test_a_message_is_read_at_the_next_step_and_not_twice(line, keys, talk):
    """The client's copy of the thread has what was read, at its place."""
    answers = [[typed(keys, line, waits="Stop"), call("echo", text="one")], say("Done."), say("Hi.")]
    told = talk(*answers, lines=["Go", "Hello again"])
    assert prompts_of(told) == [["Go"], ["Stop"], ["Hello again"]]
    assert in_order(told.out, "✓ echo", "> Stop  (read while it worked)", "Done.")
    assert Run.objects.count() == 2


def test_what_waits_is_edited_and_taken_back(keys, talk):
    lines = ("one", "two", "three", "/edit 1 ONE", "/drop 2", "/queue", "/drop 7", "/drop")
    told = talk([say("One."), typed(keys, *lines, waits="ONE three")], say("Two."), lines=["Go"])
    assert prompts_of(told) == [["Go"], ["ONE", "three"]]
    assert "Taken back: 2" in told.out
    assert "  1  ONE\n  3  three\n" in told.out
    assert told.out.count("Which one? /drop N takes a number of /queue.") == 2
    assert QueuedMessage.objects.get(state="taken_back")


def test_edit_alone_puts_the_text_into_the_line(keys, talk):
    lines: list[str] = []

    def look() -> None:
        lines.append(keys.listener._keyboard.unfinished)

    talk([typed(keys, "one", "/edit 1", "two", waits="one two", then=look)], say("Two."), lines=["Go"])
    assert lines == ["/edit 1 one"]


# --- Stopping


@pytest.mark.parametrize(("behind", "read"), [(" two", ["one", "two"]), ("", ["one"])])
def test_stop_sends_what_waits_and_what_is_typed_behind_it(keys, talk, behind, read):
    stopped = [say("One."), typed(keys, "one", waits="one"), typed(keys, "/stop" + behind, waits=None)]
    told = talk(stopped, say("Two."), lines=["Go"])
    assert prompts_of(told) == [["Go"], read]
    assert [run.status for run in Run.objects.order_by("started_at")] == ["cancelled", "finished"]
    assert "Two." in told.out


@pytest.mark.usefixtures("in_front")
def test_what_waits_is_held_after_control_c_and_sent_on_request(keys, talk):
    def control_c() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)

    stopped = [typed(keys, "one", waits="one", then=control_c), typed(keys, waits=None)]
    told = talk(stopped, say("Two."), lines=["Go", "/edit 1 ONE", "/queue", "/send"])
    assert prompts_of(told) == [["Go"], ["ONE"]]
    assert "The answer was stopped, and these messages wait:\n  1  one\n/send sends them." in told.out
    assert in_order(told.out, "  1  ONE\n", "> ONE", "Two.")


def test_what_waits_is_held_after_a_failure_and_shown_when_the_thread_is_taken_up(keys, talk):
    told = talk([typed(keys, "one" + ALT, waits="one"), fail(RuntimeError("hunter2"))], lines=["Go"])
    held = "The answer failed, and these messages wait:\n  1  at the next step: one\n"
    assert held in told.out
    thread = Thread.objects.get().thread_id
    told = talk(lines=["/drop 1", "/queue", "/send"], arguments=["--thread", thread])
    assert held in told.out
    assert in_order(told.out, "Taken back: 1", "No message waits.")
    assert not QueuedMessage.objects.filter(state="waiting").exists()


# --- What the agent does not take


def test_a_line_that_is_refused_is_sent_after_the_answer(keys, talk, settings):
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MAX_MESSAGES": 1}}
    refused = [typed(keys, "one", "two", waits="one", kept=("two",)), say("One.")]
    told = talk(refused, say("Two."), say("Three."), lines=["Go"])
    assert [text for texts in prompts_of(told) for text in texts] == ["Go", "one", "two"]
    assert "Too many messages wait" in told.out


@pytest.mark.parametrize("line", ["/threads", "/help"])
def test_other_commands_are_obeyed_after_the_answer(line, keys, talk):
    told = talk([typed(keys, line), say("One.")], lines=["Go"])
    assert len(told.requests) == 1
    assert in_order(told.out, "One.", f"> {line}")


def test_without_a_queue_lines_wait_here(keys, talk, settings):
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MODES": []}}
    answers = [[typed(keys, "one", "two" + ALT, "/steer three"), say("One.")], *[say("Hi.")] * 4]
    told = talk(*answers, lines=["Go", "/queue", "/help"])
    assert prompts_of(told) == [["Go"], ["one"], ["two"], ["/steer three"], ["/queue"]]
    assert "/resume N" in told.out
    assert "/drop" not in told.out


def test_without_a_queue_stop_comes_before_what_is_typed_behind_it(keys, talk, settings):
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MODES": []}}
    told = talk([typed(keys, "/stop two", waits=None)], say("Hi."), lines=["Go"])
    assert prompts_of(told) == [["Go"], ["two"]]


def test_an_agent_that_may_only_be_steered(keys, talk, settings):
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MODES": ["steer"]}}
    told = talk([typed(keys, "one", waits="one"), call("echo", text="x")], say("Done."), lines=["Go"])
    assert prompts_of(told) == [["Go"], ["one"]]


def test_commands_without_a_run(talk):
    lines = ["/queue", "/drop 1", "/edit 1 x", "/steer Hello", "/stop Bye", "/help"]
    told = talk(say("Hi."), say("So long."), lines=lines)
    assert prompts_of(told) == [["Hello"], ["Bye"]]
    for words in ("No message waits.", "Which one? /edit N", "/drop N"):
        assert words in told.out
