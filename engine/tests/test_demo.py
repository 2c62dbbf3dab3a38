"""The demo model: which tool a sentence means, with which arguments, and what is said about the result."""

from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, Tool, ToolDenied
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset

from agui.contrib.demo.arguments import fill_arguments
from agui.contrib.demo.choice import Match, choose_tools
from agui.contrib.demo.model import INTRODUCTION, LONGEST_SECONDS, build_demo_model, explain, make_plan, pause_seconds

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


def complete_task(task_id: int | None = None, title: str | None = None) -> str:
    """Mark a task as done, by its number or its title."""
    return "Done."


def delete_finished_tasks() -> int:
    """Delete all tasks that are done."""
    return 2


def summarize_tasks() -> dict[str, int]:
    """Count the tasks of each category."""
    return {"home": 1, "work": 2}


def chart_tasks() -> str:
    """Draw a chart of the tasks."""
    return "Drawn."


def echo(text: str) -> str:
    """Say it again."""
    return text


FUNCTIONS: list[Callable[..., Any]] = [
    list_tasks,
    add_task,
    complete_task,
    delete_finished_tasks,
    summarize_tasks,
    chart_tasks,
    echo,
]
FOCUS = ToolDefinition(
    name="focus_on",
    description="Show one category in the page.",
    parameters_json_schema={"type": "object", "properties": {"category": {"type": "string"}}, "required": ["category"]},
)
TOOLS = [*(Tool(function).tool_def for function in FUNCTIONS), FOCUS]


def ask(text: str, tools=TOOLS):
    """Plan the first answer to the text."""
    return make_plan([ModelRequest([UserPromptPart(text)])], tools)


def calls(text: str, tools=TOOLS) -> list[tuple[str, Any]]:
    return [(call.tool_name, call.args) for call in ask(text, tools).calls]


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("What tasks do I have?", "list_tasks", {}),
        ("Show a chart of my tasks", "chart_tasks", {}),
        ("chart my tasks", "chart_tasks", {}),
        ("Draw a chart of my tasks, open and finished ones by category.", "chart_tasks", {}),
        ("Which home tasks are there?", "list_tasks", {"category": "home"}),
        ("hi, list my tasks", "list_tasks", {}),
        ("list_tasks category=work include_done=yes", "list_tasks", {"category": "work", "include_done": True}),
        ('add a task "Buy milk" category=home', "add_task", {"title": "Buy milk", "category": "home"}),
        ("please add task Buy milk", "add_task", {"title": "Buy milk"}),
        ("Create a new task: Buy milk.", "add_task", {"title": "Buy milk"}),
        ("add a task to buy 2 pears", "add_task", {"title": "buy 2 pears"}),
        ("add task Complete task list", "add_task", {"title": "Complete task list"}),
        (
            "add_task title=Buy milk, due=2026-02-03 priority: 2",
            "add_task",
            {"title": "Buy milk", "priority": 2, "due": "2026-02-03"},
        ),
        ("delete the finished tasks", "delete_finished_tasks", {}),
        ("Remove all tasks that are done", "delete_finished_tasks", {}),
        ("summarize my tasks by category", "summarize_tasks", {}),
        ("Give me a summary", "summarize_tasks", {}),
        ("complete task 3", "complete_task", {"task_id": 3}),
        ("Mark task #3 as done", "complete_task", {"task_id": 3}),
        ('complete task "Buy milk"', "complete_task", {"title": "Buy milk"}),
        ("complete task Buy milk", "complete_task", {"title": "Buy milk"}),
        ("echo text='hi'", "echo", {"text": "hi"}),
        (
            'use the echo tool with text="delete_finished_tasks and more"',
            "echo",
            {"text": "delete_finished_tasks and more"},
        ),
        ("focus on home", "focus_on", {"category": "home"}),
        ("list my home tasks", "list_tasks", {"category": "home"}),
        ("show my finished tasks", "list_tasks", {"include_done": True}),
        ("How many tasks do I have?", "summarize_tasks", {}),
        ("Look at my open tasks and propose an order for today.", "list_tasks", {}),
        ("Hold a weekly review. Count my tasks by category, list the open ones, then end.", "summarize_tasks", {}),
        ('echo "delete_finished_tasks"', "echo", {"text": "delete_finished_tasks"}),
    ],
)
def test_sentence_calls_the_tool_that_it_means(text, name, arguments):
    assert calls(text) == [(name, arguments)]


@pytest.mark.parametrize(
    "text", ["", "???", "Tell me a joke", "What is the meaning of life?", "tasks", "What can you do?"]
)
def test_sentence_without_a_tool_gets_help(text):
    plan = ask(text)
    assert not plan.calls
    assert "- `list_tasks`: List the tasks of the user." in plan.text
    assert '- `add_task title="..." category=home`: Add a task to the list.' in plan.text
    assert "`AGENT_MODEL` in `.env`" in plan.text
    assert "offline" in plan.text


@pytest.mark.parametrize(("text", "limit"), [("Show me the last five tasks", 5), ("List tasks five", None)])
def test_count_in_words_limits_a_list(text, limit):
    def list_rows(limit: int = 20) -> list[str]:
        return []

    definition = Tool(list_rows).tool_def
    values, _ = fill_arguments(Match(definition, text, ""))
    assert values.get("limit") == limit


def test_help_without_tools_says_so():
    assert "There are no tools yet." in ask("list my tasks", []).text


def test_scattered_words_of_a_name_leave_no_free_text():
    assert "I still need `title`" in ask("Break it down into small tasks and add them, all in one category.").text


def test_greeting_is_returned():
    assert "Hello!" in ask("Good morning").text


def test_file_is_not_looked_into():
    content = ["What is this?", BinaryContent(b"x", media_type="image/png")]
    plan = make_plan([ModelRequest([UserPromptPart(content)])], TOOLS)
    assert "I can't look into files." in plan.text


@pytest.mark.parametrize("text", ["list_tasks and summarize_tasks", "List my tasks, then summarize the tasks"])
def test_two_names_call_two_tools(text):
    assert calls(text) == [("list_tasks", {}), ("summarize_tasks", {})]


def test_exact_name_wins_over_words_that_mean_the_same():
    show_task = ToolDefinition(name="show_task", description="Show one task.")
    assert choose_tools("show_task", [*TOOLS, show_task]).matches[0].tool is show_task


def test_name_without_a_letter_is_no_word():
    odd = ToolDefinition(name="__", description="A tool of a client's.")
    assert choose_tools("list my tasks", [odd, *TOOLS]).reason == "The message names `list_tasks`."


def test_each_of_two_calls_has_its_own_arguments():
    text = "add task Milk category=home and then add task Bread, and echo hi"
    assert calls(text) == [
        ("add_task", {"title": "Milk", "category": "home"}),
        ("add_task", {"title": "Bread"}),
        ("echo", {"text": "hi"}),
    ]


def test_tools_that_fit_alike_are_asked_about():
    def weather_today() -> str:
        """The forecast for this day."""
        return ""

    def weather_tomorrow() -> str:
        """The forecast for the next day."""
        return ""

    tools = [Tool(weather_today).tool_def, Tool(weather_tomorrow).tool_def]
    plan = ask("What is the weather?", tools)
    assert "`weather_today` and `weather_tomorrow`" in plan.text
    assert not plan.calls
    assert calls("weather_tomorrow", tools) == [("weather_tomorrow", {})]


def test_missing_argument_is_asked_for_with_an_example():
    plan = ask("add a task")
    assert not plan.calls
    assert "I still need `title` for `add_task`" in plan.text
    assert 'add_task title="..." category=home' in plan.text


def test_answer_to_the_question_completes_the_call():
    question = ModelResponse([TextPart(ask("add a task").text)])
    history = [ModelRequest([UserPromptPart("add a task")]), question]
    plan = make_plan([*history, ModelRequest([UserPromptPart("Buy milk")])], TOOLS)
    assert [call.args for call in plan.calls] == [{"title": "Buy milk"}]
    assert not make_plan([*history, ModelRequest([UserPromptPart("never mind")])], TOOLS).calls
    plan = make_plan([*history, ModelRequest([UserPromptPart("list my tasks")])], TOOLS)
    assert [call.tool_name for call in plan.calls] == ["list_tasks"]


def test_choice_is_explained():
    assert choose_tools("list my tasks", TOOLS).reason == "The message names `list_tasks`."
    assert "`summarize_tasks` 1.00" in choose_tools("Give me a summary", TOOLS).reason


def fill(function, text: str):
    return fill_arguments(Match(Tool(function).tool_def, "", text))


def everything(
    size: Size,
    count: int,
    ratio: float,
    day: date,
    tags: list[str],
    numbers: list[int],
    flag: bool,
    options: dict[str, int],
    key: int | str = 1,
) -> None: ...


def test_arguments_take_the_types_of_their_schema():
    text = 'size="extra large" count=3 ratio=0.5 day=2026-02-03 tags=a, b numbers=[1, 2] flag=no options={"a": 1} key=x'
    assert fill(everything, text) == (
        {
            "size": "extra_large",
            "count": 3,
            "ratio": 0.5,
            "day": "2026-02-03",
            "tags": ["a", "b"],
            "numbers": [1, 2],
            "flag": False,
            "options": {"a": 1},
            "key": "x",
        },
        [],
    )


def test_arguments_are_found_by_their_type():
    def order(day: date, count: int, size: Size, tags: list[str], ratio: float | None = None) -> None: ...

    values, missing = fill(order, 'on 2026-02-03, 3 small ones, "red" and "round" at 0.5')
    assert values == {"day": "2026-02-03", "count": 3, "size": "small", "tags": ["red", "round"], "ratio": 0.5}
    assert missing == []


def test_numbers_fill_a_list_of_numbers():
    def average(numbers: list[float]) -> None: ...

    assert fill(average, "of 1, 2 and -3.5") == ({"numbers": [1, 2, -3.5]}, [])


def test_type_that_contains_itself_is_followed_once():
    nested = {"type": "array", "items": {"$ref": "#/$defs/Nested"}}
    schema = {"$defs": {"Nested": nested}, "properties": {"tree": {"$ref": "#/$defs/Nested"}}, "required": ["tree"]}
    tool = ToolDefinition(name="plant", parameters_json_schema=schema)
    assert fill_arguments(Match(tool, "", "tree=[[],[]]")) == ({"tree": [[], []]}, [])


@pytest.mark.parametrize(("text", "values"), [("on home", {"category": "home"}), ("on all tasks again", {}), ("", {})])
def test_only_text_argument_takes_what_follows(text, values):
    def focus(category: str = "") -> None: ...

    assert fill(focus, text) == (values, [])


def test_text_is_the_last_type_that_is_tried():
    def find(key: str | int, flag: bool = False) -> None: ...

    assert fill(find, "key=3") == ({"key": 3}, [])
    assert fill(find, "key=three") == ({"key": "three"}, [])


def test_flag_is_set_by_its_words_only():
    def report(show_all: bool = False, only_open: bool = False) -> None: ...

    assert fill(report, "for me") == ({}, [])
    assert fill(report, "of what is open") == ({"only_open": True}, [])


def test_argument_that_is_hardly_json_is_left_to_the_tool():
    def order(count: int) -> None: ...

    brackets = "[" * 1900
    assert fill(order, f"count={brackets}") == ({"count": brackets}, [])


def test_true_is_no_number():
    def order(count: int) -> None: ...

    assert fill(order, "true 3") == ({"count": 3}, [])


def test_argument_that_does_not_fit_is_left_to_the_tool():
    def order(count: int) -> None: ...

    assert fill(order, "count=many") == ({"count": "many"}, [])


def test_optional_argument_may_be_none():
    assert fill(list_tasks, "category=none") == ({"category": None}, [])


def test_missing_arguments_are_all_named():
    assert fill(everything, "")[1] == ["size", "count", "ratio", "day", "tags", "numbers", "flag", "options"]


def returned(content: Any, outcome: Any = "success") -> str:
    return explain(ToolReturnPart("show", content, tool_call_id="x", outcome=outcome))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "`show` returned nothing."),
        ([], "`show` returned nothing."),
        (0, "`show` returned `0`"),
        (False, "`show` returned `false`"),
        ("Done.", "`show` returned this:\n\nDone."),
        (date(2026, 1, 2), "`show` returned this:\n\n2026-01-02"),
        ({"home": 1, "tags": ["a"]}, '`show` returned this:\n\n- **home**: 1\n- **tags**: ["a"]'),
        (
            {"home": {"open": 1}, "work": {"open": 2}},
            "`show` returned 2 entries:\n\n|  | open |\n| --- | --- |\n| home | 1 |\n| work | 2 |",
        ),
        (["a", "b"], "`show` returned 2 entries:\n\n- a\n- b"),
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
    ("outcome", "words"),
    [
        ("denied", "it was declined"),
        ("failed", "failed"),
        ("retried", "refused"),
        ("interrupted", "interrupted"),
    ],
)
def test_result_that_is_none_is_explained(outcome, words):
    assert words in returned("Because.", outcome)
    assert "Because." in returned("Because.", outcome)


# ---- As the model of an agent ----


def build(*functions, notice: str = "", **options: Any) -> Agent[None, Any]:
    model = build_demo_model(notice, pace_seconds=0)
    return Agent(model, tools=functions, output_type=[str, DeferredToolRequests], **options)


async def test_tool_is_called_and_its_result_explained():
    result = await build(*FUNCTIONS).run("list my tasks")
    assert "| 2 | Bread \\| rolls | true |" in result.output


async def test_streamed_and_whole_answers_are_the_same():
    prompt = "think: list my tasks and add task Milk"
    whole = (await build(*FUNCTIONS).run(prompt)).all_messages()
    async with build(*FUNCTIONS).run_stream_events(prompt) as events:
        received = [event async for event in events]
    streamed = received[-1].result.all_messages()

    def parts(messages):
        contents = {TextPart: "content", ThinkingPart: "content", ToolCallPart: "args_as_dict"}
        for message in messages:
            for part in message.parts:
                if field := contents.get(type(part)):
                    value = getattr(part, field)
                    yield type(part), value() if callable(value) else value

    assert list(parts(streamed)) == list(parts(whole))
    assert [kind for kind, _ in parts(whole)] == [ThinkingPart, TextPart, ToolCallPart, ToolCallPart, TextPart]


async def test_text_is_streamed_word_by_word():
    async with build().run_stream_events("Hello") as events:
        received = [event async for event in events]
    words = [
        event.delta.content_delta
        for event in received
        if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta)
    ]
    first = next(event.part.content for event in received if isinstance(event, PartStartEvent))
    assert [first, *words[:4]] == ["I", " am", " the", " offline", " demo"]
    assert "".join([first, *words]) == received[-1].result.output


async def test_thinking_is_shown_when_asked_for():
    result = await build(*FUNCTIONS).run("Think about it: list my tasks of home")
    thinking = result.all_messages()[1].parts[0]
    assert isinstance(thinking, ThinkingPart)
    assert thinking.content == 'The message names `list_tasks`. list_tasks: {"category": "home"}.'


async def test_introduction_opens_the_conversation_only():
    agent = build(*FUNCTIONS, notice="OPENAI_API_KEY is not set.")
    first = await agent.run("What can you do?")
    assert first.output.startswith(f"OPENAI_API_KEY is not set. {INTRODUCTION}")
    second = await agent.run("What can you do?", message_history=first.all_messages())
    assert INTRODUCTION not in second.output


async def test_skill_is_read_in_place_of_its_name():
    agent = build(*FUNCTIONS, instructions=["Summarize tasks when asked to.", lambda: "Delete finished tasks."])
    result = await agent.run("/review", instructions="Review my day: list my tasks, then end.")
    assert result.output.startswith("`list_tasks` returned")
    assert "delete" not in result.output
    assert "summarize" not in result.output
    result = await agent.run("summarize tasks", instructions="Review my day: list my tasks, then end.")
    assert "`summarize_tasks` returned" in result.output


async def test_call_ids_never_repeat():
    agent = build(*FUNCTIONS)
    ids = set()
    for _ in range(2):
        messages = (await agent.run("list my tasks and summarize tasks")).all_messages()
        ids |= {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCallPart)}
    assert len(ids) == 4


async def test_new_message_after_a_result_is_answered():
    agent = build(*FUNCTIONS)
    first = await agent.run("list my tasks")
    history = first.all_messages()[:-1]  # a run that ended after its tool
    second = await agent.run("summarize my tasks", message_history=history)
    assert "`summarize_tasks` returned" in second.output


async def test_denied_tool_is_explained():
    agent = build(Tool(delete_finished_tasks, requires_approval=True))
    paused = await agent.run("delete the finished tasks")
    [call] = paused.output.approvals
    answer = DeferredToolResults(approvals={call.tool_call_id: ToolDenied("Not today.")})
    result = await agent.run(message_history=paused.all_messages(), deferred_tool_results=answer)
    assert result.output == "`delete_finished_tasks` did not run, because it was declined. Not today."


async def test_failed_tool_is_explained():
    def break_down() -> None:
        """Fail."""
        raise ToolFailed("The database is away.")

    result = await build(break_down).run("break down")
    assert result.output == "`break_down` failed: The database is away."


async def test_refused_arguments_are_explained():
    def pick(number: int) -> None:
        """Pick a number."""
        raise ModelRetry("Pick another number.")

    result = await build(pick).run("pick number=3")
    assert "`pick` refused: Pick another number." in result.output
    result = await build(pick).run("pick number=many")
    assert "`pick` refused:" in result.output


async def test_tool_of_the_page_is_called():
    agent = build(*FUNCTIONS, toolsets=[ExternalToolset([FOCUS])])
    paused = await agent.run("focus on home")
    [call] = paused.output.calls
    assert (call.tool_name, call.args_as_dict()) == ("focus_on", {"category": "home"})
    answer = DeferredToolResults(calls={call.tool_call_id: '{"shown": "home"}'})
    result = await agent.run(message_history=paused.all_messages(), deferred_tool_results=answer)
    assert result.output == "`focus_on` returned this:\n\n- **shown**: home"


async def test_tool_that_is_loaded_late_is_searched_for() -> None:
    def convert_money(amount: int) -> int:
        """Convert euros to dollars."""
        return 2 * amount

    result = await build(Tool(convert_money, defer_loading=True), echo).run("convert money: 21")
    assert result.output == "`convert_money` returned `42`"


@pytest.mark.parametrize(("words", "pause"), [(1, 0.025), (100, 0.025), (1000, LONGEST_SECONDS / 1000)])
def test_long_answers_are_paced_faster(words, pause):
    assert pause_seconds(words, 0.025) == pause
