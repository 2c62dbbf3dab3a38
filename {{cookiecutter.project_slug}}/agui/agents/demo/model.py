"""The offline demo model: it needs no key, and does not pretend to understand.

It matches the words of a message with the names and descriptions of the tools that it was offered,
takes their arguments from the message by their JSON Schema, and explains what they returned:

    make_plan -> choice.choose_tools -> arguments.fill_arguments -> (the tools run) -> explain

So a tool can be tried the minute it is written. The same message always gets the same answer.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pydantic_ai import messages as m
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.tools import ToolDefinition

from agui.agents.demo.arguments import UNREADABLE, example_of, fill_arguments
from agui.agents.demo.choice import Choice, Match, choose_tools, names_of
from agui.blocking.executor import run_in_thread

PACE_SECONDS = 0.025
LONGEST_SECONDS = 4.0  # a long answer is paced faster
MAX_CHARS = 2000  # of a prompt that is read, and of a result that is shown
MAX_ROWS = 20
MAX_TOOLS = 200  # that are looked at: a client may bring hundreds
MAX_NAME_CHARS = 100
_WORD = re.compile(r"\s*\S+|\s+")

INTRODUCTION = "I am the offline demo model: I match words, I don't understand them."
REAL_MODEL = (
    "For real answers set `AGENT_MODEL` in `.env`, for example `openai:gpt-6.1-terra` or "
    "`anthropic:claude-sonnet-5-5`, together with its key, and restart."
)
ASKED = "I still need "


@dataclass(frozen=True)
class Plan:
    """One answer: reasoning, text and tool calls, in this order."""

    text: str
    calls: Sequence[m.ToolCallPart] = ()
    thinking: str = ""


class DemoModel(FunctionModel):
    """A function as the model; it leaves the search for late tools to pydantic-ai, having none of its own."""

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[AbstractNativeTool]]:
        return frozenset(
            tool for tool in super().supported_native_tools() if tool.kind != "tool_search"
        )


def build_demo_model(notice: str = "", pace_seconds: float = PACE_SECONDS) -> Model:
    """Build the model. It opens a conversation with the notice; the pace is its pause after each word."""

    async def respond(messages: list[m.ModelMessage], info: AgentInfo) -> m.ModelResponse:
        plan = await _plan(messages, info, notice)
        thinking = [m.ThinkingPart(plan.thinking)] if plan.thinking else []
        return m.ModelResponse(parts=[*thinking, m.TextPart(plan.text), *plan.calls])

    async def stream(messages: list[m.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        plan = await _plan(messages, info, notice)
        thoughts, words = (_WORD.findall(text) for text in (plan.thinking, plan.text))
        pause = pause_seconds(len(thoughts + words), pace_seconds)
        for delta in [*({0: DeltaThinkingPart(content=thought)} for thought in thoughts), *words]:
            yield delta
            await asyncio.sleep(pause)
        for key, call in enumerate(plan.calls, start=1):
            yield {key: DeltaToolCall(name=call.tool_name, tool_call_id=call.tool_call_id)}
            for piece in _WORD.findall(call.args_as_json_str()):
                yield {key: DeltaToolCall(json_args=piece)}

    return DemoModel(respond, stream_function=stream, model_name="demo")


async def _plan(messages: Sequence[m.ModelMessage], info: AgentInfo, notice: str) -> Plan:
    # In a thread: messages, and the tools of a client, may be as large as requests may be.
    return await run_in_thread(
        make_plan, messages, info.function_tools, notice, _skill_words(info), pool="reading"
    )


def pause_seconds(words: int, pace_seconds: float) -> float:
    """How long to wait after each word, so that nobody waits long for the last one."""
    return min(pace_seconds, LONGEST_SECONDS / max(1, words))


def _skill_words(info: AgentInfo) -> str:
    """What a skill stands for: the one instruction that comes with the run, not with the agent."""
    parts = info.model_request_parameters.instruction_parts or []
    return " ".join(part.content for part in parts if part.id is None and not part.dynamic)


def make_plan(
    messages: Sequence[m.ModelMessage],
    tools: Sequence[ToolDefinition],
    notice: str = "",
    skill: str = "",
) -> Plan:
    """Decide what to answer to the last message."""
    returns = [part for part in messages[-1].parts if isinstance(part, m.ToolReturnPart)]
    searched = any(part.tool_kind == "tool-search" for part in returns)
    if returns and not searched and not isinstance(messages[-1].parts[-1], m.UserPromptPart):
        return Plan("\n\n".join(explain(part) for part in returns))
    search = [tool for tool in tools if tool.tool_kind == "tool-search"]
    known = [
        tool
        for tool in tools
        if tool.tool_kind != "tool-search" and len(tool.name) <= MAX_NAME_CHARS
    ]
    known = known[:MAX_TOOLS]
    prompt, choice = _understand(messages, known, skill)
    if choice.matches or choice.tied:
        plan = _act(choice)
    elif search and prompt and not searched:
        plan = Plan("I look for a tool.", [_call(search[0], {"queries": [prompt]})])
    else:
        plan = Plan(_help(messages[-1], prompt, known))
    opening = (
        ""
        if any(isinstance(message, m.ModelResponse) for message in messages)
        else f"{notice} {INTRODUCTION}"
    )
    thinking = f"{choice.reason} {plan.thinking}" if re.search(r"\bthink\b", prompt, re.I) else ""
    return Plan(f"{opening} {plan.text}".strip(), plan.calls, thinking.strip())


def _understand(
    messages: Sequence[m.ModelMessage], tools: Sequence[ToolDefinition], skill: str
) -> tuple[str, Choice]:
    """Read the newest prompt; one that only answers a question goes together with what it answers."""
    prompts = [
        "",
        *(
            _text(part)
            for message in messages
            for part in message.parts
            if isinstance(part, m.UserPromptPart)
        ),
    ]
    if skill and prompts[-1].startswith("/"):
        prompts[-1] = skill[:MAX_CHARS]
    choice = choose_tools(prompts[-1], tools)
    answers = [message.text or "" for message in messages if isinstance(message, m.ModelResponse)]
    asked = bool(answers) and ASKED in answers[-1]
    if (
        not asked
        or choice.matches
        or re.match(r"\W*(no|cancel|stop|forget|never ?mind)\b", prompts[-1], re.I)
    ):
        return prompts[-1], choice
    prompt = f"{prompts[-2]} {prompts[-1]}"
    return prompt, choose_tools(prompt, tools)


def _text(part: m.UserPromptPart) -> str:
    items = [part.content] if isinstance(part.content, str) else part.content
    return " ".join(item for item in items if isinstance(item, str))[:MAX_CHARS]


def _act(choice: Choice) -> Plan:
    """Call the chosen tools, or ask for what is missing."""
    if choice.tied:
        return Plan(f"Do you mean {names_of(choice.tied)}? Name one of them.")
    filled = [
        (tool, *fill_arguments(Match(tool, before, after)))
        for tool, before, after in choice.matches
    ]
    thinking = " ".join(f"{tool.name}: {json.dumps(arguments)}." for tool, arguments, _ in filled)
    questions = [
        f"{ASKED}{' and '.join(f'`{name}`' for name in missing)} for `{tool.name}`. For example: `{example_of(tool)}`"
        for tool, _, missing in filled
        if missing
    ]
    if questions:
        return Plan("\n\n".join(questions), thinking=thinking)
    calls = [_call(tool, arguments) for tool, arguments, _ in filled]
    return Plan(f"I call {names_of([tool for tool, *_ in filled])}.", calls, thinking)


def _call(tool: ToolDefinition, arguments: dict[str, Any]) -> m.ToolCallPart:
    # An id that came back in a later turn would be taken for the earlier call.
    return m.ToolCallPart(tool.name, arguments, tool_call_id=f"demo-{uuid4().hex}")


def _help(message: m.ModelMessage, prompt: str, tools: Sequence[ToolDefinition]) -> str:
    """Say what can be done here."""
    contents = [part.content for part in message.parts if isinstance(part, m.UserPromptPart)]
    files = any(
        not isinstance(item, str)
        for content in contents
        if not isinstance(content, str)
        for item in content
    )
    first = "I can't look into files." if files else "I found no tool for that."
    if re.search(r"\bhelp\b|what (can|do) you", prompt, re.I):
        first = "This is what I can do."
    if re.match(r"\W*(hello|hi|hey|good (morning|afternoon|evening))\b", prompt, re.I):
        first = "Hello!"
    lines = [
        f"- `{example_of(tool)[:MAX_CHARS]}`: {_first_line(tool.description or 'no description')}"
        for tool in tools[:MAX_ROWS]
    ]
    if len(tools) > MAX_ROWS:
        lines.append(f"- and {len(tools) - MAX_ROWS} more")
    offer = (
        "Name one of these tools, or use its words:\n\n" + "\n".join(lines)
        if tools
        else "There are no tools yet."
    )
    return f"{first} {offer}\n\n{REAL_MODEL}"


def _first_line(text: str) -> str:
    return text[:MAX_CHARS].lstrip().partition("\n")[0]


def explain(part: m.ToolReturnPart) -> str:
    """Say how a tool call ended, as Markdown."""
    name, content = (
        f"`{part.tool_name}`",
        part.model_response_str(wrap_if_error=False)[: 10 * MAX_CHARS],
    )
    endings = {
        "denied": f"{name} did not run, because it was declined.",
        "failed": f"{name} failed:",
        "retried": f"{name} refused:",
        "interrupted": f"{name} was interrupted:",
    }
    if part.outcome in endings:
        return f"{endings[part.outcome]} {content}"
    if isinstance(part.content, m.BinaryContent):
        return (
            f"{name} returned a file, which this demo can't look into ({part.content.media_type})."
        )
    try:
        value = json.loads(content)
    except UNREADABLE:
        value = content
    return f"{name} returned {_to_markdown(value)}"


def _to_markdown(value: Any) -> str:
    if value in (None, "", [], {}):
        return "nothing."
    if isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()):
        value = [{"": key, **item} for key, item in value.items()]
    if isinstance(value, dict):
        return "this:\n\n" + "\n".join(f"- **{key}**: {_cell(item)}" for key, item in value.items())
    if isinstance(value, str):
        return f"this:\n\n{value[:MAX_CHARS]}"
    if not isinstance(value, list):
        return f"`{_cell(value)}`"
    rows = value[:MAX_ROWS]
    if all(isinstance(row, dict) for row in rows):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        lines = [
            columns,
            ["---"] * len(columns),
            *([row.get(column) for column in columns] for row in rows),
        ]
        body = "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)
    else:
        body = "\n".join(f"- {_cell(row)}" for row in rows)
    more = f"\n\nand {len(value) - MAX_ROWS} more." if len(value) > MAX_ROWS else ""
    return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}:\n\n{body}{more}"


def _cell(value: Any) -> str:
    """One value on one line, which can't leave its table cell."""
    text = (
        value
        if isinstance(value, str)
        else ""
        if value is None
        else json.dumps(value, ensure_ascii=False)
    )
    return " ".join(text.split()).replace("|", "\\|")[:200]
