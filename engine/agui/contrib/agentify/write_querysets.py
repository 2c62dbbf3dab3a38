"""Writes the functions that each tool starts from: which rows are in a user's reach."""

from typing import Any

from agui.contrib.agentify.describe import ModelInfo
from agui.contrib.agentify.owners import read_owner
from agui.contrib.agentify.source import call, docstring
from agui.contrib.agentify.variables import is_imported, manager_of, variables_of

CTX = "ctx: RunContext[AgentDeps]"
Lines = list[str]


def rows_of(info: ModelInfo) -> str:
    """Name the function that returns the rows in a user's reach."""
    return f"{info.names.plural}_of"


def write_querysets(info: ModelInfo) -> Lines:
    """Write the functions that return the rows of a user, and the rows that these may refer to."""
    rows = info.names.rows
    if info.owner:
        about = f"Return the user's {rows}: every tool starts here."
    else:
        about = f"Return all {rows}, if the user is staff: every tool starts here."
    path = info.owner.path if info.owner else ""
    lines = _queryset(info, rows_of(info), info.model, about, _filter(path), path)
    for name, path in info.choosable.items():
        item = next(item for item in info.fields if item.name == name)
        condition = _filter(path)
        words = name.replace("_", " ")
        about = f"Return what {info.names.a_row} may have as {words}."
        if path:
            about = f"Return what the user may choose as {words} of {info.names.a_row}."
        lines += ["", ""]
        lines += _queryset(info, f"{name}_choices", item.related, about, condition, path)
    return lines


def _filter(path: str) -> str:
    if path == "pk":
        return "pk=ctx.deps.user.pk"
    return f"{path}=ctx.deps.user" if path else ""


def _queryset(
    info: ModelInfo, name: str, model: Any, about: str, condition: str, path: str
) -> Lines:
    variable = variables_of(info)[model]
    kind = f"QuerySet[{variable}]" if is_imported(model, variable) else "QuerySet[Any]"
    lines = call(f"def {name}(", [CTX], f") -> {kind}:")
    lines += docstring(about)
    manager = manager_of(model)
    if info.owner is None:
        lines.append("    rows.check_staff(ctx)")
    if not condition:
        return [*lines, f"    return {variable}.{manager}.all()"]
    # A row that a user owns in two ways is found once.
    end = ").distinct()" if read_owner(model, path).is_many else ")"
    return [*lines, *call(f"return {variable}.{manager}.filter(", [condition], end, 4)]
