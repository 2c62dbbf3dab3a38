"""The offline demo model: it needs no key, and does not pretend to understand.

It matches the words of a message with the names and descriptions of the tools that it was offered,
takes their arguments from the message by their JSON Schema, and explains what they returned:

    make_plan -> choose_tools -> fill_arguments -> (the agent runs the tools) -> explain

So a tool can be tried the minute it is written. The same message always gets the same answer.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from pydantic_ai import messages as m
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.tools import ToolDefinition

Schema: TypeAlias = dict[str, Any]

PACE_SECONDS = 0.025
LONGEST_SECONDS = 4.0  # a long answer is paced faster
MAX_CHARS = 2000  # of a prompt that is read, and of a result that is shown
MAX_ROWS = 20
ENOUGH = 0.75  # the score from which a tool is called: one word of its name that no other tool has is 1

INTRODUCTION = "I am the offline demo model: I match words, I don't understand them."
REAL_MODEL = (
    "For real answers set `AGENT_MODEL` in `.env`, for example `openai:gpt-5.6-terra` or "
    "`anthropic:claude-sonnet-5-5`, together with its key, and restart."
)
ASKED = "I still need "

STOP_WORDS = """
    a about all also am an and any are as at be by call can could did do does for from had has have here i in
    is it its just let like me my need now of on or our please run some step that the them then there these
    think this those to tool tools us use using want was we will with would you your
"""
SYNONYMS = {
    "list": "show what which display view see look get",
    "add": "create new insert",
    "delete": "remove clear erase",
    "complete": "finish done",
    "summarize": "summary summarise overview count many",
    "update": "change edit modify",
}
FREE_TEXT = {"title", "name", "text", "query", "message", "question", "prompt"}  # optional, but often meant
FORMATS = {"date": r"\d{4}-\d\d-\d\d", "date-time": r"\d{4}-\d\d-\d\d([T ].+)?", "email": r"\S+@\S+", "uri": r"\w+:\S+"}
JSON_TYPES: dict[str, Any] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": NoneType,
    "object": dict,
}
UNREADABLE = (ValueError, RecursionError)  # the second is for JSON of a thousand brackets
JSON_WORDS = {"yes": "true", "no": "false", "none": "null"}

_STOP = frozenset(STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_QUOTED = re.compile(r"\"([^\"]*)\"|“([^“”]*)”|(?<!\w)'([^']*)'(?!\w)")
_TOKEN = re.compile(rf"{_QUOTED.pattern}|([^\s,;#()\"“]*[^\s,;#()\"“.!?:])")
_CONNECTED = re.compile(r"(?:[,;.\n]|\b(?:and|then|also|plus)\b)\s*(?:(?:please|then|also)\s+)*$", re.I)
_LEADING = re.compile(r"^(?:[\s:,.-]|(?:to|that|about|for|of|on|with|called|named|saying|the|an|a)\b)+", re.I)
_EVERYTHING = re.compile(r"(all|every\w*|anything|none|nothing)\b", re.I)
_TRAILING = re.compile(r"(?:[\s,;.!?]|\b(?:and|then|also|please)\b)+$", re.I)


@dataclass(frozen=True)
class Plan:
    """One answer: reasoning, text and tool calls, in this order."""

    text: str
    calls: Sequence[m.ToolCallPart] = ()
    thinking: str = ""


class Match(NamedTuple):
    """A tool that a message asks for, the text up to the end of its name, and the text after it."""

    tool: ToolDefinition
    before: str
    after: str


class Choice(NamedTuple):
    """The tools to call, or else those between which the user must choose."""

    matches: Sequence[Match] = ()
    tied: Sequence[ToolDefinition] = ()
    reason: str = ""


class Span(NamedTuple):
    """A word or a name in a text."""

    start: int
    end: int
    stem: str


class Token(NamedTuple):
    """Something in a text that may be an argument."""

    text: str
    quoted: bool


class DemoModel(FunctionModel):
    """A function as the model; it leaves the search for late tools to pydantic-ai, having none of its own."""

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[AbstractNativeTool]]:
        return frozenset(tool for tool in super().supported_native_tools() if tool.kind != "tool_search")


# ---- What to answer ----


def build_demo_model(notice: str = "", pace_seconds: float = PACE_SECONDS) -> Model:
    """Build the model. It opens a conversation with the notice; the pace is its pause after each word."""

    async def respond(messages: list[m.ModelMessage], info: AgentInfo) -> m.ModelResponse:
        plan = make_plan(messages, info.function_tools, notice, _skill_words(info))
        thinking = [m.ThinkingPart(plan.thinking)] if plan.thinking else []
        return m.ModelResponse(parts=[*thinking, m.TextPart(plan.text), *plan.calls])

    async def stream(messages: list[m.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        plan = make_plan(messages, info.function_tools, notice, _skill_words(info))
        thoughts, words = (re.findall(r"\s*\S+", text) for text in (plan.thinking, plan.text))
        pause = pause_seconds(len(thoughts + words), pace_seconds)
        for delta in [*({0: DeltaThinkingPart(content=thought)} for thought in thoughts), *words]:
            yield delta
            await asyncio.sleep(pause)
        for key, call in enumerate(plan.calls, start=1):
            yield {key: DeltaToolCall(name=call.tool_name, tool_call_id=call.tool_call_id)}
            for piece in re.findall(r"\s*\S+", call.args_as_json_str()):
                yield {key: DeltaToolCall(json_args=piece)}

    return DemoModel(respond, stream_function=stream, model_name="demo")


def pause_seconds(words: int, pace_seconds: float) -> float:
    """How long to wait after each word, so that nobody waits long for the last one."""
    return min(pace_seconds, LONGEST_SECONDS / max(1, words))


def _skill_words(info: AgentInfo) -> str:
    """What a skill stands for: the one instruction that comes with the run, not with the agent."""
    parts = info.model_request_parameters.instruction_parts or []
    return " ".join(part.content for part in parts if part.id is None and not part.dynamic)


def make_plan(
    messages: Sequence[m.ModelMessage], tools: Sequence[ToolDefinition], notice: str = "", skill: str = ""
) -> Plan:
    """Decide what to answer to the last message."""
    returns = [part for part in messages[-1].parts if isinstance(part, m.ToolReturnPart)]
    searched = any(part.tool_kind == "tool-search" for part in returns)
    if returns and not searched and not isinstance(messages[-1].parts[-1], m.UserPromptPart):
        return Plan("\n\n".join(explain(part) for part in returns))
    search = [tool for tool in tools if tool.tool_kind == "tool-search"]
    known = [tool for tool in tools if tool.tool_kind != "tool-search"]
    prompt, choice = _understand(messages, known, skill)
    if choice.matches or choice.tied:
        plan = _act(choice)
    elif search and prompt and not searched:
        plan = Plan("I look for a tool.", [_call(search[0], {"queries": [prompt]})])
    else:
        plan = Plan(_help(messages[-1], prompt, known))
    opening = "" if any(isinstance(message, m.ModelResponse) for message in messages) else f"{notice} {INTRODUCTION}"
    thinking = f"{choice.reason} {plan.thinking}" if re.search(r"\bthink\b", prompt, re.I) else ""
    return Plan(f"{opening} {plan.text}".strip(), plan.calls, thinking.strip())


def _understand(messages: Sequence[m.ModelMessage], tools: Sequence[ToolDefinition], skill: str) -> tuple[str, Choice]:
    """Read the newest prompt; one that only answers a question goes together with what it answers."""
    prompts = [
        "",
        *(_text(part) for message in messages for part in message.parts if isinstance(part, m.UserPromptPart)),
    ]
    if skill and prompts[-1].startswith("/"):
        prompts[-1] = skill[:MAX_CHARS]
    choice = choose_tools(prompts[-1], tools)
    answers = [message.text or "" for message in messages if isinstance(message, m.ModelResponse)]
    asked = bool(answers) and ASKED in answers[-1]
    if not asked or choice.matches or re.match(r"\W*(no|cancel|stop|forget|never ?mind)\b", prompts[-1], re.I):
        return prompts[-1], choice
    prompt = f"{prompts[-2]} {prompts[-1]}"
    return prompt, choose_tools(prompt, tools)


def _text(part: m.UserPromptPart) -> str:
    items = [part.content] if isinstance(part.content, str) else part.content
    return " ".join(item for item in items if isinstance(item, str))[:MAX_CHARS]


def _act(choice: Choice) -> Plan:
    """Call the chosen tools, or ask for what is missing."""
    if choice.tied:
        return Plan(f"Do you mean {_names(choice.tied)}? Name one of them.")
    filled = [(tool, *fill_arguments(Match(tool, before, after))) for tool, before, after in choice.matches]
    thinking = " ".join(f"{tool.name}: {json.dumps(arguments)}." for tool, arguments, _ in filled)
    questions = [
        f"{ASKED}{' and '.join(f'`{name}`' for name in missing)} for `{tool.name}`. For example: `{_example(tool)}`"
        for tool, _, missing in filled
        if missing
    ]
    if questions:
        return Plan("\n\n".join(questions), thinking=thinking)
    calls = [_call(tool, arguments) for tool, arguments, _ in filled]
    return Plan(f"I call {_names([tool for tool, *_ in filled])}.", calls, thinking)


def _call(tool: ToolDefinition, arguments: dict[str, Any]) -> m.ToolCallPart:
    # An id that came back in a later turn would be taken for the earlier call.
    return m.ToolCallPart(tool.name, arguments, tool_call_id=f"demo-{uuid4().hex}")


def _names(tools: Sequence[ToolDefinition]) -> str:
    return " and ".join(f"`{tool.name}`" for tool in tools)


def _help(message: m.ModelMessage, prompt: str, tools: Sequence[ToolDefinition]) -> str:
    """Say what can be done here."""
    contents = [part.content for part in message.parts if isinstance(part, m.UserPromptPart)]
    files = any(not isinstance(item, str) for content in contents if not isinstance(content, str) for item in content)
    first = "I can't look into files." if files else "I found no tool for that."
    if re.search(r"\bhelp\b|what (can|do) you", prompt, re.I):
        first = "This is what I can do."
    if re.match(r"\W*(hello|hi|hey|good (morning|afternoon|evening))\b", prompt, re.I):
        first = "Hello!"
    lines = [f"- `{_example(tool)}`: {(tool.description or 'no description').splitlines()[0]}" for tool in tools]
    offer = "Name one of these tools, or use its words:\n\n" + "\n".join(lines) if tools else "There are no tools yet."
    return f"{first} {offer}\n\n{REAL_MODEL}"


# ---- Which tools ----


def choose_tools(text: str, tools: Sequence[ToolDefinition]) -> Choice:
    """Find the tools that the text names; else the one that it resembles most, or up to three alike."""
    words = _significant_words(text)
    if named := _named(text, words, tools):
        ends = [span.start for span, _ in named[1:]] + [len(text)]
        starts = [0] + [span.start for span, _ in named[1:]]
        matches = [
            Match(tool, text[start : span.end], text[span.end : end])
            for (span, tool), start, end in zip(named, starts, ends, strict=True)
        ]
        return Choice(matches, reason=f"The message names {_names([match.tool for match in matches])}.")
    scores = _scores({word.stem for word in words}, tools)
    ranking = ", ".join(f"`{tool.name}` {score:.2f}" for tool, score in zip(tools, scores, strict=True) if score)
    reason = f"Words shared with the tools, rare ones count more: {ranking or 'none'}."
    best = max(scores, default=0)
    tied = [tool for tool, score in zip(tools, scores, strict=True) if score == best]
    if best * len(tied) < ENOUGH or len(tied) > 3:
        return Choice(reason=reason)
    if len(tied) > 1:
        return Choice(tied=tied, reason=reason)
    name = _stems(tied[0].name)
    said = [word for word in words if word.stem in name]
    # What follows the name is taken for free text, but not where its words are scattered.
    in_order = said and [word.stem for word in said] == [stem for stem in name if stem in {word.stem for word in said}]
    end = said[-1].end if in_order else len(text)
    return Choice([Match(tied[0], text[:end], text[end:])], reason=reason)


def _named(text: str, words: Sequence[Span], tools: Sequence[ToolDefinition]) -> list[tuple[Span, ToolDefinition]]:
    """Where the text has a tool's name, or its words in a row, but for one; the longest of those that overlap."""
    found = []
    for tool in tools:
        pattern = rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])"
        exact = re.finditer(pattern, _without_arguments(text), re.I)
        found += [(Span(hit.start(), hit.end(), "exact"), tool) for hit in exact]
        stems = _stems(tool.name)
        for index, first in enumerate(words):
            for run in (words[index : index + len(stems)], words[index : index + len(stems) + 1]):
                if first.stem == stems[0] and _is_row([word.stem for word in run], stems):
                    found.append((Span(first.start, run[-1].end, ""), tool))
    chosen: list[tuple[Span, ToolDefinition]] = []
    for span, tool in sorted(found, key=lambda item: item[0].start - item[0].end):
        if all(span.end <= other.start or span.start >= other.end for other, _ in chosen):
            chosen.append((span, tool))
    chosen.sort(key=lambda item: item[0].start)
    # In "add task Complete the form" the second name is an argument: one more call needs an "and".
    return [
        (span, tool)
        for index, (span, tool) in enumerate(chosen)
        if not index
        or "_" in text[span.start : span.end]
        or _CONNECTED.search(text[max(0, span.start - 40) : span.start])
    ]


def _is_row(run: list[str], stems: list[str]) -> bool:
    """Whether the run ends with the last stem and is all of them, with at most one other word between."""
    without = [run[:index] + run[index + 1 :] for index in range(1, len(run) - 1)]
    return run == stems or (len(run) == len(stems) + 1 and stems in without)


def _scores(stems: set[str], tools: Sequence[ToolDefinition]) -> list[float]:
    """Weigh the words that each tool shares with the message: the fewer tools have one, the more it says."""
    names = [set(_stems(tool.name)) for tool in tools]
    texts = [set(_stems(tool.description or "")) | name for tool, name in zip(tools, names, strict=True)]

    def weight(stem: str, name: set[str]) -> float:
        # "What" and "show" are in many questions: alone they mean no tool.
        own = 1.0 if stem in name and stem != "list" else 0.5
        return own / sum(stem in text for text in texts)

    return [
        sum(weight(stem, name) for stem in sorted(stems & text)) + (len(name) > 1 and name <= stems)
        for name, text in zip(names, texts, strict=True)
    ]


def _blank(hit: re.Match[str]) -> str:
    return "\0" * len(hit[0])  # not a space, or a pattern could run into a quote


def _without_arguments(text: str) -> str:
    """Blank what is quoted or has a key, so that all positions stay."""
    return re.sub(r"(?<![\w-])[\w-]+=\S*", _blank, _QUOTED.sub(_blank, text))


def _significant_words(text: str) -> list[Span]:
    hits = _WORD.finditer(_without_arguments(text))
    return [Span(hit.start(), hit.end(), _stem(hit[0])) for hit in hits if hit[0].lower() not in _STOP]


def _stems(text: str) -> list[str]:
    words = _WORD.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))
    return [_stem(word) for word in words if word.lower() not in _STOP] or [_stem(word) for word in words]


def _strip(word: str) -> str:
    """Cut the endings that English puts on verbs and plurals, roughly."""
    word = re.sub(r"(?<=\w{3})(?:ing|ed|es|(?<!s)s)$", "", re.sub(r"ies$", "y", word.lower()))
    return re.sub(r"(?<=\w{3})e$", "", re.sub(r"(\w)\1$", r"\1", word))


_CANONICAL = {_strip(alias): _strip(word) for word, aliases in SYNONYMS.items() for alias in aliases.split()}


def _stem(word: str) -> str:
    return _CANONICAL.get(_strip(word), _strip(word))


_FLAG_VERBS = {_stem(word) for word in ("include", "show", "only")}


# ---- Their arguments ----


def fill_arguments(match: Match) -> tuple[dict[str, Any], list[str]]:
    """Take a tool's arguments from the text around its name; also tell which required ones are missing."""
    properties, required = _properties(match.tool)
    values: dict[str, Any] = {}
    before, after = (_take_named(text, properties, values) for text in (match.before, match.after))
    tokens = [Token(_content(hit), hit[0] != hit[4]) for hit in _TOKEN.finditer(f"{before}\n{after}")]
    _take_positional(tokens, {name: properties[name] for name in required}, values)
    free_text = _TRAILING.sub("", _LEADING.sub("", _without_arguments(after).replace("\0", "")))
    texts = [name for name, variants in properties.items() if any(map(_is_text, variants)) and name not in values]
    if free_text and (open_texts := [name for name in texts if name in required]):
        values[open_texts[0]] = free_text
        # The 2 of "add task Buy 2 pears" belongs to the title.
        tokens = [token for token in tokens if not _NUMBER.fullmatch(token.text)]
    _take_positional(tokens, properties, values)
    if free_text and not values and not required and not _EVERYTHING.match(free_text):
        values |= {name: free_text for name in texts if name in FREE_TEXT or len(properties) == 1}
    said = {word.stem for word in _significant_words(before + after)}
    flags = [name for name, variants in properties.items() if any(item.get("type") == "boolean" for item in variants)]
    # "Show my finished tasks" sets `include_done`.
    meant = {name: set(_stems(name)) - _FLAG_VERBS for name in flags if name not in values}
    values |= {name: True for name, stems in meant.items() if stems and stems <= said}
    return values, [name for name in required if name not in values]


def _properties(tool: ToolDefinition) -> tuple[dict[str, list[Schema]], list[str]]:
    """A tool's arguments with the types that each can have, and the names of the required ones."""
    schema = tool.parameters_json_schema
    definitions = schema.get("$defs", {})
    properties = {name: _variants(item, definitions) for name, item in schema.get("properties", {}).items()}
    return properties, [name for name in properties if name in schema.get("required", [])]


def _variants(schema: Any, definitions: Schema) -> list[Schema]:
    """The plain schemas that a schema allows; text last, because everything is text."""
    if not isinstance(schema, dict):
        return [{"type": "string"}]
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        # A type may contain itself: it is followed once.
        return _variants(definitions.get(name), {key: item for key, item in definitions.items() if key != name})
    kinds = schema.get("type")
    nested = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if isinstance(kinds, list):
        nested = [{**schema, "type": kind} for kind in kinds]
    if nested:
        return sorted((variant for item in nested for variant in _variants(item, definitions)), key=_is_text)
    items = {"items": _variants(schema.get("items"), definitions)} if kinds == "array" else {}
    return [{**schema, **items, **({"enum": [schema["const"]]} if "const" in schema else {})}]


def _is_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and "enum" not in schema and schema.get("format") not in FORMATS


def _take_named(text: str, properties: dict[str, list[Schema]], values: dict[str, Any]) -> str:
    """Move `key=value` and `key: value` from the text to the values, and return what is left."""
    keys = "|".join(re.escape(name).replace("_", "[_ -]?") for name in properties) or "(?!)"
    hits = list(re.finditer(rf"(?<![\w.-])({keys})\s*[=:]\s*", _QUOTED.sub(_blank, text), re.I))
    names = {_plain(name): name for name in properties}
    ends = [hit.start() for hit in hits] + [len(text)]
    left = text[: ends[0]]
    for hit, end in zip(hits, ends[1:], strict=True):
        name = names[_plain(hit[1])]
        value, rest = _read_value(text[hit.end() : end])
        values[name] = _fit(value, properties[name]) if isinstance(value, str) else value
        left += rest
    return left


def _plain(name: str) -> str:
    return re.sub("[_ -]", "", name).lower()


def _read_value(text: str) -> tuple[Any, str]:
    """Read a quoted text, a JSON list or object, or the rest of the line; also return what follows."""
    if quoted := _QUOTED.match(text):
        return _content(quoted), text[quoted.end() :]
    if text.startswith(("[", "{")):
        with suppress(*UNREADABLE):
            value, end = json.JSONDecoder().raw_decode(text)
            return value, text[end:]
    line, _, rest = text.partition("\n")
    return _TRAILING.sub("", line), rest


def _content(hit: re.Match[str]) -> str:
    return next(group for group in hit.groups() if group is not None)


def _take_positional(tokens: list[Token], properties: dict[str, list[Schema]], values: dict[str, Any]) -> None:
    """Give each open argument the first token of its type."""
    for name, variants in properties.items():
        if name not in values and (found := _take(tokens, variants)) is not None:
            values[name] = found


def _take(tokens: list[Token], variants: Iterable[Schema]) -> Any:
    for schema in variants:
        if schema.get("type") == "array":
            return list(iter(lambda items=schema["items"]: _take(tokens, items), None)) or None  # type: ignore[misc]
        for token in tokens:
            # Any word could be a text, so a text must be quoted.
            if token.quoted or not _is_text(schema):
                with suppress(*UNREADABLE):
                    value = _convert(token.text, schema)
                    tokens.remove(token)
                    return value
    return None


def _fit(text: str, variants: Iterable[Schema]) -> Any:
    """Convert to the first type that takes the text; what fits nowhere is left to the tool's own check."""
    for schema in variants:
        with suppress(*UNREADABLE):
            return _convert(text, schema)
    return text


def _convert(text: str, schema: Schema) -> Any:
    """Read the text as the schema says. Raises ValueError."""
    kind = schema.get("type")
    if "enum" in schema:
        fitting = [value for value in schema["enum"] if _plain(str(value)) == _plain(text)]
    elif kind == "array":
        fitting = [[_fit(item.strip(), schema["items"]) for item in re.split(r",|\band\b", text)]]
    elif kind in JSON_TYPES:
        value = json.loads(JSON_WORDS.get(text.lower(), text))
        fitting = (
            [value] if isinstance(value, JSON_TYPES[kind]) and (kind == "boolean") == isinstance(value, bool) else []
        )
    else:
        fitting = [text] if re.fullmatch(FORMATS.get(schema.get("format", ""), r"(?s:.*)"), text) else []
    if not fitting:
        raise ValueError(text)
    return fitting[0]


def _example(tool: ToolDefinition) -> str:
    """A message that calls the tool."""
    properties, required = _properties(tool)
    optional = [name for name in properties if name not in required][: len(required) == 1]
    return " ".join([tool.name, *(f"{name}={_sample(properties[name])}" for name in required + optional)])


def _sample(variants: Sequence[Schema]) -> str:
    schema = next((schema for schema in variants if schema.get("type") != "null"), {})
    samples = {"integer": "1", "number": "1.5", "boolean": "true", "array": "[...]", "object": "{...}"}
    formats = {
        "date": "2026-12-31",
        "date-time": "2026-12-31T12:00",
        "email": "a@example.com",
        "uri": "https://example.com",
    }
    if schema.get("enum"):
        return str(schema["enum"][0])
    return samples.get(schema.get("type", "")) or formats.get(schema.get("format", "")) or '"..."'


# ---- What they returned ----


def explain(part: m.ToolReturnPart) -> str:
    """Say how a tool call ended, as Markdown."""
    name, content = f"`{part.tool_name}`", part.model_response_str(wrap_if_error=False)[: 10 * MAX_CHARS]
    endings = {
        "denied": f"{name} did not run, because it was declined.",
        "failed": f"{name} failed:",
        "retried": f"{name} refused:",
        "interrupted": f"{name} was interrupted:",
    }
    if part.outcome in endings:
        return f"{endings[part.outcome]} {content}"
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
        lines = [columns, ["---"] * len(columns), *([row.get(column) for column in columns] for row in rows)]
        body = "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)
    else:
        body = "\n".join(f"- {_cell(row)}" for row in rows)
    more = f"\n\nand {len(value) - MAX_ROWS} more." if len(value) > MAX_ROWS else ""
    return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}:\n\n{body}{more}"


def _cell(value: Any) -> str:
    """One value on one line, which can't leave its table cell."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split()).replace("|", "\\|")[:200]
