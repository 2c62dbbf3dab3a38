"""Writes the module of a model's tools."""

import re

from agui.contrib.agentify.describe import ModelInfo
from agui.contrib.agentify.fields import FieldInfo
from agui.contrib.agentify.parameters import (
    annotation,
    argument,
    changeable_of,
    emptied_of,
    filters_of,
    optional,
    orderings_of,
    pk_type,
    searched_fields,
)
from agui.contrib.agentify.source import call, docstring, inner, quoted
from agui.contrib.agentify.variables import variables_of
from agui.contrib.agentify.write_head import write_head
from agui.contrib.agentify.write_querysets import CTX, rows_of, write_querysets

Lines = list[str]


class ToolsWriter:
    """Writes the tools of one model."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info
        self.names = info.names
        self.rows_of = rows_of(info)
        self.changeable = changeable_of(info)
        self.emptied = emptied_of(info)
        self.id_name = f"{info.names.singular}_id"
        self.variables = variables_of(info)
        self.has_details = bool(info.details)

    def write(self) -> str:
        """Write the module."""
        blocks = [write_querysets(self.info), self.list_tool(), self.read_tool()]
        if not self.info.not_created:
            blocks.append(self.create_tool())
        if self.changeable:
            blocks.append(self.change_tool())
        if self.info.rules.deletable:
            blocks.append(self.delete_tool())
        for name, about in self.info.actions.items():
            blocks.append(self.action_tool(name, about))
        body = "\n\n\n".join("\n".join(block) for block in blocks)
        body += "\n\n" + "\n".join(self.skill())
        head = write_head(self.info, body)
        return "\n".join(head) + "\n\n\n" + body + "\n"

    # --- The tools

    def decorator(
        self, action: str, question: str = "", related: Lines | None = None, is_new: bool = False
    ) -> Lines:
        """Write `@tool(...)`: one to view rows is read-only, one with a question is destructive.

        `related` are parameters of related rows, each with the function of their choices.
        """
        items = ["registry"]
        if action == "view":
            items.append("read_only=True")
        if question:
            items.append("destructive=True")
        items.append(f'permission="{self.info.permission(action)}"')
        if self.info.owner is None:
            items.append("prepare=rows.for_staff")
        if question:
            arguments = [quoted(question)]
            if not is_new:
                arguments += [self.rows_of, quoted(self.id_name), "SHOWN"]
            if related:
                arguments.append(inner("related={", related, "}", 12))
            items.append(inner("args_validator=rows.question(", arguments, ")"))
        return call("@tool(", items, ")")

    def function(self, name: str, parameters: Lines, result: str) -> Lines:
        return call(f"def {name}(", [CTX, *parameters], f") -> {result}:")

    def get_row(self) -> Lines:
        return call("row = rows.get(", [f"{self.rows_of}(ctx)", self.id_name], ")", 4)

    @property
    def id_parameter(self) -> str:
        return f"{self.id_name}: {self.info.pk_type}"

    @property
    def id_about(self) -> tuple[str, str]:
        return self.id_name, f"The id, as list_{self.names.plural} shows it."

    def list_tool(self) -> Lines:
        filters = filters_of(self.info)
        orderings = orderings_of(self.info)
        searched = searched_fields(self.info)
        parameters = ["limit: Annotated[int, Field(ge=1, le=100)] = 20"]
        about = []
        if searched:
            parameters.append("search: str | None = None")
            about.append(("search", "A text that they contain."))
        for item in filters:
            parameters.append(f"{item.name}: {optional(item.annotation)} = None")
            if item.about:
                about.append((item.name, item.about))
        parameters.append(f"order_by: Ordering = {quoted(orderings[0])}")
        lines = self.decorator("view")
        lines += self.function(f"list_{self.names.plural}", parameters, "list[dict[str, Any]]")
        summary = f"Find {self.names.rows}, by default the newest first."
        lines += docstring(summary, about)
        lines.append(f"    found = {self.rows_of}(ctx)")
        if searched:
            fields = inner("[", [quoted(name) for name in searched], "]", 8)
            lines += call("found = rows.search(", ["found", "search", fields], ")", 4)
        if filters:
            pairs = [f"{quoted(item.lookup)}: {item.name}" for item in filters]
            given = inner("{", pairs, "}", 8)
            lines += call("found = rows.narrow(", ["found", given], ")", 4)
        lines.append('    found = found.order_by(order_by, "-pk")')
        return [*lines, "    return rows.list_rows(found[:limit], SHOWN)"]

    def read_tool(self) -> Lines:
        lines = self.decorator("view")
        name = f"read_{self.names.singular}"
        lines += self.function(name, [self.id_parameter], "dict[str, Any]")
        lines += docstring(f"Read all details of one {self.names.row}.", [self.id_about])
        shown = "[*SHOWN, *DETAILS]" if self.has_details else "SHOWN"
        return [*lines, *self.get_row(), f"    return rows.read(row, {shown})"]

    def create_tool(self) -> Lines:
        names = self.names
        required = []
        optionals = []
        about = []
        for item in self.info.creatable:
            name = argument(item.name)
            if item.required:
                required.append(f"{name}: {self.annotation(item)}")
            else:
                optionals.append(f"{name}: {optional(self.annotation(item))} = None")
            about += self.about(item, name)
        related = self.related(self.info.creatable)
        lines = self.decorator("add", f"Create {names.a_row}?", related, is_new=True)
        lines += self.function(
            f"create_{names.singular}", [*required, *optionals], "dict[str, Any]"
        )
        lines += docstring(f"Create {names.a_row}.", about)
        if self.info.owner is None:
            lines.append("    rows.check_staff(ctx)")
        lines.append(f"    row = {self.variables[self.info.model]}()")
        pairs = self.values()
        owner = self.info.owner
        if owner and not owner.rest:
            value = "[ctx.deps.user]" if owner.is_many else "ctx.deps.user"
            pairs.insert(0, f"{quoted(owner.first)}: {value}")
        lines += self.save(pairs, "")
        return [*lines, "    return rows.as_json(row, SHOWN)"]

    def change_tool(self) -> Lines:
        names = self.names
        changeable = self.changeable
        parameters = [self.id_parameter]
        about = [self.id_about]
        for item in changeable:
            name = argument(item.name, self.id_name)
            parameters.append(f"{name}: {optional(self.annotation(item))} = None")
            about += self.about(item, name)
        emptied = self.emptied
        if emptied:
            parameters.append("empty: list[Emptied] | None = None")
            about.append(("empty", "The fields to empty."))
        related = self.related(changeable, self.id_name)
        lines = self.decorator("change", "Change {row}?", related)
        lines += self.function(f"change_{names.singular}", parameters, "dict[str, Any]")
        summary = f"Change fields of {names.a_row}. The fields that are left out stay as they are."
        lines += docstring(summary, about)
        lines += self.get_row()
        lines += self.save(self.values(self.id_name), "empty" if emptied else "")
        return [*lines, "    return rows.as_json(row, SHOWN)"]

    def delete_tool(self) -> Lines:
        lines = self.decorator("delete", "Delete {row}?")
        lines += self.function(f"delete_{self.names.singular}", [self.id_parameter], "str")
        lines += docstring(f"Delete {self.names.a_row} for good.", [self.id_about])
        return [*lines, *self.get_row(), "    return rows.delete(row)"]

    def action_tool(self, method: str, about: str) -> Lines:
        words = method.replace("_", " ")
        lines = self.decorator("change", f"{words[:1].upper()}{words[1:]} {{row}}?")
        name = action_name(method, self.names.singular)
        lines += self.function(name, [self.id_parameter], "dict[str, Any]")
        summary = about or f"Call {method}() of {self.names.a_row}."
        lines += docstring(summary, [self.id_about])
        lines += self.get_row()
        return [*lines, f"    return rows.act(row, row.{method}, SHOWN)"]

    def skill(self) -> Lines:
        names = self.names
        title = f"Last {names.rows}"
        items = [
            quoted(f"last_{names.plural}"),
            quoted(title),
            quoted(f"Show me the last five {names.rows}."),
            quoted(f"The newest {names.rows}, at a glance"),
            "send_immediately=True",
        ]
        items[3] = f"description={items[3]}"
        return ["", *call("skills.add(", items, ")")]

    # --- Values

    def annotation(self, item: FieldInfo) -> str:
        if item.related and item.type != "many":
            return pk_type(item.related)
        return annotation(item)

    def about(self, item: FieldInfo, name: str) -> list[tuple[str, str]]:
        """Describe a parameter, if its name doesn't."""
        says_more = words_in(item.about) != words_in(item.name)
        if item.related:
            words = "Their ids" if item.type == "many" else "Its id"
            return [(name, f"{item.about}. {words}." if says_more else f"{words}.")]
        return [(name, f"{item.about}.")] if says_more else []

    def related(self, items: list[FieldInfo], id_name: str = "") -> Lines:
        """List the parameters of related rows, each with the function of their choices."""
        pairs = []
        for item in items:
            if item.related:
                name = argument(item.name, id_name)
                pairs.append(f"{quoted(name)}: {item.name}_choices")
        return pairs

    def values(self, id_name: str = "") -> Lines:
        """Write what a tool sets: the values, and the related rows that the user may choose."""
        items = self.changeable if id_name else self.info.creatable
        pairs = []
        for item in items:
            name = argument(item.name, id_name)
            start = f"{quoted(item.name)}: "
            if not item.related:
                pairs.append(f"{start}{name}")
                continue
            function = "pick_many" if item.type == "many" else "pick"
            choices = f"{item.name}_choices(ctx)"
            pairs.append(inner(f"{start}rows.{function}(", [choices, name], ")", 12))
        return pairs

    def save(self, pairs: Lines, empty: str) -> Lines:
        values = inner("{", pairs, "}", 8)
        items = ["row", values]
        if empty:
            items.append(empty)
        return call("rows.save(", items, ")", 4)


def action_name(method: str, singular: str) -> str:
    """Name the tool of a method: "cancel" of an order is `cancel_order`."""
    return f"{method}_{singular}"[:64]


def words_in(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
