"""Inputs that are small and mean much work: it is counted, in calls, or compared for two sizes of the same input."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    TextInputContent,
    ToolCall,
    ToolCallResultEvent,
    ToolMessage,
    UserMessage,
)
from pydantic import BaseModel
from pydantic_ai import ToolDefinition
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from agui import AgentDeps
from agui.contrib.demo import model as demo
from agui.contrib.demo.model import build_demo_model, make_plan
from agui.contrib.demo.schemas import example_of
from agui.events.progress import ClientView
from agui.protocol.answer_schemas import fits
from agui.protocol.message_ids import MessageIds
from agui.protocol.outbound import wire_messages
from agui.protocol.types import ActivitySnapshotEvent
from agui.stores.annotations import annotate, annotation
from agui.testing import say
from agui.tools.foreign_schemas import MAX_VALUES, are_small
from tests.conftest import Client, played_by, run_input, script

TOO_MUCH = 2_000_000
FUNCTION = FunctionCall(name="echo", arguments='{"text":"a"}')


class TooMuchWork(Exception):
    """More calls than the test allows."""


@contextmanager
def counted(limit: int = TOO_MUCH) -> Iterator[list[int]]:
    """Count the calls of functions on this thread, and end what would go on for ever."""
    calls = [0]

    def count(frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            calls[0] += 1
            if calls[0] > limit:
                sys.setprofile(None)
                raise TooMuchWork

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def seconds(work: Callable[[], Any]) -> float:
    """The time that the processor needs, the least of a few."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


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


def pointing_anywhere() -> dict[str, Any]:
    """A schema whose references name no definitions but places."""
    names = "abcdefghijkl"
    places = [{"$ref": f"#/properties/{name}"} for name in names]
    return {"properties": {name: {"anyOf": places} for name in names}}


def many_names() -> dict[str, Any]:
    """A schema with a long list, to which it refers again and again by other names."""
    references = [{"$ref": f"#{number}/$defs/A"} for number in range(40)]
    return {"$defs": {"A": {"anyOf": [{}] * (MAX_VALUES // 2) + references}}, "$ref": "#/$defs/A"}


FOREIGN = {
    "entangled": entangled(),
    "a ladder": ladder(40),
    "a chain": {"$defs": {f"D{n}": {"$ref": f"#/$defs/D{n + 1}"} for n in range(1000)}, "$ref": "#/$defs/D0"},
    "places": pointing_anywhere(),
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


class Leaf(BaseModel):
    size: int


class Tree(BaseModel):
    """A type that contains itself, as types of pydantic may."""

    children: list["Tree"] = []
    leaves: dict[str, Leaf] = {}
    other: "Forest | None" = None


class Forest(BaseModel):
    trees: list[Tree]


def test_types_of_pydantic_that_contain_themselves_are_small():
    assert are_small([Tree.model_json_schema()] * 50)


@pytest.mark.parametrize("schema", FOREIGN.values(), ids=FOREIGN)
def test_schema_is_measured_in_few_steps(schema):
    with counted(10 * MAX_VALUES):
        assert not are_small([schema])


def offered(name: str = "evil", description: str = "Paint", **schema: Any) -> ToolDefinition:
    return ToolDefinition(name=name, description=description, parameters_json_schema=schema)


def wide(count: int, item: Any) -> dict[str, Any]:
    return {f"p{number}": item for number in range(count)}


OFFERED = {
    **{name: [offered(**schema)] for name, schema in FOREIGN.items()},
    "many arguments": [offered(properties=wide(20_000, {"type": ["integer", "string", "array"]}))],
    "many variants": [offered(properties=wide(50, {"anyOf": [{"type": "integer"}] * 5000}))],
    "many choices": [offered(properties=wide(50, {"enum": [f"c{number}" for number in range(5000)]}))],
    "nested lists": [offered(properties=wide(50, {"type": "array", "items": {"type": "array", "items": {}}}))],
    "many required": [offered(properties=wide(50, {}), required=[f"q{number}" for number in range(50_000)])],
    "many tools": [offered(f"paint_{number}", "Paint a house " * 100) for number in range(500)],
    "one name often": [offered("paint", "Paint")] * 500,
    "a long name": [offered("_".join("ab" * 20_000))],
    "a name of lines": [offered(properties={"_" * 40: {"type": "string"}})],
    "a long description": [offered(description="paint a house " * 20_000)],
}
PROMPTS = {
    "one word": "a" * 4000,
    "pieces": "a_" * 2000,
    "paint": "paint " * 700,
    "numbers": "evil " + "1 " * 2000,
    "lines": "evil " + "_" * 4000,
}


@pytest.mark.nightly
@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("tools", OFFERED)
def test_demo_model_bounds_what_it_reads(tools, prompt):
    with counted():
        make_plan([ModelRequest([UserPromptPart(PROMPTS[prompt])])], OFFERED[tools])


def test_demo_model_says_how_many_tools_it_does_not_name():
    plan = make_plan([ModelRequest([UserPromptPart("Hello")])], [offered(f"t{n}") for n in range(demo.MAX_ROWS + 5)])
    assert plan.text.count("- `") == demo.MAX_ROWS
    assert "- and 5 more" in plan.text


def test_example_of_a_long_choice_is_short():
    tool = offered(properties={"a": {"enum": ["x" * 100_000]}}, required=["a"])
    assert len(example_of(tool)) < 1000


# What patterns are slow with: a few characters again and again, and then one that fits nothing.
PIECES = [
    "a",
    "a_",
    "_",
    " ",
    "\t",
    "!",
    ".",
    "?!",
    "'",
    '"',
    "“",
    "@",
    "a@",
    "1",
    "=",
    "a=",
    "a:",
    "[",
    "{",
    "and ",
    ", ",
]
PIECES += ["".join(pair) for pair in permutations([" ", "a", "!", "'", "@", "and", "="], 2)]


@pytest.mark.nightly
@pytest.mark.parametrize("piece", PIECES)
def test_demo_model_is_linear_in_a_message(piece, monkeypatch):
    """Four times as long takes four times as long. Quadratic would be sixteen."""
    monkeypatch.setattr(demo, "MAX_CHARS", 1_000_000)
    schema = {"properties": {"title": {"type": "string"}, "mail": {"type": "string", "format": "email"}}}
    tools = [offered("add", **schema)]

    def answer(size: int) -> Callable[[], Any]:
        text = "add " + (piece * size)[:size] + " \x1b"
        return lambda: make_plan([ModelRequest([UserPromptPart(text)])], tools)

    assert seconds(answer(32_000)) < 9 * seconds(answer(8_000)) + 0.05


@pytest.mark.nightly
def test_demo_model_is_linear_in_blanks_at_the_end_of_a_result():
    def split(size: int) -> Callable[[], Any]:
        part = ToolReturnPart("t", "x" + " " * size, tool_call_id="c", outcome="failed")
        text = make_plan([ModelRequest([part])], []).text
        return lambda: demo._WORD.findall(text * 5)

    assert seconds(split(20_000)) < 9 * seconds(split(5_000)) + 0.05
    assert "".join(demo._WORD.findall(" a  b\n ")) == " a  b\n "


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


def test_reading_is_linear_in_the_calls_of_an_answer():
    few, many = many_calls(100), many_calls(400)
    wire_messages(few)
    assert work_of(lambda: wire_messages(many)) < 5 * work_of(lambda: wire_messages(few))
    told = wire_messages(many)
    assert [one["id"] for one in told[:401]] == ["a", *(f"r{n}" for n in range(400))]
    assert [one["id"] for one in told[401:]] == [f"s{n}" for n in range(400)]


def test_naming_is_linear_in_the_calls_of_an_answer():
    def name(count: int) -> Callable[[], Any]:
        history = many_calls(count)
        sent: list[Any] = [
            AssistantMessage(id="a", tool_calls=[ToolCall(id=f"c{n}", function=FUNCTION) for n in range(count)]),
            *(ToolMessage(id=f"r{n}", tool_call_id=f"c{n}", content="a") for n in range(count)),
        ]
        return lambda: MessageIds(sent).stamp(history)

    name(10)()
    assert work_of(name(400)) < 5 * work_of(name(100))


def test_noting_is_linear_in_what_tools_show():
    def note(count: int) -> Callable[[], Any]:
        page = ClientView(AgentDeps(user=None, thread_id="t", run_id="r"), {})
        messages = many_calls(count)
        for number in range(count):
            page.translate(ToolCallResultEvent(message_id=f"r{number}", tool_call_id=f"c{number}", content="a"))
            page.translate(ActivitySnapshotEvent(message_id=f"s{number}", activity_type="x", content={}))
        return lambda: page.annotate_activities(messages)

    note(10)()
    assert work_of(note(400)) < 5 * work_of(note(100))


async def test_many_new_messages_on_a_long_thread_are_found_at_once(client: Client, monkeypatch):
    looked_up: Counter[str] = Counter()

    def counting(message: ModelMessage, name: str) -> Any:
        looked_up[name] += 1
        return annotation(message, name)

    def sent(key: str) -> list[dict[str, str]]:
        return [{"id": f"{key}{number}", "role": "user", "content": "Hi"} for number in range(500)]

    with script(say("1"), say("2")):
        await client.run(messages=sent("u"))
        monkeypatch.setattr("agui.turns.take.annotation", counting)
        await client.run(messages=sent("v"))
    assert looked_up["ids"] < 2000  # Not 500 x 500


async def test_an_answer_has_only_so_many_calls(client: Client):
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "echo", "arguments": "{}"}} for n in range(1001)]
    last = {"id": "u", "role": "user", "content": "And?"}
    response = await client.post(run_input(messages=[{"id": "a", "role": "assistant", "toolCalls": calls}, last]))
    assert response.status_code == 422
    assert "1000" in json.loads(response.content)["message"]


def test_reading_and_naming_are_linear_in_the_parts_of_a_prompt():
    def read(count: int) -> Callable[[], Any]:
        sent: Any = UserMessage(id="u", content=[TextInputContent(text="a") for _ in range(count)])
        history = [ModelRequest([UserPromptPart(["a"] * count)])]

        def work() -> None:
            MessageIds([sent]).stamp(history)
            assert len(wire_messages(history)[0]["content"]) == count

        return work

    read(10)()
    assert work_of(read(400)) < 5 * work_of(read(100))
