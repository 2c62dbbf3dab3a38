"""Read the files of `transcripts/`, whose format is in `transcripts/README.md`. A mistake in one is an error."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.comparing import Only

yaml = pytest.importorskip("yaml")

INPUT = {"threadId", "runId", "messages", "tools", "state", "context", "forwardedProps", "parentRunId"}
INPUT |= {"protocolVersion", "resume"}
STREAM = {"events", "custom", "ends", "asks", "says", "answer", "answer_headers", "status"}
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
HTTP = {"body", "text", "type", "headers", "status", "answer", "answer_headers", "events", "ends"}
MCP = {"name", "arguments", "taskId", "inputResponses", "requestState", "can", "about", "status", "result", "error"}
BROWSER = {"status", "shows", "answer_headers"}
# What each kind of step may have beside its first key.
ACTIONS: dict[str, set[str]] = {
    **dict.fromkeys(["run", "resume", "messages"], INPUT | STREAM | {"run", "model", "headers"}),
    "begin": INPUT | {"model", "until", "as"},
    "release": {"until"},
    "close": set(),
    "end": STREAM | {"release"},
    "follow": STREAM | {"after", "model"},
    **dict.fromkeys(METHODS, HTTP | {"model"}),
    "send": {"id", "message", "mode", "expected_run", "context", "status", "answer", "model"},
    "attack": {"text", "type", "headers", "raw", "everywhere", "at", "ends", "anew"},
    "mcp": MCP,
    "open": BROWSER,
    "submit": BROWSER | {"to"},
    "upload": {"text", "answer", "status"},
    "thread": {"answer"},
    **{key: set() for key in ("settings", "django", "agent", "later", "user", "permit", "forbid", "idle")},
    **{key: set() for key in ("effects", "rows", "lines", "waiting")},
}
ANY_STEP = {"by", "values", "effects", "rows", "lines", "waiting", "sent", "logged", "without"}


class Mapping(dict[str, Any]):
    """A mapping that knows its line."""

    line = 0


class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
    """YAML with JSON's scalars: no dates, no `yes`, no octal numbers, and no key twice."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def mapping(self, node: Any) -> Mapping:
        keys = [key.value for key, _ in node.value]
        self.flatten_mapping(node)
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"{node.start_mark}: {twice} twice")
        made = Mapping(self.construct_pairs(node, deep=True))
        made.line = node.start_mark.line + 1
        return made


def _times(loader: Any, node: Any) -> Any:
    """`!times [x, 3]` is xxx, and of a list it is a longer one."""
    value, count = loader.construct_sequence(node, deep=True)
    return value * count


def _joined(loader: Any, node: Any) -> Any:
    """`!joined [a, b]` is ab, and of lists it is one list."""
    first, *others = loader.construct_sequence(node, deep=True)
    for other in others:
        first = first + other
    return first


def _nested(loader: Any, node: Any) -> str:
    """`!nested ["[", 3, "]"]` is [[[]]], and a fourth text stands within."""
    opening, depth, closing, *inner = loader.construct_sequence(node)
    return opening * depth + "".join(inner) + closing * depth


def _encoded(loader: Any, node: Any) -> bytes:
    """`!encoded [é, latin-1]` is one byte, and in UTF-8 "\\uDCFF" is the byte FF."""
    text, encoding = loader.construct_sequence(node, deep=True)
    return bytes(text.encode(encoding, "surrogateescape"))


def _numbered(loader: Any, node: Any) -> list[Any]:
    """`!numbered [[{id: "#"}], 3]` has these three times, with numbers instead of the #."""
    items, count = loader.construct_sequence(node, deep=True)
    return [item for number in range(count) for item in json.loads(json.dumps(items).replace("#", str(number)))]


def _keyed(loader: Any, node: Any) -> dict[str, int]:
    """`!keyed ["key #", 3]` has three keys."""
    key, count = loader.construct_sequence(node)
    return {key.replace("#", str(number)): number for number in range(count)}


Loader.add_constructor("tag:yaml.org,2002:map", Loader.mapping)
Loader.add_constructor("!only", lambda loader, node: Only(loader.mapping(node)))
for make in (_times, _joined, _nested, _encoded, _numbered, _keyed):
    Loader.add_constructor(make.__name__.replace("_", "!"), make)
NUMBER = r"-?(?:0|[1-9]\d*)"
for tag, pattern, first in (
    ("bool", "true|false", "tf"),
    ("null", "null", "n"),
    ("int", NUMBER, "-0123456789"),
    ("float", rf"{NUMBER}(?:\.\d+)?(?:[eE][-+]?\d+)?", "-0123456789"),
    ("merge", "<<", "<"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), list(first))


@dataclass
class Transcript:
    """One behaviour: a sentence, and the steps that show it."""

    path: Path
    sentence: str
    steps: list[Mapping]
    needs: list[str]
    is_of_databases: bool
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The values with which the whole transcript is played."""
    every: int = 1
    """By day it is played with one of so many values, and with none if this is 0."""


def read(path: Path) -> Iterator[Transcript]:
    """Read a file of transcripts. A mistake in one is an error of the file."""
    document = yaml.load(path.read_text(), Loader)  # a SafeLoader
    about = {key: document.pop(key) for key in ("needs", "database", "before", "after", "shared") if key in document}
    for sentence, steps in document.items():
        if not re.match("[A-Z]", sentence):
            raise ValueError(f"{path}: {sentence!r} is no sentence")
        first = steps[0]
        rows: list[dict[str, Any]] = []
        if first.keys() <= {"values", "by_day"}:
            rows = list(rows_of(first["values"]))
            steps = steps[1:]
        steps = [*about.get("before", []), *steps, *about.get("after", [])]
        for step in steps:
            # A step may be a value of the rows: `$name`.
            for each in [row[step[1:]] for row in rows] if isinstance(step, str) else [step]:
                check_keys(path, each)
        yield Transcript(
            path, sentence, steps, about.get("needs", []), "database" in about, rows, first.get("by_day", 1)
        )


def action_of(step: dict[str, Any]) -> str:
    """Its first key, before which there may be the values with which it is played."""
    return next(key for key in step if key != "values")


def check_keys(path: Path, step: Mapping) -> None:
    action = action_of(step)
    if action not in ACTIONS:
        raise ValueError(f"{path}:{step.line}: there is no step {action!r}")
    if unknown := step.keys() - {action} - ACTIONS[action] - ANY_STEP:
        raise ValueError(f"{path}:{step.line}: a step {action!r} has no {sorted(unknown)}")


def rows_of(values: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """`{a: [1, 2]}` are two rows, and so is `{"a, b": [[1, 2], [3, 4]]}`."""
    [(header, rows)] = values.items()
    names = header.split(", ")
    for row in rows:
        yield dict(zip(names, row if len(names) > 1 else [row], strict=True))
