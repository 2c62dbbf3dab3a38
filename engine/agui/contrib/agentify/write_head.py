"""Writes the head of a module of tools: what it is about, its imports and its constants."""

from agui.contrib.agentify.describe import ModelInfo
from agui.contrib.agentify.parameters import alias_of, emptied_of, imports_of, orderings_of
from agui.contrib.agentify.source import WIDTH, call, imports, listing, paragraph, quoted
from agui.contrib.agentify.variables import is_imported, variables_of

Lines = list[str]


def write_head(info: ModelInfo, body: str) -> Lines:
    """Write what comes before the functions in `body`."""
    return [*_docstring(info), "", *_imports(info, body), "", *_constants(info)]


def _docstring(info: ModelInfo) -> Lines:
    title = info.names.rows[:1].upper() + info.names.rows[1:]
    about = (
        f"`manage.py agentify {info.label}` wrote this module, and it is yours: edit it. If "
        "you run the command again after the model has changed, it keeps your edits."
    )
    lines = [f'"""{title}, as tools of the assistant.', "", *paragraph(about), ""]
    if info.owner:
        text = f"A tool reaches only rows whose `{info.owner.path}` is the user who asks."
    else:
        text = "Nobody has said who owns a row, so these tools are for staff."
    if info.rules.source:
        text += f" `{info.rules.source}` decides which fields can be set."
    if info.not_created:
        text += f" No tool creates {info.names.a_row}: {info.not_created}."
    return [*lines, *paragraph(text), '"""']


def _imports(info: ModelInfo, body: str) -> Lines:
    constants = "\n".join(_constants(info))
    standard, third = imports_of(f"{constants}\n{body}")
    third.setdefault("django.db.models", set()).add("QuerySet")
    third["pydantic_ai"] = {"RunContext"}
    standard.setdefault("typing", set()).add("Any")
    own: dict[str, set[str]] = {
        "agui": {"AgentDeps", "tool"},
        "agui.contrib.agentify": {"rows"},
        "assistant.skills": {"skills"},
        "assistant.tools": {"registry"},
    }
    for model, variable in variables_of(info).items():
        if is_imported(model, variable):
            own.setdefault(model.__module__, set()).add(variable)
    lines: Lines = []
    for block in (standard, third, own):
        lines += [*imports(block), ""]
    return lines[:-1]


def _constants(info: ModelInfo) -> Lines:
    lines = []
    for model, variable in variables_of(info).items():
        if not is_imported(model, variable):
            label, name = model._meta.app_label, model.__name__
            items = [quoted(f"{label}.{name}")]
            lines += call(f"{variable}: Any = rows.model(", items, ")")
    if lines:
        lines.append("")
    lines.append(f"# What is shown of {info.names.a_row}. Remove what the model needn't know.")
    lines += listing("SHOWN", [item.shown for item in info.shown], "list[str]")
    if info.details:
        lines.append(f"# What is shown beside that if one {info.names.row} is read.")
        lines += listing("DETAILS", [item.shown for item in info.details])
    lines += _not_set(info)
    lines += _choices(info)
    return lines


def _not_set(info: ModelInfo) -> Lines:
    """Name the fields that people may edit and the tools don't."""
    if not info.not_set:
        return []
    notes = [f"{name} ({reason})" if reason else name for name, reason in info.not_set.items()]
    names = ", ".join(notes)
    text = f"No tool sets these fields, unless you name those to set with --fields: {names}."
    return ["", *(f"# {line}" for line in paragraph(text, width=WIDTH - 2))]


def _choices(info: ModelInfo) -> Lines:
    """Write the types of parameters that have few values."""
    aliases = {"Ordering": orderings_of(info)}
    emptied = emptied_of(info)
    if emptied:
        aliases["Emptied"] = emptied
    for item in info.fields:
        if item.choices and (item in info.editable or item in info.shown):
            aliases[alias_of(item)] = list(item.choices)
    lines = [""]
    for name, values in aliases.items():
        lines += call(f"{name} = Literal[", [quoted(value) for value in values], "]")
    return lines
