"""A function's type hints are the schema: the one that the model is shown, and no other."""

import dataclasses
import datetime
import enum
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import pytest
from django.db.models import Model, QuerySet
from pydantic import BaseModel, Field
from pydantic_ai import Agent, RunContext

from agui import AgentDeps, ToolCategory, ToolRegistry, build_input_schema
from agui.testing import ScriptedModel, say
from agui.tools.call import build_toolset

if TYPE_CHECKING:
    from decimal import Decimal


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    number: int = Field(gt=0)


def everything(
    ctx: RunContext[AgentDeps],
    text: str,
    colour: Colour,
    size: Literal["s", "m"],
    point: Point,
    address: Address,
    tags: list[str],
    day: datetime.date,
    at: datetime.datetime | None = None,
    count: Annotated[int, Field(ge=1, le=9)] = 3,
    ratio: float = 0.5,
    extra: dict[str, Any] | None = None,
    *,
    loud: bool = False,
) -> str:
    """Take one of each.

    Args:
        text: What to say.
        count: How often,
            at most nine times.
    """
    return repr((text, colour, size, point, address, tags, day, at, count, ratio, extra, loud))


# Written out, so that every version of Python and pydantic has to agree with it.
EVERYTHING = {
    "$defs": {
        "Address": {
            "description": "Where somebody lives.",
            "properties": {"street": {"type": "string"}, "number": {"exclusiveMinimum": 0, "type": "integer"}},
            "required": ["street", "number"],
            "title": "Address",
            "type": "object",
        },
        "Colour": {"enum": ["red", "blue"], "title": "Colour", "type": "string"},
        "Point": {
            "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
            "required": ["x"],
            "title": "Point",
            "type": "object",
        },
    },
    "additionalProperties": False,
    "properties": {
        "text": {"description": "What to say.", "type": "string"},
        "colour": {"$ref": "#/$defs/Colour"},
        "size": {"enum": ["s", "m"], "type": "string"},
        "point": {"$ref": "#/$defs/Point"},
        "address": {"$ref": "#/$defs/Address"},
        "tags": {"items": {"type": "string"}, "type": "array"},
        "day": {"format": "date", "type": "string"},
        "at": {"anyOf": [{"format": "date-time", "type": "string"}, {"type": "null"}], "default": None},
        "count": {
            "default": 3,
            "description": "How often,\nat most nine times.",
            "maximum": 9,
            "minimum": 1,
            "type": "integer",
        },
        "ratio": {"default": 0.5, "type": "number"},
        "extra": {"anyOf": [{"additionalProperties": True, "type": "object"}, {"type": "null"}], "default": None},
        "loud": {"default": False, "type": "boolean"},
    },
    "required": ["text", "colour", "size", "point", "address", "tags", "day"],
    "type": "object",
    "x-category": "other",
}


def test_schema_of_every_kind_of_parameter():
    assert build_input_schema(everything) == EVERYTHING


def test_arguments_arrive_as_what_the_hints_say():
    registry = ToolRegistry()
    registry.add(everything)
    arguments = {
        **{"text": "hi", "colour": "blue", "size": "m", "point": {"x": 1}, "tags": ["a"]},
        **{"address": {"street": "Main St", "number": 4}, "day": "2026-02-03", "at": "2026-02-03T04:05:06Z"},
    }
    at = datetime.datetime(2026, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
    address = Address(street="Main St", number=4)
    expected = ("hi", Colour.BLUE, "m", Point(1), address, ["a"], at.date(), at, 3, 0.5, None, False)
    # repr: pydantic's time zone is another object than Python's, but an equal one
    result = registry.call("everything", arguments, ctx=object())
    assert result.replace("TzInfo(0)", "datetime.timezone.utc") == repr(expected)


async def test_the_model_is_shown_the_schema_of_the_binding():
    registry = ToolRegistry()
    options = {"destructive": True, "category": ToolCategory.UI_WRITE, "confirm": "Sure?", "summary": "All at once"}
    binding = registry.add(everything, **options)
    assert binding.input_schema == build_input_schema(everything, **options)
    model = ScriptedModel([say("Hello")])
    agent = Agent(model, deps_type=AgentDeps, toolsets=[build_toolset(registry)])
    await agent.run("Hi", deps=AgentDeps(user=None, thread_id="t", run_id="r"))
    shown = model.requests[0].tools["everything"]
    # Providers may refuse keys that they don't know: those go along as metadata.
    told = {"x-destructive": True, "x-category": "ui_write", "x-confirm": "Sure?", "x-summary": "All at once"}
    assert shown.metadata == told
    assert {**shown.parameters_json_schema, **told} == binding.input_schema
    assert shown.description == "Take one of each."


def move(address: Address) -> str:
    """Move house."""
    return address.street


def whoami(ctx: RunContext[AgentDeps]) -> str: ...
def whoami_in_quotes(ctx: "RunContext[AgentDeps]", count: int = None): ...  # type: ignore[assignment]  # noqa: RUF013


STREET = {"street": {"type": "string"}, "number": {"exclusiveMinimum": 0, "type": "integer"}}


@pytest.mark.parametrize(
    ("function", "properties"),
    [
        (move, STREET),  # A single model is spread out
        (whoami, {}),
        # A default of None does not make a parameter optional.
        (whoami_in_quotes, {"count": {"default": None, "type": "integer"}}),
    ],
)
def test_parameters_that_are_special(function, properties):
    assert build_input_schema(function)["properties"] == properties
    registry = ToolRegistry()
    registry.add(move)
    assert registry.call("move", {"street": "Main St", "number": 4}) == "Main St"


def untyped(text): ...
def untyped_context(ctx): ...
def context_later(text: str, ctx: RunContext[AgentDeps]): ...
def deps_alone(ctx: AgentDeps, text: str): ...
def deps_by_name(ctx: "AgentDeps"): ...
def variadic(*texts: str): ...
def keywords(**texts: str): ...
def positional(text: str, /): ...


def generator(text: str) -> Iterator[str]:
    yield text


def not_json(text: Model): ...
def returns_queryset(text: str) -> QuerySet: ...


class Row(TypedDict):
    name: str


def returns_rows(text: str) -> list[Row]: ...
def only_for_type_checkers(price: "Decimal"): ...


@pytest.mark.parametrize(
    ("fn", "problem", "cure"),
    [
        (untyped, "'text' has no type", "Write `text: str`"),
        (untyped_context, "'ctx' has no type", "Write `ctx: RunContext[AgentDeps]`"),
        (context_later, "'ctx' is the run's context", "put it first"),
        (deps_alone, "the model would have to say what 'ctx' is", "Write `ctx: RunContext[AgentDeps]`"),
        (deps_by_name, "the model would have to say what 'ctx' is", "Write `ctx: RunContext[AgentDeps]`"),
        (variadic, "takes *texts", "Spell them out"),
        (keywords, "takes **texts", "Spell them out"),
        (positional, "'text' is positional-only", "Remove the /"),
        (generator, "yields", "return the whole result"),
        (not_json, "has no JSON form", "use a str, a number"),
        (returns_queryset, "returns a type without a JSON form", "return a str, a list"),
        (only_for_type_checkers, "'Decimal' can't be found", "Import it at the top"),
        *(
            []
            if sys.version_info >= (3, 12)
            else [(returns_rows, "without a JSON form", "`typing_extensions.TypedDict`")]
        ),
    ],
)
def test_what_a_model_could_not_call_is_refused_with_the_cure(fn, problem, cure):
    with pytest.raises(TypeError) as refusal:
        ToolRegistry().add(fn, description="Echo.")
    assert str(refusal.value).startswith(f"Tool '{fn.__name__}'")
    assert problem in str(refusal.value)
    assert cure in str(refusal.value)
