"""Inputs that are small and mean much work: it is counted, in calls, or compared for two sizes of the same input."""

import asyncio.events
import json
import re
import re._compiler
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import pytest
from ag_ui import core as ag_ui
from pydantic import BaseModel
from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from agui import AgentDeps, ToolRegistry, tool
from agui.blocking.fair_threads import FairThreads
from agui.contrib.demo import model as demo
from agui.contrib.demo.model import build_demo_model, make_plan
from agui.contrib.demo.schemas import example_of
from agui.contrib.mentions.records import Mentions
from agui.events.progress import ClientView
from agui.protocol.answer_schemas import fits
from agui.protocol.message_ids import MessageIds
from agui.protocol.outbound import wire_messages
from agui.protocol.types import ActivitySnapshotEvent
from agui.stores.annotations import annotate
from agui.testing import call, collect, say
from agui.tools.foreign_schemas import MAX_VALUES, are_small
from tests.conftest import Client, counted, played_by, run_input

FUNCTION = ag_ui.FunctionCall(name="echo", arguments='{"text":"a"}')


def entangled(definitions: int = 12) -> dict[str, Any]:
    """A schema in which every definition refers to all."""
    names = [f"D{number}" for number in range(definitions)]
    references = [{"$ref": f"#/$defs/{name}"} for name in names]
    return {
        "$defs": {name: {"anyOf": references} for name in names},
        "properties": {"a": references[0]},
        "required": ["a"],
    }


def ladder(rungs: int) -> dict[str, Any]:
    """A schema without a circle, in which every definition refers to the next one twice."""
    steps = {f"D{n}": {"properties": {x: {"$ref": f"#/$defs/D{n + 1}"} for x in "ab"}} for n in range(rungs)}
    return {"$defs": {**steps, f"D{rungs}": {}}, "properties": {"a": {"$ref": "#/$defs/D0"}}}


def many_names() -> dict[str, Any]:
    """A schema with a long list, to which it refers again and again by other names."""
    references = [{"$ref": f"#{number}/$defs/A"} for number in range(40)]
    return {"$defs": {"A": {"anyOf": [{}] * (MAX_VALUES // 2) + references}}, "$ref": "#/$defs/A"}


def wide(count: int, item: Any) -> dict[str, Any]:
    return {f"p{number}": item for number in range(count)}


FOREIGN = {
    "entangled": entangled(),
    "a ladder": ladder(40),
    "a chain": {"$defs": {f"D{n}": {"$ref": f"#/$defs/D{n + 1}"} for n in range(1000)}, "$ref": "#/$defs/D0"},
    # References that name no definitions but places.
    "places": {"properties": wide(12, {"anyOf": [{"$ref": f"#/properties/p{n}"} for n in range(12)]})},
    "many values": {"enum": list(range(MAX_VALUES))},
    "many names of one definition": many_names(),
}


@pytest.mark.parametrize("schema", FOREIGN.values(), ids=FOREIGN)
async def test_a_tool_that_says_too_much_is_refused(client: Client, schema: dict[str, Any]):
    tools = [{"name": "evil", "description": "Paint", "parameters": schema}]
    with played_by(build_demo_model(pace_seconds=0)):
        response = await client.post(run_input("Paint a house", tools=tools))
    assert response.status_code == 422
    assert str(MAX_VALUES) in json.loads(response.content)["message"]


def test_schemas_have_fifty_thousand_values_together():
    schema = {"enum": [0] * 49_998}  # The schema and its list are values, too.
    assert are_small([schema])
    assert not are_small([schema, {}])
    assert not are_small([{"enum": list(range(MAX_VALUES // 2))}] * 2)


class Tree(BaseModel):
    """A type that contains itself, as types of pydantic may."""

    children: list["Tree"] = []
    named: dict[str, "Tree"] = {}


def test_types_of_pydantic_that_contain_themselves_are_small():
    assert are_small([Tree.model_json_schema()] * 50)


@pytest.mark.parametrize("schema", FOREIGN.values(), ids=FOREIGN)
def test_schema_is_measured_in_few_steps(schema):
    with counted(10 * MAX_VALUES):
        assert not are_small([schema])


def offered(name: str = "evil", description: str = "Paint", **schema: Any) -> ToolDefinition:
    return ToolDefinition(name=name, description=description, parameters_json_schema=schema)


OFFERED = {
    **{name: [offered(**schema)] for name, schema in FOREIGN.items()},
    "many arguments": [offered(properties=wide(20_000, {"type": ["integer", "string", "array"]}))],
    "many choices": [offered(properties=wide(50, {"enum": [f"c{number}" for number in range(5000)]}))],
    "nested lists": [offered(properties=wide(50, {"type": "array", "items": {"type": "array", "items": {}}}))],
    "many required": [offered(properties=wide(50, {}), required=[f"q{number}" for number in range(50_000)])],
    "many tools": [offered(f"paint_{number}", "Paint a house " * 100) for number in range(500)],
    "a long name": [offered("_".join("ab" * 20_000))],
    "a name of lines": [offered(properties={"_" * 40: {"type": "string"}})],
    "a long description": [offered(description="paint a house " * 20_000)],
}
PROMPTS = ["a" * 4000, "evil " + "1 " * 2000, "evil " + "_" * 4000]


@pytest.mark.nightly
@pytest.mark.parametrize("prompt", PROMPTS, ids=["one word", "numbers", "lines"])
@pytest.mark.parametrize("tools", OFFERED.values(), ids=OFFERED)
def test_demo_model_bounds_what_it_reads(tools, prompt):
    with counted():
        make_plan([ModelRequest([UserPromptPart(prompt)])], tools)


def test_demo_model_says_how_many_tools_it_does_not_name():
    plan = make_plan([ModelRequest([UserPromptPart("Hello")])], [offered(f"t{n}") for n in range(demo.MAX_ROWS + 5)])
    assert plan.text.count("- `") == demo.MAX_ROWS
    assert "- and 5 more" in plan.text
    long = offered(properties={"a": {"enum": ["x" * 100_000]}}, required=["a"])
    assert len(example_of(long)) < 1000


# What patterns are slow with: a few characters again and again, and then one that fits nothing.
PIECES = ["a", "a_", "_", " ", "\t", "!", ".", "?!", "'", '"', "“", "@", "a@", "1", "=", "a=", "a:", "[", "{", "and "]
PIECES += ["".join(pair) for pair in permutations([" ", "a", "!", "'", "@", "and", "="], 2)]


@pytest.mark.nightly
@pytest.mark.parametrize("piece", PIECES)
def test_demo_model_is_linear_in_a_message(piece, monkeypatch):
    """What is quadratic would take hours with a million characters, and be ended."""
    monkeypatch.setattr(demo, "MAX_CHARS", 2_000_000)
    schema = {"properties": {"title": {"type": "string"}, "mail": {"type": "string", "format": "email"}}}
    text = "add " + (piece * 1_000_000)[:1_000_000] + " \x1b"
    assert make_plan([ModelRequest([UserPromptPart(text)])], [offered("add", **schema)])


def test_answer_of_many_objects_is_compared_in_one_pass():
    schema = {"type": "array", "items": {"type": "object"}, "uniqueItems": True}
    items = [{"x": number} for number in range(2000)]
    with counted(200_000):
        assert fits(items, schema)
    assert not fits([*items, {"x": 7}], schema)
    assert not fits(json.loads('{"a": ' * 190 + "1" + "}" * 190), entangled(1) | {"$ref": "#/$defs/D0"})


# --- An answer with many calls


def many_calls(count: int) -> list[ModelMessage]:
    """An answer, and what became of its calls, with what tools have shown meanwhile."""
    calls = [ToolCallPart("echo", {"text": "a"}, tool_call_id=f"c{n}") for n in range(count)]
    results = [ToolReturnPart("echo", "a", tool_call_id=f"c{n}") for n in range(count)]
    answer, request = ModelResponse(calls), ModelRequest(results)
    annotate(answer, ids=["a"])
    shown = [
        {"id": f"s{n}", "activityType": "x", "content": {}, "after": f"r{n}", "replaces": True} for n in range(count)
    ]
    annotate(request, ids=[f"r{n}" for n in range(count)], activities=shown)
    return [answer, request]


def work_of(function: Callable[[], Any]) -> int:
    with counted(20_000_000) as calls:
        function()
    return calls[0]


def test_reading_keeps_the_order_of_many_calls():
    told = wire_messages(many_calls(400))
    assert [one["id"] for one in told[:401]] == ["a", *(f"r{n}" for n in range(400))]
    assert [one["id"] for one in told[401:]] == [f"s{n}" for n in range(400)]


def reading(count: int) -> Callable[[], Any]:
    messages = many_calls(count)
    return lambda: wire_messages(messages)


def naming(count: int) -> Callable[[], Any]:
    history = many_calls(count)
    sent: list[Any] = [
        ag_ui.AssistantMessage(
            id="a", tool_calls=[ag_ui.ToolCall(id=f"c{n}", function=FUNCTION) for n in range(count)]
        ),
        *(ag_ui.ToolMessage(id=f"r{n}", tool_call_id=f"c{n}", content="a") for n in range(count)),
    ]
    return lambda: MessageIds(sent).stamp(history)


def noting(count: int) -> Callable[[], Any]:
    """Note what tools show."""
    page = ClientView(AgentDeps(user=None, thread_id="t", run_id="r"), {})
    messages = many_calls(count)
    for number in range(count):
        page.translate(ag_ui.ToolCallResultEvent(message_id=f"r{number}", tool_call_id=f"c{number}", content="a"))
        page.translate(ActivitySnapshotEvent(message_id=f"s{number}", activity_type="x", content={}))
    return lambda: page.annotate_activities(messages)


def reading_a_prompt(count: int) -> Callable[[], Any]:
    sent: Any = ag_ui.UserMessage(id="u", content=[ag_ui.TextInputContent(text="a") for _ in range(count)])
    history = [ModelRequest([UserPromptPart(["a"] * count)])]

    def work() -> None:
        MessageIds([sent]).stamp(history)
        assert len(wire_messages(history)[0]["content"]) == count

    return work


@pytest.mark.parametrize("make", [reading, naming, noting, reading_a_prompt])
def test_work_is_linear_in_the_calls_of_an_answer_and_the_parts_of_a_prompt(make: Callable[[int], Any]):
    make(10)()
    assert work_of(make(400)) < 5 * work_of(make(100))


# --- What a client may choose costs in proportion to its size: each field of a body, and what a thread keeps of it

# The work is counted in steps: lines of Python, each as often as it runs, and calls of C with the text that they belong
# to. The steps within a regular expression can't be counted, so no request may compile one of its own.

TURN = asyncio.events.Handle._run.__code__
COMPILE = re._compiler.compile.__code__  # type: ignore[attr-defined]
nightly = pytest.mark.nightly
# What a request without any size may take, and each byte of it.
MAX_STEPS = 20_000
MAX_STEPS_A_BYTE = 50
Body = dict[str, Any]


class Pauses:
    """Counts the steps of a thread, and keeps the most between two turns."""

    def __init__(self) -> None:
        self.steps = 0
        self.longest = 0
        self.compiled = 0
        self.bytes = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self.trace)
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.settrace(before)
            sys.setprofile(None)
            self.turn()

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code is TURN:
            self.turn()
        elif frame.f_code is COMPILE:
            self.compiled += 1
        return self.trace_line

    def trace_line(self, frame: Any, event: str, argument: Any) -> Any:
        self.steps += 1
        return self.trace_line

    def profile(self, frame: Any, event: str, argument: Any) -> None:
        if event == "c_call" and isinstance(argument.__self__, str | bytes):
            self.steps += len(argument.__self__) // 100

    def turn(self) -> None:
        self.longest = max(self.longest, self.steps)
        self.steps = 0


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pauses]:
    """Count the work of the event loop and of the pools' threads."""
    loop, submit = Pauses(), FairThreads.submit

    def submit_counted(self: Any, owner: Any, work: Callable[[], Any]) -> Any:
        def counted() -> Any:
            thread = Pauses()
            try:
                with thread.counting():
                    return work()
            finally:
                loop.longest = max(loop.longest, thread.longest)
                loop.compiled += thread.compiled

        return submit(self, owner, counted)

    with monkeypatch.context() as patch, loop.counting():
        patch.setattr(FairThreads, "submit", submit_counted)
        yield loop


# --- What a client sends, of a size


def user(text: Any, number: int = 0, **fields: Any) -> Body:
    return {"id": f"u{number}", "role": "user", "content": text, **fields}


def answer(number: int, **fields: Any) -> Body:
    return {"id": f"a{number}", "role": "assistant", "content": "ok", **fields}


def calls(size: int) -> list[Body]:
    """One answer with many calls, and their results."""
    function = {"name": "echo", "arguments": '{"text": "a"}'}
    asked = [{"id": f"c{n}", "type": "function", "function": function} for n in range(size)]
    results = [{"id": f"r{n}", "role": "tool", "toolCallId": f"c{n}", "content": "a"} for n in range(size)]
    return [answer(0, toolCalls=asked), *results, user("And?")]


def turns(size: int) -> list[Body]:
    return [message for n in range(size) for message in (user("a", n), answer(n))] + [user("And?", size)]


def mentioning(size: int) -> list[Body]:
    titles = ["z", *("@" * 190 + f"{size}{letter}" for letter in "abcdefghijklmnopqrs")]
    records = [{"kind": "task", "id": "1", "title": title} for title in titles]
    return [user("z @z " + "@" * size, metadata={"mentions": records})]


def paint(**schema: Any) -> list[Body]:
    return [{"name": "paint", "description": "Paint", "parameters": schema}]


def circle(size: int) -> list[Body]:
    """A schema with many alternatives, the last of which is the schema itself."""
    schema = {"anyOf": [{}] * size + [{"$ref": "#/$defs/A"}]}
    return paint(**{"$defs": {"A": schema}, "$ref": "#/$defs/A"})


def secrets(size: int) -> list[Body]:
    return paint(type="object", properties={f"p{n}": {"type": "string", "format": "password"} for n in range(size)})


TEXTS = {"a": "a", "blanks": " ", "at": "@", "quotes": "'\"", "markup": "![](<", "lines": "\n- ", "slashes": "/a {x} "}
BODIES: dict[str, tuple[int, Callable[[int], Body]]] = {
    **{f"text of {name}": (20_000, lambda n, t=text: {"messages": [user(t * n)]}) for name, text in TEXTS.items()},
    "a skill": (20_000, lambda n: {"messages": [user("/explain " + "x " * n)]}),
    "mentions in a text": (20_000, lambda n: {"messages": mentioning(n)}),
    "many mentions": (100, lambda n: {"messages": [user("@z", metadata={"mentions": [{"kind": "t"}] * n})]}),
    "many files": (100, lambda n: {"messages": [user("a", metadata={"attachments": [{"id": "x"}] * n})]}),
    "wide metadata": (100, lambda n: {"messages": [user("a", metadata={f"k{k}": "v" for k in range(n)})]}),
    "parts": (50, lambda n: {"messages": [user([{"type": "text", "text": "a"}] * n)]}),
    "new messages": (20, lambda n: {"messages": [user("a", k) for k in range(n)]}),
    "a history": (20, lambda n: {"messages": turns(n)}),
    "calls of an answer": (20, lambda n: {"messages": calls(n)}),
    "system messages": (
        50,
        lambda n: {"messages": [{**user("a", k), "role": "system"} for k in range(n)] + [user("a", n)]},
    ),
    "tools": (20, lambda n: {"tools": [{**paint()[0], "name": f"t{k}"} for k in range(n)]}),
    "a schema of alternatives": (1000, lambda n: {"tools": circle(n)}),
    "a schema of secrets": (200, lambda n: {"tools": secrets(n)}),
    "a long description": (20_000, lambda n: {"tools": [{**paint()[0], "description": "a " * n}]}),
    "context": (100, lambda n: {"context": [{"description": "d", "value": "v"}] * n}),
    "a long context": (20_000, lambda n: {"context": [{"description": "d", "value": "<" * n}]}),
    "state": (200, lambda n: {"state": {f"k{k}": [k] for k in range(n)}}),
    "a list in the state": (200, lambda n: {"state": {"list": [{"a": k} for k in range(n)]}}),
    "forwarded properties": (200, lambda n: {"forwardedProps": {f"k{k}": k for k in range(n)}}),
    "a model's name": (20_000, lambda n: {"forwardedProps": {"model": "m" * n}}),
    "answers to nothing": (
        50,
        lambda n: {"resume": [{"interruptId": f"i{k}", "status": "cancelled"} for k in range(n)]},
    ),
    "unknown fields": (200, lambda n: {f"k{k}": k for k in range(n)}),
    "a long id": (20_000, lambda n: {"parentRunId": "p" * n}),
}
# The settings that let more of a body through.
SETTINGS = {
    "CLIENT_INSTRUCTIONS": "use",
    "HISTORY_MESSAGES": None,
    "MAX_CONTEXT_CHARS": 10_000_000,
    "SEARCH_TOOLS_ABOVE": 10,
    "MAX_TOOLS": 10_000,
    "THROTTLE": {"USER": "10000/minute"},
}


@pytest.fixture(params=[pytest.param({}, marks=nightly), SETTINGS], ids=["the defaults", "open settings"])
def agent(request: Any, settings: Any, mount: Any) -> Any:
    settings.AGUI = {**settings.AGUI, **request.param}
    registry = ToolRegistry()

    @tool(registry)
    def echo(ctx: RunContext[AgentDeps], text: str) -> str:
        """Say a text."""
        return text

    arguments = {f"p{n}": "x" for n in range(50)}

    def serve(body: Body) -> None:
        first = call("paint", **arguments) if any(t["name"] == "paint" for t in body.get("tools", ())) else say("ok")
        mount(registry, *[first, *[say("ok")] * 20], capabilities=[Mentions(lambda user, text: [])])

    return serve


async def pause_of(client: Client, agent: Any, body: Body, thread: str, monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """Send a body, then a short message to the same thread, and read the thread."""
    body = {**run_input("" if "messages" in body else "Hi", thread=thread), **body}
    data = json.dumps(body)
    agent(body)
    with watched(monkeypatch) as pauses:
        response = await client.post(data)
        if response.status_code == 200:
            await collect(response)
            second = await client.post(run_input("More", thread=thread))
            if second.status_code == 200:
                await collect(second)
            await client.get(f"threads/{thread}/")
            await client.get("threads/?q=more")
    pauses.bytes = len(data)
    return pauses


DAILY = {"a history"}


@pytest.mark.parametrize("name", [name if name in DAILY else pytest.param(name, marks=nightly) for name in BODIES])
async def test_the_longest_pause_grows_as_the_body_does(client: Client, agent: Any, name: str, monkeypatch):
    size, make = BODIES[name]
    re.purge()  # Python keeps 512 patterns: those of other tests would push out those of this one.
    once, twice, fourfold = [
        await pause_of(client, agent, make(size * factor), f"t{factor}", monkeypatch) for factor in (1, 2, 4)
    ]
    longest = once.longest, twice.longest, fourfold.longest
    # The first request may compile patterns of the engine.
    assert twice.compiled == fourfold.compiled == 0
    # What is quadratic grows fourfold.
    assert twice.longest < 2.5 * once.longest, longest
    assert fourfold.longest < 2.5 * twice.longest, longest
    assert fourfold.longest < MAX_STEPS_A_BYTE * fourfold.bytes + MAX_STEPS, longest
