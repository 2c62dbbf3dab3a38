"""A conversation as an administrator reads it: who said what and when, what tools were given and what they gave."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    BinaryContent,
    FileUrl,
    ModelMessage,
    TextContent,
    TextPart,
    ThinkingPart,
    UserPromptPart,
)

from agui import parts
from agui.models import Message, Thread
from agui.parts import NamedFile
from agui.protocol.interrupts import open_interrupts
from agui.protocol.outbound import told_of_calls
from agui.stores import codec
from agui.stores.annotations import annotation
from agui.stores.rows import read_entries
from agui.stores.summary import preview_of
from agui.tools.audit_trail import SECRETS_KEY
from agui.tools.secret_arguments import hide

MAX_MESSAGES = 200
MAX_CHARS = 5000
MAX_BRANCHES = 50
MAX_FIELDS = 50
# Reading Markdown takes up to 30 ms for 1,000 characters that are made to be slow.
MAX_FORMATTED_CHARS = 100_000


@dataclass
class Line:
    """Something that was said, thought or done."""

    kind: str
    """'user', 'assistant', 'reasoning', 'tool' or 'other'."""
    who: str
    at: datetime | None
    text: str = ""
    is_formatted: bool = False
    """Whether the text is shown as the Markdown that it is."""
    arguments: str = ""
    argument_fields: list[tuple[str, str]] = field(default_factory=list)
    """The arguments by name, unless there are too many to read."""
    secrets: Sequence[Sequence[str]] = ()
    """The paths of arguments that are not to be read."""
    result: str | None = None
    result_fields: list[tuple[str, str]] = field(default_factory=list)
    outcome: str = ""
    changed_by: str | None = None
    """Who changed the arguments before the call ran; '' for a visitor."""
    files: list[NamedFile] = field(default_factory=list)
    """The files that it came with."""
    is_cut_off: bool = False


@dataclass
class Branch:
    """A version that was left."""

    end: str
    text: str
    at: datetime


@dataclass
class Question:
    """What the conversation waits for."""

    text: str
    until: datetime | None


@dataclass
class Transcript:
    lines: list[Line]
    earlier: str | None
    """The end of what comes before, if that is not all."""
    is_broken: bool = False


def read_transcript(end: str | None) -> Transcript:
    """Read the last messages of the history that ends here."""
    try:
        entries = read_entries(end, MAX_MESSAGES) if end else []
    except (LookupError, ValueError):
        return Transcript([], None, is_broken=True)
    lines = _lines([entry.message for entry in entries])
    _format(lines)
    return Transcript(lines, entries[0].parent_id if entries else None)


def read_branches(thread: Thread) -> list[Branch]:
    """Read how the versions that were left end, the newest first."""
    ends = Message.objects.filter(pk__in=thread.branches[-MAX_BRANCHES:]).order_by("-created_at")
    return [Branch(row.pk, _preview(row.data), row.created_at) for row in ends]


def _preview(data: Any) -> str:
    with suppress(ValueError):
        return preview_of(codec.load_messages([data]))
    return ""


def read_questions(thread: Thread) -> list[Question]:
    """Read what the user has to answer before the conversation goes on."""
    with suppress(ValueError):
        requests = None if thread.deferred is None else codec.load(codec.DEFERRED, thread.deferred)
        return [
            Question(one.interrupt.message or "", _moment(one.expires_at))
            for one in open_interrupts(requests)
        ]
    return []


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _lines(messages: Sequence[ModelMessage]) -> list[Line]:
    lines: list[Line] = []
    calls: dict[str, Line] = {}
    for message, files in zip(messages, _named_files(messages), strict=True):
        told, secrets = told_of_calls(message), annotation(message, SECRETS_KEY) or {}
        for line, part in _parts_of(message, files):
            if isinstance(part, BaseToolReturnPart) and part.tool_call_id in calls:
                call = calls.pop(part.tool_call_id)
                call.result, call.result_fields, call.outcome = (
                    line.result,
                    line.result_fields,
                    line.outcome,
                )
                about = told.get(part.tool_call_id, {})
                if "editedArguments" in about:
                    hidden = hide(_loaded(about["editedArguments"]), call.secrets)
                    call.arguments, call.argument_fields = _shown(hidden)
                    call.changed_by = about.get("editedBy", "")
                continue
            if isinstance(part, BaseToolCallPart):
                calls[part.tool_call_id] = line
                if paths := secrets.get(part.tool_call_id):
                    line.secrets = paths
                    line.arguments, line.argument_fields = _shown(hide(_loaded(part.args), paths))
            lines.append(line)
        if getattr(message, "state", "") == "interrupted" and lines:
            lines[-1].is_cut_off = True
    return lines


def _named_files(messages: Sequence[ModelMessage]) -> list[list[NamedFile]]:
    """The files that each message names, as the parts of the project tell."""
    named: list[list[NamedFile]] = [[] for _ in messages]
    for part in parts.installed():
        for files, more in zip(named, part.named_files(messages), strict=False):
            files += more
    return named


def _parts_of(message: ModelMessage, named: list[NamedFile]) -> Iterator[tuple[Line, Any]]:
    for part in message.parts:
        line = _line(part, getattr(part, "timestamp", None) or message.timestamp)
        if line is not None:
            if line.kind == "user":
                line.files += named
                named = []
            yield line, part


def _line(part: Any, at: datetime | None) -> Line | None:
    match part:
        case UserPromptPart():
            contents = [part.content] if isinstance(part.content, str) else part.content
            texts = [item.content if isinstance(item, TextContent) else item for item in contents]
            said = "\n".join(text for text in texts if isinstance(text, str))
            files = [_file(item) for item in contents if not isinstance(item, str | TextContent)]
            return Line("user", "User", at, cut(said), files=files)
        case TextPart():
            return Line("assistant", "Assistant", at, cut(part.content)) if part.content else None
        case ThinkingPart():
            return Line("reasoning", "Reasoning", at, cut(part.content)) if part.content else None
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
        return Line("other", who, at, files=[_file(content)])
    return Line("other", who, at, cut(pretty(content)))


def _format(lines: Sequence[Line]) -> None:
    """Let the last answers be shown as Markdown, as many as can be read quickly."""
    left = MAX_FORMATTED_CHARS
    for line in reversed(lines):
        if line.kind in ("assistant", "reasoning"):
            left -= len(line.text)
            line.is_formatted = left >= 0


def _file(item: Any) -> NamedFile:
    if isinstance(item, BinaryContent):
        return NamedFile(item.media_type, filesizeformat(len(item.data)))
    return NamedFile(item.url if isinstance(item, FileUrl) else type(item).__name__, "")


def _shown(value: Any) -> tuple[str, list[tuple[str, str]]]:
    """Show a value as text, and the parts of an object by their names."""
    text = pretty(value)
    value = _loaded(value)
    if not isinstance(value, dict) or len(value) > MAX_FIELDS or len(text) > MAX_CHARS:
        return cut(text), []
    return text, [
        (str(name), part if isinstance(part, str) else _json(part)) for name, part in value.items()
    ]


def pretty(value: Any) -> str:
    """Show a value as text: JSON over several lines, texts as they are."""
    value = _loaded(value)
    if isinstance(value, str) or value is None:
        return value or ""
    return _json(value)


def _loaded(value: Any) -> Any:
    """The value that a text is the JSON of, else the value itself."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=_describe)


def _describe(value: Any) -> str:
    return (
        f"[{value.media_type}, {filesizeformat(len(value.data))}]"
        if isinstance(value, BinaryContent)
        else str(value)
    )


def cut(text: str) -> str:
    more = len(text) - MAX_CHARS
    return f"{text[:MAX_CHARS]}… ({more} more characters)" if more > 0 else text
