"""The demo model: which tool a sentence means, with which arguments, and what is said about the result."""

import asyncio
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import create_model
from pydantic_ai import Agent, BinaryContent, ConcurrencyLimitedModel, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.exceptions import ConcurrencyLimitExceeded, ModelRetry
from pydantic_ai.messages import PartDeltaEvent, TextPart, TextPartDelta, ThinkingPart, ToolCallPart, ToolReturnPart
from pydantic_ai.tools import DeferredToolRequests, Tool, ToolDefinition

from agui.contrib.demo.arguments import fill_arguments
from agui.contrib.demo.choice import Match
from agui.contrib.demo.model import INTRODUCTION, LONGEST_SECONDS, build_demo_model, explain, make_plan, pause_seconds
from agui.testing import ScriptedModel, say, wait

Category = Literal["home", "work", "other"]


class Size(Enum):
    SMALL = "small"
    EXTRA_LARGE = "extra_large"


def list_tasks(category: Category | None = None, include_done: bool = False) -> list[dict[str, Any]]:
    """List the tasks of the user."""
    return [{"id": 1, "title": "Milk", "done": False}, {"id": 2, "title": "Bread | rolls", "done": True}]


def add_task(title: str, category: Category = "other", priority: int = 0, due: date | None = None) -> str:
    """Add a task to the list."""
    return f"Added {title}."


def complete_task(task_id: int | None = None, title: str | None = None) -> None:
    """Mark a task as done, by its number or its title."""


def delete_finished_tasks() -> None:
    """Delete all tasks that are done."""


def summarize_tasks() -> dict[str, int]:
    """Count the tasks of each category."""
    return {"home": 1, "work": 2}


def chart_tasks() -> None:
    """Draw a chart of the tasks."""


def echo(text: str) -> None:
    """Say it again."""


FUNCTIONS: list[Callable[..., Any]]
FUNCTIONS = [list_tasks, add_task, complete_task, delete_finished_tasks, summarize_tasks, chart_tasks, echo]
FOCUS = ToolDefinition(
    name="focus_on",
    description="Show one category in the page.",
    parameters_json_schema={"type": "object", "properties": {"category": {"type": "string"}}, "required": ["category"]},
)
# A tool of a client's may have a name without words.
TOOLS = [*(Tool(function).tool_def for function in FUNCTIONS), FOCUS, ToolDefinition(name="__")]


def ask(text: str, tools=TOOLS):
    """Plan the first answer to the text."""
    return make_plan([ModelRequest([UserPromptPart(text)])], tools)


def calls(text: str, tools=TOOLS) -> list[tuple[str, Any]]:
    return [(call.tool_name, call.args) for call in ask(text, tools).calls]


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("Draw a chart of my tasks, open and finished ones by category.", "chart_tasks", {}),
        ("hi, which home tasks are there?", "list_tasks", {"category": "home"}),
        ('add a task "Buy milk" category=home', "add_task", {"title": "Buy milk", "category": "home"}),
        ("Create a new task: Buy milk.", "add_task", {"title": "Buy milk"}),
        ("please add a task to buy 2 pears", "add_task", {"title": "buy 2 pears"}),
        ("add task Complete task list", "add_task", {"title": "Complete task list"}),
        ("add_task title=Buy milk, due=2026-02-03", "add_task", {"title": "Buy milk", "due": "2026-02-03"}),
        ("Remove all tasks that are done", "delete_finished_tasks", {}),
        ("Mark task #3 as done", "complete_task", {"task_id": 3}),
        ("complete task Buy milk", "complete_task", {"title": "Buy milk"}),
        ('use the echo tool with text="delete_finished_tasks"', "echo", {"text": "delete_finished_tasks"}),
        ("focus on home", "focus_on", {"category": "home"}),
        ("show my finished tasks", "list_tasks", {"include_done": True}),
        ("Hold a weekly review. Count my tasks by category, list the open ones, then end.", "summarize_tasks", {}),
    ],
)
def test_sentence_calls_the_tool_that_it_means(text, name, arguments):
    assert calls(text) == [(name, arguments)]


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("What is the meaning of life?", "I found no tool for that."),
        ("tasks", "I found no tool for that."),
        ("What can you do?", "This is what I can do."),
        ("Good morning", "Hello!"),
        (["What is this?", BinaryContent(b"x", media_type="image/png")], "I can't look into files."),
    ],
)
def test_sentence_without_a_tool_gets_help(text, opening):
    plan = ask(text)
    assert not plan.calls
    assert f"{opening} Name one of these tools" in plan.text
    assert "- `list_tasks`: List the tasks of the user." in plan.text
    assert '- `add_task title="..." category=home`: Add a task to the list.' in plan.text
    assert "`AGENT_MODEL` in `.env`" in plan.text
    assert "There are no tools yet." in ask(text, []).text


def test_names_that_are_connected_call_several_tools():
    both = [("list_tasks", {}), ("summarize_tasks", {})]
    assert calls("list_tasks and summarize_tasks") == calls("List my tasks, then summarize the tasks") == both
    assert calls("add task Milk category=home and then add task Bread, and echo hi") == [
        ("add_task", {"title": "Milk", "category": "home"}),
        ("add_task", {"title": "Bread"}),
        ("echo", {"text": "hi"}),
    ]


def test_tools_that_fit_alike_are_asked_about():
    days = {"today": "this day", "tomorrow": "the next day"}
    tools = [ToolDefinition(name=f"weather_{day}", description=f"The forecast for {of}.") for day, of in days.items()]
    plan = ask("What is the weather?", tools)
    assert "`weather_today` and `weather_tomorrow`" in plan.text
    assert "`weather_today` 0.50" in ask("Think about the weather.", tools).thinking
    assert not plan.calls
    assert calls("weather_tomorrow", tools) == [("weather_tomorrow", {})]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Buy milk", [("add_task", {"title": "Buy milk"})]),
        ("never mind", []),
        ("list my tasks", [("list_tasks", {})]),
    ],
)
def test_missing_argument_is_asked_for_and_the_answer_completes_the_call(answer, expected):
    assert "I still need `title`" in ask("Break it down into small tasks and add them, all in one category.").text
    asked = ask("add a task")
    assert not asked.calls
    assert 'I still need `title` for `add_task`. For example: `add_task title="..." category=home`' in asked.text
    said = [UserPromptPart("add a task")], [UserPromptPart(answer)]
    plan = make_plan([ModelRequest(said[0]), ModelResponse([TextPart(asked.text)]), ModelRequest(said[1])], TOOLS)
    assert [(call.tool_name, call.args) for call in plan.calls] == expected


MILK, BREAD, JOKE = 'add_task title="Buy milk"', 'add_task title="Buy bread"', "Tell me a joke"
BOTH = [("add_task", {"title": "Buy milk"}), ("add_task", {"title": "Buy bread"})]
CALL, RETURN = ToolCallPart("list_tasks", {}, "c1"), ToolReturnPart("list_tasks", "Milk", "c1")


@pytest.mark.parametrize(
    ("history", "expected", "told"),
    [
        ([ModelRequest([UserPromptPart(MILK)]), ModelRequest([UserPromptPart(BREAD)])], BOTH, ["I call `add_task`."]),
        ([ModelRequest([UserPromptPart(MILK), UserPromptPart(BREAD)])], BOTH, ["I call `add_task`."]),
        ([ModelRequest([UserPromptPart(JOKE), UserPromptPart(MILK)])], BOTH[:1], ["I found no tool", "I call"]),
        # What the page says about itself is no message.
        ([ModelRequest([UserPromptPart("<page-context>\nA shop."), UserPromptPart(MILK)])], BOTH[:1], ["I call"]),
        # The first of them answers a question.
        (
            [
                ModelRequest([UserPromptPart("add a task")]),
                ModelResponse([TextPart("I still need `title` for `add_task`.")]),
                ModelRequest([UserPromptPart('title="Buy milk"')]),
                ModelRequest([UserPromptPart(BREAD)]),
            ],
            BOTH,
            ["I call `add_task`."],
        ),
        # A message that was sent while a tool ran.
        (
            [
                ModelRequest([UserPromptPart("list tasks")]),
                ModelResponse([CALL]),
                ModelRequest([RETURN]),
                ModelRequest([UserPromptPart(MILK)]),
            ],
            BOTH[:1],
            ["`list_tasks` returned this:\n\nMilk", "I call `add_task`."],
        ),
    ],
)
def test_each_message_since_the_last_answer_is_answered(history, expected, told):
    plan = make_plan(history, TOOLS)
    assert [(call.tool_name, call.args) for call in plan.calls] == expected
    places = [plan.text.index(text) for text in told]
    assert places == sorted(places)
    assert plan.text.count("I call") == 1


def test_tools_are_searched_for_before_any_message_is_answered():
    search = ToolDefinition(name="search_tools", tool_kind="tool-search")
    new = [ModelRequest([UserPromptPart(MILK), UserPromptPart(JOKE)])]
    [call] = make_plan(new, [*TOOLS, search]).calls
    assert (call.tool_name, call.args) == ("search_tools", {"queries": [JOKE]})
    found = ToolReturnPart("search_tools", {"discovered_tools": []}, call.tool_call_id, tool_kind="tool-search")
    new += [ModelResponse([call]), ModelRequest([found])]
    assert [call.args for call in make_plan(new, [*TOOLS, search]).calls] == [{"title": "Buy milk"}]


def fill(types: dict[str, Any], text: str):
    """Find the arguments of a tool that takes these; one that may be left out is `(type, default)`."""
    fields = {name: kind if isinstance(kind, tuple) else (kind, ...) for name, kind in types.items()}
    schema = create_model("Arguments", **fields).model_json_schema()
    return fill_arguments(Match(ToolDefinition(name="tool", parameters_json_schema=schema), "", text))


def test_arguments_take_the_types_of_their_schema():
    types = {"size": Size, "count": int, "ratio": float, "day": date, "tags": list[str], "numbers": list[int]}
    types |= {"flag": bool, "options": dict[str, int], "key": (int | str, 1)}
    text = 'size="extra large" count=3 ratio=0.5 day=2026-02-03 tags=a, b numbers=[1, 2] flag=no options={"a": 1} key=x'
    values = {"size": "extra_large", "count": 3, "ratio": 0.5, "day": "2026-02-03", "tags": ["a", "b"]}
    values |= {"numbers": [1, 2], "flag": False, "options": {"a": 1}, "key": "x"}
    assert fill(types, text) == (values, [])
    assert fill(types, "") == ({}, ["size", "count", "ratio", "day", "tags", "numbers", "flag", "options"])

    # A type that contains itself is followed once.
    nested = {"type": "array", "items": {"$ref": "#/$defs/Nested"}}
    schema = {"$defs": {"Nested": nested}, "properties": {"tree": {"$ref": "#/$defs/Nested"}}, "required": ["tree"]}
    tool = ToolDefinition(name="plant", parameters_json_schema=schema)
    assert fill_arguments(Match(tool, "", "tree=[[],[]]")) == ({"tree": [[], []]}, [])


REPORT = {"show_all": (bool, False), "only_open": (bool, False), "limit": (int, 20)}


@pytest.mark.parametrize(
    ("types", "text", "values"),
    [
        (
            {"day": date, "count": int, "size": Size, "tags": list[str], "ratio": (float | None, None)},
            'on 2026-02-03, 3 small ones, "red" and "round" at 0.5',
            {"day": "2026-02-03", "count": 3, "size": "small", "tags": ["red", "round"], "ratio": 0.5},
        ),
        ({"numbers": list[float]}, "of 1, 2 and -3.5", {"numbers": [1, 2, -3.5]}),
        ({"category": (str, "")}, "on home", {"category": "home"}),
        ({"category": (str, "")}, "on all tasks again", {}),
        ({"key": str | int, "flag": (bool, False)}, "key=3", {"key": 3}),
        (REPORT, "of what is open", {"only_open": True}),
        (REPORT, "of the last five tasks", {"limit": 5}),
        (REPORT, "of tasks five", {}),
        ({"count": int}, "true 3", {"count": 3}),
        ({"count": int}, "count=many", {"count": "many"}),
        ({"count": int}, f"count={'[' * 1900}", {"count": "[" * 1900}),
        ({"category": (Category | None, None)}, "category=none", {"category": None}),
    ],
)
def test_arguments_are_found_by_their_type(types, text, values):
    assert fill(types, text) == (values, [])


def returned(content: Any, outcome: Any = "success") -> str:
    return explain(ToolReturnPart("show", content, tool_call_id="x", outcome=outcome))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "`show` returned nothing."),
        (False, "`show` returned `false`"),
        (date(2026, 1, 2), "`show` returned this:\n\n2026-01-02"),
        ({"home": 1, "tags": ["a"]}, '`show` returned this:\n\n- **home**: 1\n- **tags**: ["a"]'),
        (
            {"home": {"open": 1}, "work": {"open": 2}},
            "`show` returned 2 entries:\n\n|  | open |\n| --- | --- |\n| home | 1 |\n| work | 2 |",
        ),
        ('["a"]', "`show` returned 1 entry:\n\n- a"),
        (
            [{"id": 1, "title": "a | b\nc"}, {"id": 2, "done": True}],
            "`show` returned 2 entries:\n\n| id | title | done |\n| --- | --- | --- |\n"
            "| 1 | a \\| b c |  |\n| 2 |  | true |",
        ),
    ],
)
def test_result_is_explained_as_markdown(content, text):
    assert returned(content) == text


def test_long_result_is_cut():
    assert returned(list(range(100))).endswith("- 19\n\nand 80 more.")
    assert len(returned("x" * 10_000)) < 5000


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("denied", "`show` did not run, because it was declined. Because."),
        ("failed", "`show` failed: Because."),
        ("retried", "`show` refused: Because."),
        ("interrupted", "`show` was interrupted: Because."),
    ],
)
def test_result_that_is_none_is_explained(outcome, text):
    assert returned("Because.", outcome) == text


# ---- As the model of an agent ----


def build(*functions, notice: str = "", **options: Any) -> Agent[None, Any]:
    model = build_demo_model(notice, pace_seconds=0)
    return Agent(model, tools=functions, output_type=[str, DeferredToolRequests], **options)


async def test_streamed_and_whole_answers_are_the_same():
    prompt = "Think about it: list my tasks of home and add task Milk"
    whole = (await build(*FUNCTIONS).run(prompt)).all_messages()
    async with build(*FUNCTIONS).run_stream_events(prompt) as events:
        received = [event async for event in events]
    streamed = received[-1].result.all_messages()

    def said(messages):
        parts = [part for message in messages if isinstance(message, ModelResponse) for part in message.parts]
        return [(type(part), part.args_as_dict() if isinstance(part, ToolCallPart) else part.content) for part in parts]

    kinds, contents = zip(*said(whole), strict=True)
    assert said(streamed) == said(whole)
    assert kinds == (ThinkingPart, TextPart, ToolCallPart, ToolCallPart, TextPart)
    assert contents[0] == (
        'The message names `list_tasks` and `add_task`. list_tasks: {"category": "home"}. add_task: {"title": "Milk"}.'
    )
    deltas = [event.delta for event in received if isinstance(event, PartDeltaEvent)]
    words = [delta.content_delta for delta in deltas if isinstance(delta, TextPartDelta)]
    assert words[:4] == [" am", " the", " offline", " demo"]
    calls = [part for message in whole + streamed for part in message.parts if isinstance(part, ToolCallPart)]
    assert len({call.tool_call_id for call in calls}) == 4


async def test_introduction_opens_the_conversation_only():
    agent = build(*FUNCTIONS, notice="OPENAI_API_KEY is not set.")
    first = await agent.run("What can you do? List my tasks.")
    assert first.all_messages()[1].text.startswith(f"OPENAI_API_KEY is not set. {INTRODUCTION}")
    history = first.all_messages()[:-1]  # A run that ended after its tool
    second = await agent.run("summarize my tasks", message_history=history)
    assert INTRODUCTION not in second.output
    assert "`summarize_tasks` returned" in second.output


@pytest.mark.parametrize(("said", "tool"), [("/review", "list_tasks"), ("summarize tasks", "summarize_tasks")])
async def test_skill_is_read_in_place_of_its_name(said, tool):
    agent = build(*FUNCTIONS, instructions=["Summarize tasks when asked to.", lambda: "Delete finished tasks."])
    result = await agent.run(said, instructions="Review my day: list my tasks, then end.")
    assert result.output.startswith(f"`{tool}` returned")
    assert "delete" not in result.output


@pytest.mark.parametrize(("number", "why"), [(3, "Pick another number."), ("many", "")])
async def test_refused_arguments_are_explained(number, why):
    def pick(number: int) -> None:
        """Pick a number."""
        raise ModelRetry("Pick another number.")

    assert f"`pick` refused: {why}" in (await build(pick).run(f"pick number={number}")).output


async def test_tool_that_is_loaded_late_is_searched_for() -> None:
    def convert_money(amount: int) -> int:
        """Convert euros to dollars."""
        return 2 * amount

    result = await build(Tool(convert_money, defer_loading=True), echo).run("convert money: 21")
    assert result.output == "`convert_money` returned `42`"


def test_long_answers_are_paced_faster():
    pauses = [pause_seconds(words, 0.025) for words in (1, 100, 1000)]
    assert pauses == [0.025, 0.025, LONGEST_SECONDS / 1000]


async def test_limit_how_much_is_asked_at_once(paste, user):
    recipe = paste("limit-cost#limit-how-much-is-asked-at-once")
    assert isinstance(recipe.view.agent.model, ConcurrencyLimitedModel)
    let_go = asyncio.Event()
    script = ScriptedModel([wait(let_go), say("Hello.")] for _ in range(12))
    agent = Agent(recipe.limited(script))
    runs = [asyncio.create_task(agent.run(f"Run {n}")) for n in range(13)]
    refused, waiting = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
    assert [type(run.exception()) for run in refused] == [ConcurrencyLimitExceeded]
    assert len(script.requests) == 2
    let_go.set()
    assert [(await run).output for run in waiting] == ["Hello."] * 12
