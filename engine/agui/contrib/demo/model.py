"""The offline demo model: it needs no key, and does not pretend to understand.

It matches the words of a message with the names and descriptions of the tools that it was offered,
takes their arguments from the message by their JSON Schema, and explains what they returned:

    make_plan -> choose_tools -> fill_arguments -> (the tools run) -> explain

So a tool can be tried the minute it is written. The same message always gets the same answer.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from pydantic_ai import messages as m
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.tools import ToolDefinition

from agui.blocking.executor import run_in_thread
from agui.contrib.demo.arguments import fill_arguments
from agui.contrib.demo.choice import Choice, choose_tools, names_of
from agui.contrib.demo.results import explain
from agui.contrib.demo.schemas import example_of

PACE_SECONDS = 0.025
LONGEST_SECONDS = 4.0  # a long answer is paced faster
MAX_CHARS = 2000  # of a prompt, and of a tool's description
MAX_PROMPTS = 20  # that have waited for one answer
# What the engine puts before the words of a message: the page's context, mentions, names of files.
DATA = re.compile(r"<[a-z-]+>\n")
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

_CANCEL = re.compile(r"\W*(no|cancel|stop|forget|never ?mind)\b", re.I)
_GREETING = re.compile(r"\W*(hello|hi|hey|good (morning|afternoon|evening))\b", re.I)
_HELP = re.compile(r"\bhelp\b|what (can|do) you", re.I)
_THINK = re.compile(r"\bthink\b", re.I)


@dataclass(frozen=True)
class Plan:
    """One answer: reasoning, text and tool calls, in this order."""

    text: str
    calls: Sequence[m.ToolCallPart] = ()
    thinking: str = ""


class DemoModel(FunctionModel):
    """A function as the model. It has no tool search of its own: pydantic-ai searches for it."""

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[AbstractNativeTool]]:
        supported = super().supported_native_tools()
        return frozenset(tool for tool in supported if tool.kind != "tool_search")


def build_demo_model(notice: str = "", pace_seconds: float = PACE_SECONDS) -> Model:
    """Build the model. It opens a conversation with the notice, and pauses after each word."""

    async def respond(messages: list[m.ModelMessage], info: AgentInfo) -> m.ModelResponse:
        plan = await _plan(messages, info, notice)
        parts: list[m.ModelResponsePart] = [m.TextPart(plan.text), *plan.calls]
        if plan.thinking:
            parts.insert(0, m.ThinkingPart(plan.thinking))
        return m.ModelResponse(parts=parts)

    async def stream(messages: list[m.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        plan = await _plan(messages, info, notice)
        thoughts = _WORD.findall(plan.thinking)
        words = _WORD.findall(plan.text)
        pause = pause_seconds(len(thoughts) + len(words), pace_seconds)
        for thought in thoughts:
            yield {0: DeltaThinkingPart(content=thought)}
            await asyncio.sleep(pause)
        for word in words:
            yield word
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
    """Compute the pause after each word, so that nobody waits long for the last one."""
    return min(pace_seconds, LONGEST_SECONDS / max(1, words))


def _skill_words(info: AgentInfo) -> str:
    """The words of a skill: the one instruction that comes with the run, not with the agent."""
    parts = info.model_request_parameters.instruction_parts or []
    return " ".join(part.content for part in parts if part.id is None and not part.dynamic)


def make_plan(
    messages: Sequence[m.ModelMessage],
    tools: Sequence[ToolDefinition],
    notice: str = "",
    skill: str = "",
) -> Plan:
    """Decide what to answer to the results of tools, and to each message since the last answer."""
    new = _since_response(messages)
    returns = [part for part in new if isinstance(part, m.ToolReturnPart)]
    searched = any(part.tool_kind == "tool-search" for part in returns)
    results = "" if searched else "\n\n".join(map(explain, returns))
    if results and not any(isinstance(part, m.UserPromptPart) for part in new):
        return Plan(results)
    search: ToolDefinition | None = None
    callable_tools: list[ToolDefinition] = []
    for tool in tools:
        if tool.tool_kind == "tool-search":
            search = search or tool
        elif len(tool.name) <= MAX_NAME_CHARS and len(callable_tools) < MAX_TOOLS:
            callable_tools.append(tool)
    asks = _understand(messages, callable_tools, skill)
    unknown = []
    for prompt, choice in asks:
        if prompt and not choice.matches and not choice.tied:
            unknown.append(prompt)
    if search and unknown and not searched:
        plans = [Plan("I look for a tool.", [_call(search, {"queries": unknown})])]
    else:
        plans = [_answer(prompt, choice, new, callable_tools) for prompt, choice in asks]
    # Messages that mean no tool get one answer.
    texts = list(dict.fromkeys(filter(None, [results, *(plan.text for plan in plans)])))
    if not any(isinstance(message, m.ModelResponse) for message in messages):
        texts[0] = f"{notice} {INTRODUCTION} {texts[0]}".strip()
    calls = [call for plan in plans for call in plan.calls]
    return Plan("\n\n".join(texts), calls, " ".join(plan.thinking for plan in plans).strip())


def _since_response(messages: Sequence[m.ModelMessage]) -> list[m.ModelRequestPart]:
    """List the parts that have come since the model's last response, oldest first."""
    parts: list[m.ModelRequestPart] = []
    for message in reversed(messages):
        if isinstance(message, m.ModelResponse):
            break
        parts[:0] = message.parts
    return parts


def _understand(
    messages: Sequence[m.ModelMessage], tools: Sequence[ToolDefinition], skill: str
) -> list[tuple[str, Choice]]:
    """Read the newest prompts: several if messages have waited for the end of a run.

    A prompt that only answers a question is read together with the one before.
    """
    before, prompts, answer, question = "", [""], "", ""
    is_answered = True
    for message in messages:
        if isinstance(message, m.ModelResponse):
            answer = message.text or ""
            is_answered = True
            continue
        for part in message.parts:
            if not isinstance(part, m.UserPromptPart):
                continue
            text = _text(part, skill)
            if DATA.match(text) and part is not message.parts[-1]:
                continue
            if is_answered:
                before, prompts, question = prompts[-1], [], answer
                is_answered = False
            prompts.append(text)
    asks = []
    for prompt in prompts[-MAX_PROMPTS:]:
        choice = choose_tools(prompt, tools)
        if ASKED in question and not choice.matches and not _CANCEL.match(prompt):
            prompt = f"{before} {prompt}"
            choice = choose_tools(prompt, tools)
        question = ""
        asks.append((prompt, choice))
    return asks


def _text(part: m.UserPromptPart, skill: str) -> str:
    content = part.content
    if not isinstance(content, str):
        content = " ".join(item for item in content if isinstance(item, str))
    if skill and content.startswith("/"):
        content = skill
    return content[:MAX_CHARS]


def _answer(
    prompt: str,
    choice: Choice,
    new: Sequence[m.ModelRequestPart],
    tools: Sequence[ToolDefinition],
) -> Plan:
    if choice.matches or choice.tied:
        plan = _act(choice)
    else:
        offer = _help(new, prompt, tools)
        plan = Plan(offer)
    if not _THINK.search(prompt):
        return replace(plan, thinking="")
    return replace(plan, thinking=f"{choice.reason} {plan.thinking}".strip())


def _act(choice: Choice) -> Plan:
    """Call the chosen tools, or ask for what is missing."""
    if choice.tied:
        return Plan(f"Do you mean {names_of(choice.tied)}? Name one of them.")
    calls = []
    thoughts = []
    questions = []
    tools = [match.tool for match in choice.matches]
    for tool, match in zip(tools, choice.matches, strict=True):
        arguments, missing = fill_arguments(match)
        calls.append(_call(tool, arguments))
        thoughts.append(f"{tool.name}: {json.dumps(arguments)}.")
        if missing:
            names = "` and `".join(missing)
            example = example_of(tool)
            questions.append(f"{ASKED}`{names}` for `{tool.name}`. For example: `{example}`")
    thinking = " ".join(thoughts)
    if questions:
        return Plan("\n\n".join(questions), thinking=thinking)
    return Plan(f"I call {names_of(tools)}.", calls, thinking)


def _call(tool: ToolDefinition, arguments: dict[str, Any]) -> m.ToolCallPart:
    # An id that came back in a later turn would be taken for the earlier call.
    return m.ToolCallPart(tool.name, arguments, tool_call_id=f"demo-{uuid4().hex}")


def _help(new: Sequence[m.ModelRequestPart], prompt: str, tools: Sequence[ToolDefinition]) -> str:
    """Say what can be done here."""
    if _GREETING.match(prompt):
        opening = "Hello!"
    elif _HELP.search(prompt):
        opening = "This is what I can do."
    elif _has_files(new):
        opening = "I can't look into files."
    else:
        opening = "I found no tool for that."
    if not tools:
        return f"{opening} There are no tools yet.\n\n{REAL_MODEL}"
    lines = ["Name one of these tools, or use its words:", ""]
    for tool in tools[:MAX_ROWS]:
        description = (tool.description or "no description")[:MAX_CHARS]
        summary = description.lstrip().partition("\n")[0]
        lines.append(f"- `{example_of(tool)[:MAX_CHARS]}`: {summary}")
    if len(tools) > MAX_ROWS:
        lines.append(f"- and {len(tools) - MAX_ROWS} more")
    offer = "\n".join(lines)
    return f"{opening} {offer}\n\n{REAL_MODEL}"


def _has_files(new: Sequence[m.ModelRequestPart]) -> bool:
    for part in new:
        if not isinstance(part, m.UserPromptPart) or isinstance(part.content, str):
            continue
        for item in part.content:
            if not isinstance(item, str):
                return True
    return False
