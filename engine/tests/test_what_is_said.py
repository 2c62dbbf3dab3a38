"""What a user says reaches the thread and the model, whatever else a request has."""

import json
import random
from itertools import count
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from agui.testing import call, fail, say
from tests.conftest import Client, asked, decision, script
from tests.urls import effects
from tests.wire import check_stream


def user(text: str, message_id: str) -> dict:
    return {"id": message_id, "role": "user", "content": text}


def assistant(text: str, message_id: str) -> dict:
    return {"id": message_id, "role": "assistant", "content": text}


async def pause(client: Client) -> None:
    with script(call("wipe", what="disk", _id="c1")):
        await client.run("", messages=[user("Wipe the disk", "u1")])


async def texts(client: Client, role: str = "user") -> list[str]:
    return [one["content"] for one in (await client.thread())["messages"] if one["role"] == role and one.get("content")]


def roles(messages: list[dict]) -> list[str]:
    return [one["role"] for one in messages]


def contents_of(request: Any) -> list[Any]:
    return [part.content for message in request.messages for part in message.parts if hasattr(part, "content")]


ANSWERS = {
    "approved": ({"payload": {"approved": True}}, ["disk"], "wiped disk"),
    "denied": ({"payload": {"approved": False, "reason": "No."}}, [], "No."),
    "cancelled": ({"status": "cancelled"}, [], "Cancelled by user."),
}


@pytest.mark.parametrize("shown", ["new", "all", "with the call"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_message_beside_an_answer_is_a_turn_after_it(client: Client, name: str, shown: str):
    answer, done, result = ANSWERS[name]
    await pause(client)
    before = (await client.thread())["messages"] if shown == "with the call" else [user("Wipe the disk", "u1")]
    messages = [*(before if shown != "new" else []), user("Paint it instead", "u2")]
    resume = [{**decision("c1"), **answer}]
    with script(say("I paint.")) as model:
        events = await client.run("", messages=messages, resume=resume)
    check_stream(events, calls=("c1",))
    assert effects == done
    requests = [message for message in model.requests[0].messages if isinstance(message, ModelRequest)]
    last = [part for message in requests[-2:] for part in message.parts]
    assert [type(part) for part in last[-2:]] == [ToolReturnPart, UserPromptPart]
    assert last[-1].content == "Paint it instead"
    stored = (await client.thread())["messages"]
    assert roles(stored) == ["user", "assistant", "tool", "user", "assistant"]
    assert (stored[2]["content"], stored[3]["id"]) == (result, "u2")
    assert await texts(client) == ["Wipe the disk", "Paint it instead"]
    # The next turn has everything in its order, too.
    with script(say("Yes.")) as model:
        await client.run("Done?")
    kinds = [type(part).__name__ for message in model.requests[0].messages for part in message.parts]
    assert kinds == ["UserPromptPart", "ToolCallPart", "ToolReturnPart", "UserPromptPart", "TextPart", "UserPromptPart"]


async def test_an_answer_that_is_refused_stores_no_message(client: Client):
    await pause(client)
    asked["c9"] = "int-c9"
    events = await client.run("", messages=[user("And hello", "u2")], resume=[decision("c9")])
    assert events[-1]["code"] == "interrupt_unknown"
    assert await texts(client) == ["Wipe the disk"]
    with script(say("Wiped.")):  # The .NET client sends known messages again: they are no turn
        await client.run("", messages=[user("Wipe the disk", "u1")], resume=[decision("c1")])
    assert await texts(client) == ["Wipe the disk"]
    assert effects == ["disk"]


async def test_a_message_denies_all_questions_at_once(client: Client):
    """What the page sends if the user writes a message while several questions are open."""
    calls = [call("wipe", what="disk", _id="c1"), call("place", spot={"x": 1}, _id="c2"), call("book", _id="c3")]
    with script(calls):
        events = await client.run("", messages=[user("Tidy up", "u1")])
    payload = {"approved": False, "reason": "Not today."}
    resume = []
    for interrupt in events[-1]["outcome"]["interrupts"]:
        is_form = interrupt["reason"] == "input_required"
        answer = {"status": "cancelled"} if is_form else {"status": "resolved", "payload": payload}
        resume.append({"interruptId": interrupt["id"], **answer})
    assert [one["status"] for one in resume] == ["resolved", "resolved", "cancelled"]
    with script(say("Fine.")) as model:
        events = await client.run("", messages=[user("Not today.", "u2")], resume=resume)
    check_stream(events, calls=("c1", "c2", "c3"))
    told = ["Tidy up", "Not today.", "Not today.", "The user declined to answer.", "Not today."]
    assert contents_of(model.requests[0]) == told
    stored = (await client.thread())["messages"]
    assert roles(stored) == ["user", "assistant", "tool", "tool", "tool", "user", "assistant"]
    assert effects == []


@pytest.mark.parametrize("first", [say("I paint."), fail(ConnectionError("away"))], ids=["answered", "failed"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_message_beside_an_answer_is_answered_again_and_edited(client: Client, name: str, first: Any):
    """What a tool has done, or the user has denied, stays so: only the message is another turn."""
    answer, done, result = ANSWERS[name]
    await pause(client)
    with script(first):
        await client.run("", messages=[user("Paint it", "u2")], resume=[{**decision("c1"), **answer}])
    for text in ("Paint it", "Paint it blue", "Paint it red"):
        with script(say(f"To {text}")) as model:
            await client.run("", messages=[user(text, "u2")])
        assert contents_of(model.requests[0]) == ["Wipe the disk", result, text]
        stored = (await client.thread())["messages"]
        assert roles(stored) == ["user", "assistant", "tool", "user", "assistant"]
        assert [one["content"] for one in stored[2:]] == [result, text, f"To {text}"]
    versions = (await client.thread())["branches"]["u2"]
    assert [one["text"] for one in versions] == ["Paint it", "Paint it", "Paint it blue", "Paint it red"]
    # An older version has its results, too.
    switch = json.dumps({"branch": versions[0]["id"]})
    response = await client.http.patch("/agent/threads/t1/", switch, content_type="application/json")
    assert json.loads(response.content)["messages"][2]["content"] == result
    assert effects == done


async def converse(client: Client, *turns: str) -> list[dict]:
    """Let the client see a conversation: each of these turns has an answer."""
    shown: list[dict] = []
    for number, text in enumerate(turns):
        with script(say(f"To {text}")):
            await client.run("", messages=[*shown, user(text, f"u{number}")])
        shown = (await client.thread())["messages"]
    return shown


async def test_an_edit_under_a_new_id_takes_the_place_of_the_message(client: Client):
    shown = await converse(client, "One", "Two", "Three")
    with script(say("To two and a half")) as model:
        await client.run("", messages=[*shown[:2], user("Two and a half", "other")])
    assert await texts(client) == ["One", "Two and a half"]
    assert contents_of(model.requests[0]) == ["One", "To One", "Two and a half"]
    # What it replaces is a version of it, and stays.
    thread = await client.thread()
    [versions] = thread["branches"].values()
    assert sorted((one["text"], one["current"]) for one in versions) == [("Two", False), ("Two and a half", True)]


@pytest.mark.parametrize("shown", [[], ["u0", "u1"], ["u1"], ["unknown"], ["u0", "", "u1"]])
async def test_a_message_at_the_end_is_appended(client: Client, shown: list[str]):
    """However a client names the answers."""
    await converse(client, "One", "Two")
    before = [user("...", one) if one else assistant("To One", "x") for one in shown]
    with script(say("To three")):
        await client.run("", messages=[*before, assistant("...", "a"), user("Three", "new")])
    assert await texts(client) == ["One", "Two", "Three"]


async def test_an_edit_far_back_in_a_long_thread(client: Client, settings):
    settings.AGUI = {**settings.AGUI, "HISTORY_MESSAGES": 4}
    shown = await converse(client, *map(str, range(6)))
    with script(say("Again")):
        await client.run("", messages=[shown[0], shown[1], user("1b", "new")])
    assert await texts(client) == ["0", "1b"]


# --- Sequences of requests, against a model of what the thread has to keep

PAINT = {"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}


class Person:
    """Talks to the agent in any order, and remembers what has to be in the thread."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client = client
        self.random = random.Random(seed)  # noqa: S311
        self.line: list[tuple[str, str]] = []
        """The ids and the texts of the user's messages that have to be in the thread."""
        self.waits_for = ""
        """What the thread waits for: an approval, a result of the page, or ''."""
        self.numbers = count()
        self.steps: list[str] = []

    async def live(self, steps: int) -> None:
        for _ in range(steps):
            await self.step()
            await self.check()

    async def step(self) -> None:
        ways = [self.speak, self.fail, self.ask, self.call_the_page]
        if self.line:
            ways += [self.edit, self.edit_anew, self.try_again]
        if self.waits_for == "approval":
            ways = [self.answer, self.answer, self.answer_wrongly, self.speak_too_early]
        if self.waits_for == "page":
            ways = [self.return_result]
        way = self.random.choice(ways)
        self.steps.append(way.__name__)
        await way()

    def new(self) -> dict:
        number = next(self.numbers)
        return user(f"text {number}", f"id {number}")

    async def shown(self, until: int | None = None) -> list[dict]:
        """What a client sends before a new message: all that it shows, or nothing."""
        if not self.line or self.random.random() < 0.3:
            return []
        messages = (await self.client.thread())["messages"]
        if until is None:
            return messages
        places = [index for index, one in enumerate(messages) if one["role"] == "user"]
        return messages[: places[until]]

    async def post(self, messages: list[dict], *answers: Any, **body: Any) -> list[dict]:
        self.waits_for = ""
        with script(*answers):
            return await self.client.run("", messages=messages, **body)

    def append(self, *messages: dict) -> None:
        self.line += [(one["id"], one["content"]) for one in messages]

    async def speak(self) -> None:
        message = self.new()
        await self.post([*await self.shown(), message], say("Yes."))
        self.append(message)

    async def fail(self) -> None:
        message = self.new()
        await self.post([*await self.shown(), message], fail(RuntimeError("away")))
        self.append(message)

    async def ask(self) -> None:
        message = self.new()
        await self.post([*await self.shown(), message], call("wipe", what="x", _id=f"c{next(self.numbers)}"))
        self.append(message)
        self.waits_for = "approval"

    async def call_the_page(self) -> None:
        message = self.new()
        answer = call("paint", _id=f"p{next(self.numbers)}")
        await self.post([*await self.shown(), message], answer, tools=[PAINT])
        self.append(message)
        self.waits_for = "page"

    async def edit(self) -> None:
        place = self.random.randrange(len(self.line))
        message = user(self.new()["content"], self.line[place][0])
        await self.post([*await self.shown(place), message], say("Yes."))
        self.line = self.line[:place]
        self.append(message)

    async def edit_anew(self) -> None:
        """Edit a message under an id of its own. Only the messages before it tell which one it was."""
        place = self.random.randrange(len(self.line))
        shown = (await self.client.thread())["messages"]
        places = [index for index, one in enumerate(shown) if one["role"] == "user"]
        message = self.new()
        await self.post([*shown[: places[place]], message], say("Yes."))
        # Nothing tells a first message apart from one more.
        self.line = self.line[:place] if place else self.line
        self.append(message)

    async def try_again(self) -> None:
        place = self.random.randrange(len(self.line))
        message = user(self.line[place][1], self.line[place][0])
        await self.post([*await self.shown(place), message], say("Yes."))
        self.line = self.line[: place + 1]

    async def answer(self) -> None:
        ways = [{"status": "cancelled"}, {"payload": {"approved": False}}, {"payload": {"approved": True}}]
        [pending] = (await self.client.thread())["pending"]
        entry = {"interruptId": pending["id"], "status": "resolved", **self.random.choice(ways)}
        more = [self.new() for _ in range(self.random.choice([0, 0, 1, 2]))]
        await self.post([*await self.shown(), *more], say("Yes."), resume=[entry])
        self.append(*more)

    async def answer_wrongly(self) -> None:
        entry = {"interruptId": "int-none", "status": "cancelled"}
        await self.post([*await self.shown(), self.new()], resume=[entry])
        self.waits_for = "approval"

    async def speak_too_early(self) -> None:
        await self.post([*await self.shown(), self.new()])
        self.waits_for = "approval"

    async def return_result(self) -> None:
        messages = (await self.client.thread())["messages"]
        calls = [one for message in messages for one in message.get("toolCalls", ())]
        result = {"id": f"r{next(self.numbers)}", "role": "tool", "toolCallId": calls[-1]["id"], "content": "painted"}
        more = [self.new() for _ in range(self.random.choice([0, 0, 1]))]
        await self.post([*messages, result, *more], say("Yes."), tools=[PAINT])
        self.append(*more)

    async def check(self) -> None:
        thread = await self.client.thread()
        said = [(one["id"], one["content"]) for one in thread["messages"] if one["role"] == "user"]
        assert said == self.line, self.steps
        assert bool(thread["pending"]) == (self.waits_for == "approval"), self.steps
        calls = {one["id"] for message in thread["messages"] for one in message.get("toolCalls", ())}
        answered = {one["toolCallId"] for one in thread["messages"] if one["role"] == "tool"}
        assert bool(calls - answered) == bool(self.waits_for), self.steps


@pytest.mark.parametrize("seed", [0, 175, 236])
async def test_whatever_is_said_is_in_the_thread(client: Client, seed: int):
    await Person(client, seed).live(12)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(400))
async def test_whatever_is_said_in_other_orders(client: Client, seed: int):
    await Person(client, seed).live(25)
