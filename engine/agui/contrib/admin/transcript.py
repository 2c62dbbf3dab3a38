"""A conversation as an administrator reads it: texts, tool calls, and their results."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import npgettext
from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    BinaryContent,
    FileUrl,
    ModelMessage,
    ModelResponse,
    TextContent,
    TextPart,
    ThinkingPart,
    UserPromptPart,
)

from agui import parts
from agui.contrib.admin.markdown import format_last
from agui.models import AbstractConversation, Message
from agui.part_values import NamedFile
from agui.protocol.interrupts import open_interrupts
from agui.protocol.outbound import call_metadata
from agui.sentences import fill, wording
from agui.stores import codec
from agui.stores.annotations import annotation
from agui.stores.rows import read_entries
from agui.stores.summary import preview_of
from agui.stores.tree import prompt_id
from agui.tools.secret_arguments import hide
from agui.tools.secret_calls import SECRETS_KEY

MAX_MESSAGES = 200
MAX_CHARS = 5000
MAX_BRANCHES = 50
MAX_FIELDS = 50


@dataclass
class Line:
    """A text, a thought or a tool call."""

    kind: str
    """'user', 'assistant', 'reasoning', 'tool' or 'other'."""
    who: str | Promise
    at: datetime | None
    text: str = ""
    html: str = ""
    """The text as HTML, if it is shown as Markdown."""
    arguments: str = ""
    argument_fields: list[tuple[str, str]] = field(default_factory=list)
    """The arguments by name, unless there are too many to read."""
    secrets: Sequence[Sequence[str]] = ()
    """The paths of arguments that nobody may read."""
    result: str | None = None
    result_fields: list[tuple[str, str]] = field(default_factory=list)
    outcome: str = ""
    changed_by: str | None = None
    """The user who changed the arguments before the call ran; '' for a visitor."""
    files: list[NamedFile] = field(default_factory=list)
    """The files that the message names."""
    is_cut_off: bool = False
    is_steering: bool = False
    """Whether the agent has read this message in the midst of its work."""


@dataclass
class Branch:
    """The end of another version of the conversation."""

    end: str
    text: str
    at: datetime


@dataclass
class Question:
    """A question that the conversation waits for."""

    text: str
    until: datetime | None


@dataclass
class Transcript:
    lines: list[Line]
    earlier: str | None
    """The last message before these lines, if there is one."""
    is_broken: bool = False


def read_transcript(end: str | None) -> Transcript:
    """Read the last messages of the history that ends with the message `end`."""
    if not end:
        return Transcript([], None)
    try:
        entries = read_entries(end, MAX_MESSAGES)
    except (LookupError, ValueError):
        return Transcript([], None, is_broken=True)
    lines = _lines([entry.message for entry in entries])
    format_last([line for line in lines if line.kind in ("assistant", "reasoning")])
    return Transcript(lines, entries[0].parent_id if entries else None)


def read_branches(thread: AbstractConversation) -> list[Branch]:
    """Read the ends of the other versions, the newest first."""
    ends = Message.objects.filter(pk__in=thread.branches[-MAX_BRANCHES:]).order_by("-created_at")
    return [Branch(row.pk, _preview(row.data), row.created_at) for row in ends]


def _preview(data: Any) -> str:
    with suppress(ValueError):
        return preview_of(codec.load_messages([data]))
    return ""


def read_questions(thread: AbstractConversation) -> list[Question]:
    """Read what the user has to answer before the conversation continues."""
    questions: list[Question] = []
    if thread.deferred is None:
        return questions
    try:
        for open_interrupt in open_interrupts(codec.load(codec.DEFERRED, thread.deferred)):
            expires_at = open_interrupt.expires_at
            until = datetime.fromisoformat(expires_at) if expires_at else None
            questions.append(Question(open_interrupt.interrupt.message or "", until))
    except ValueError:
        return []
    return questions


def _lines(messages: Sequence[ModelMessage]) -> list[Line]:
    lines: list[Line] = []
    calls: dict[str, Line] = {}
    answering: str | None = None
    """The run of the last answer."""
    for message, files in zip(messages, _named_files(messages), strict=True):
        notes = call_metadata(message)
        secrets = annotation(message, SECRETS_KEY) or {}
        for line, part in _parts_of(message, files):
            if isinstance(part, BaseToolReturnPart) and part.tool_call_id in calls:
                _add_result(calls.pop(part.tool_call_id), line, notes.get(part.tool_call_id, {}))
                continue
            if isinstance(part, BaseToolCallPart):
                calls[part.tool_call_id] = line
                paths = secrets.get(part.tool_call_id)
                if paths:
                    line.secrets = paths
                    _set_arguments(line, part.args)
            line.is_steering = is_steering(message, answering)
            lines.append(line)
        if isinstance(message, ModelResponse):
            answering = message.run_id
        # The run of this message ended before its answer was complete.
        if getattr(message, "state", "") == "interrupted" and lines:
            lines[-1].is_cut_off = True
    return lines


def is_steering(message: ModelMessage, answering: str | None) -> bool:
    """Return whether a user has sent a message into the run that has answered before it."""
    return answering is not None and message.run_id == answering and bool(prompt_id(message))


def _add_result(call: Line, result: Line, notes: dict[str, Any]) -> None:
    """Complete the line of a call by its result, and by the changes that the user made to it."""
    call.result = result.result
    call.files += result.files
    call.result_fields = result.result_fields
    call.outcome = result.outcome
    if "editedArguments" in notes:
        _set_arguments(call, notes["editedArguments"])
        call.changed_by = notes.get("editedBy", "")


def _set_arguments(call: Line, arguments: Any) -> None:
    hidden = hide(_loaded(arguments), call.secrets)
    call.arguments, call.argument_fields = _shown(hidden)


def _named_files(messages: Sequence[ModelMessage]) -> list[list[NamedFile]]:
    """List the files that each message names. The parts of the project know them."""
    named: list[list[NamedFile]] = [[] for _ in messages]
    for part in parts.installed():
        for files, more in zip(named, part.named_files(list(messages)), strict=False):
            files += more
    return named


def _parts_of(message: ModelMessage, named: list[NamedFile]) -> Iterator[tuple[Line, Any]]:
    for part in message.parts:
        line = _line(part, getattr(part, "timestamp", None) or message.timestamp)
        if line is not None:
            if line.kind in ("user", "tool", "other"):
                line.files, named = line.files + named, []
            yield line, part


def _line(part: Any, at: datetime | None) -> Line | None:
    match part:
        case UserPromptPart():
            return _prompt_line(part, at)
        case TextPart(content="") | ThinkingPart(content=""):
            return None
        case TextPart():
            return Line("assistant", wording("Assistant"), at, cut(part.content))
        case ThinkingPart():
            return Line("reasoning", wording("Reasoning"), at, cut(part.content))
        case BaseToolCallPart():
            text, fields = _shown(part.args)
            return Line("tool", part.tool_name, at, arguments=text, argument_fields=fields)
        case BaseToolReturnPart():
            text, fields = _shown(part.content)
            return Line(
                "tool", part.tool_name, at, result=text, result_fields=fields, outcome=part.outcome
            )
    content = getattr(part, "content", "")
    who = part.part_kind.replace("-", " ").capitalize()
    if isinstance(content, BinaryContent):
        return Line("other", who, at, files=[_file(content)] if content.data else [])
    return Line("other", who, at, cut(pretty(content)))


def _prompt_line(part: UserPromptPart, at: datetime | None) -> Line:
    if isinstance(part.content, str):
        return Line("user", wording("User"), at, cut(part.content))
    texts: list[str] = []
    files: list[NamedFile] = []
    for item in part.content:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, TextContent):
            texts.append(item.content)
        else:
            files.append(_file(item))
    return Line("user", wording("User"), at, cut("\n".join(texts)), files=files)


def _file(item: Any) -> NamedFile:
    if isinstance(item, BinaryContent):
        return NamedFile(item.media_type, filesizeformat(len(item.data)))
    if isinstance(item, FileUrl):
        return NamedFile(item.url, "")
    return NamedFile(type(item).__name__, "")


def _shown(value: Any) -> tuple[str, list[tuple[str, str]]]:
    """Write a value as text, and the fields of an object as texts by name."""
    text = pretty(value)
    value = _loaded(value)
    if not isinstance(value, dict) or len(value) > MAX_FIELDS or len(text) > MAX_CHARS:
        return cut(text), []
    fields = []
    for name, field_value in value.items():
        if not isinstance(field_value, str):
            field_value = _json(field_value)
        fields.append((str(name), field_value))
    return text, fields


def pretty(value: Any) -> str:
    """Write a value as text: JSON over several lines, a text as it is, None as ''."""
    value = _loaded(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _loaded(value: Any) -> Any:
    """Parse a text that is JSON. Any other value stays as it is."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=_describe)


def _describe(value: Any) -> str:
    if isinstance(value, BinaryContent):
        return f"[{value.media_type}, {filesizeformat(len(value.data))}]"
    return str(value)


def cut(text: str) -> str:
    excess = len(text) - MAX_CHARS
    if excess <= 0:
        return text
    more = npgettext("agui", "{count} more character", "{count} more characters", excess)
    return f"{text[:MAX_CHARS]}… ({fill(more, count=excess)})"
