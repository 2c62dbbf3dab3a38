"""The parameters of a model's tools: their types, and what they say to the language model."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from agui.contrib.agentify.describe import ModelInfo
from agui.contrib.agentify.fields import FieldInfo, type_of
from agui.contrib.agentify.source import WIDTH

MAX_FILTERS = 8
MAX_SEARCHED = 8
MAX_ORDERINGS = 4
RANGES = {
    "int": ("min", "max"),
    "float": ("min", "max"),
    "Decimal": ("min", "max"),
    "date": ("from", "until"),
    "datetime": ("from", "until"),
}
ORDERED = {*RANGES, "str", "time"}
# Names that the tools themselves use.
TAKEN = {"ctx", "limit", "search", "order_by", "empty", "rows", "row", "registry", "skills", "tool"}

STANDARD = {
    "date": "datetime",
    "datetime": "datetime",
    "time": "datetime",
    "timedelta": "datetime",
    "Decimal": "decimal",
    "Annotated": "typing",
    "Any": "typing",
    "Literal": "typing",
    "UUID": "uuid",
}
THIRD = {"Field": "pydantic"}

Modules = dict[str, set[str]]


@dataclass(frozen=True)
class Filter:
    """A parameter that narrows a list."""

    name: str
    lookup: str
    annotation: str
    about: str = ""
    """Details that its name and its type don't tell."""


def imports_of(body: str) -> tuple[Modules, Modules]:
    """Find out which names of the standard library, and of packages, the source uses."""
    # Names in texts are not used.
    code = re.sub(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#.*', '""', body)
    code = re.sub(r"\.\w+|\b\w+(?=[:=] )", "", code)
    words = set(re.findall(r"\b\w+\b", code))
    standard: Modules = {}
    third: Modules = {}
    for name, module in STANDARD.items():
        if name in words:
            standard.setdefault(module, set()).add(name)
    for name, module in THIRD.items():
        if name in words:
            third.setdefault(module, set()).add(name)
    return standard, third


def argument(name: str, id_name: str = "") -> str:
    """Name the parameter of a field: the tool may use that name itself."""
    return f"{name}_" if name in {*TAKEN, id_name} else name


def plain_type(item: FieldInfo) -> str:
    """Return the type of one value, without its limits."""
    if item.choices:
        return alias_of(item)
    if item.type == "many" and item.related:
        return f"list[{pk_type(item.related)}]"
    return item.type


def pk_type(model: type) -> str:
    """Return the type of a related row's id."""
    kind = type_of(model._meta.pk)  # type: ignore[attr-defined]
    return kind if kind and kind != "Any" else "str"


def alias_of(item: FieldInfo) -> str:
    """Name the type of a field's choices: "status" has "StatusChoice"."""
    return "".join(word.title() for word in item.name.split("_")) + "Choice"


def annotation(item: FieldInfo) -> str:
    """Return the type of a field's parameter, with its limits if they fit in a line."""
    kind = plain_type(item)
    limits = ", ".join(f"{name}={value!r}" for name, value in item.limits.items())
    whole = f"Annotated[{kind}, Field({limits})]"
    if not limits or len(f"    {item.name}_: {whole} | None = None,") > WIDTH:
        return kind
    return whole


def optional(kind: str) -> str:
    return kind if kind == "Any" else f"{kind} | None"


def changeable_of(info: ModelInfo) -> list[FieldInfo]:
    """List the fields that a tool may change: a row keeps its primary key."""
    pk: Any = info.model._meta.pk
    keys = getattr(pk, "field_names", (pk.name,))
    return [item for item in info.fields if item.changeable and item.name not in keys]


def emptied_of(info: ModelInfo) -> list[str]:
    """List the fields that a tool may empty."""
    return [item.name for item in changeable_of(info) if item.can_be_empty]


def filters_of(info: ModelInfo) -> list[Filter]:
    """List what rows can be found by: choices, flags, related rows, and ranges."""
    filters: dict[str, Filter] = {}
    for item in info.shown:
        if item.custom or item.type in ("Any", "file"):
            continue
        for choice in _filters_of_field(item, info):
            name = argument(choice.name)
            if name not in filters and len(filters) < MAX_FILTERS:
                filters[name] = replace(choice, name=name)
    return list(filters.values())


def _filters_of_field(item: FieldInfo, info: ModelInfo) -> Iterable[Filter]:
    words = item.name.replace("_", " ")
    if item.related:
        if info.owner and info.owner.path == item.name:
            return
        yield Filter(item.name, item.name, item.type, f"The id of the {words}.")
    elif item.choices or item.type == "bool":
        yield Filter(item.name, item.name, plain_type(item))
    elif item.type in RANGES:
        lowest, highest = RANGES[item.type]
        for suffix, lookup in [(lowest, "gte"), (highest, "lte")]:
            yield Filter(f"{item.name}_{suffix}", f"{item.name}__{lookup}", item.type)


def searched_fields(info: ModelInfo) -> list[str]:
    """List the fields that a text is searched in."""
    return [item.name for item in info.shown if item.is_text][:MAX_SEARCHED]


def orderings_of(info: ModelInfo) -> list[str]:
    """List the orders of rows, both ways. The first one is the newest first."""
    names = []
    for item in info.shown:
        if item.type in ORDERED and not item.custom and not item.related:
            names.append(item.name)
    newest = _newest(info)
    others = [name for name in names if name != newest][: MAX_ORDERINGS - 1]
    orderings = []
    for name in [newest, *others]:
        orderings += [f"-{name}", name]
    return orderings


def _newest(info: ModelInfo) -> str:
    """Find the field that says when a row was made; otherwise the primary key."""
    moments = [item for item in info.shown if item.type in ("datetime", "date") and not item.custom]
    latest = info.model._meta.get_latest_by
    for item in moments:
        if isinstance(latest, str) and item.name == latest.lstrip("-"):
            return item.name
    for item in moments:
        if item.adds_itself:
            return item.name
    for word in ("created", "placed", "submitted", "added", "joined", "date"):
        for item in moments:
            if word in item.name:
                return item.name
    return "pk"
