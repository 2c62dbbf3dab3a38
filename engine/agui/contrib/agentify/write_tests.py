"""Writes the tests of a model's tools."""

from typing import Any

from agui.contrib.agentify.describe import ModelInfo
from agui.contrib.agentify.parameters import argument, changeable_of
from agui.contrib.agentify.source import call, docstring, imports, inner, paragraph, quoted
from agui.contrib.agentify.variables import variables_of
from agui.contrib.agentify.write_tools import action_name

MAX_RELATIONS = 5
SAMPLES = {"as_user", "create_or_skip", "make_or_skip", "make_user", "sample_arguments"}
Lines = list[str]


class TestsWriter:
    """Writes the tests of one model's tools."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info
        self.names = info.names
        self.module = info.names.module
        self.changeable = changeable_of(info)
        self.variables = variables_of(info)
        self.model = f"{self.module}.{self.variables[info.model]}"
        self.owned = self.owned_relations()
        # A model called User has no `make_user` of its own: samples.py has one.
        taken = f"make_{info.names.singular}" in SAMPLES
        self.make_name = f"make_{info.names.singular}{'_row' if taken else ''}"

    def write(self) -> str:
        """Write the module of tests."""
        blocks = [self.maker(), self.fixtures(), self.own_rows()]
        if self.info.owner:
            blocks.append(self.foreign_rows())
        else:
            blocks.append(self.only_staff())
        if not self.info.not_created:
            blocks.append(self.creation())
        for name, path in self.owned.items():
            blocks.append(self.foreign_choice(name, path))
        if not self.is_alone:
            blocks.append(self.queries())
        blocks.append(self.protection())
        body = "\n\n\n".join("\n".join(block) for block in blocks)
        return "\n".join(self.head(body)) + "\n\n\n" + body + "\n"

    def head(self, body: str) -> Lines:
        rows = self.names.rows
        text = (
            f"`manage.py agentify {self.info.label}` wrote these tests, and they are yours. If "
            f"they are skipped, {self.names.a_row} needs more than its required fields: make it in "
            f"`{self.make_name}`."
        )
        title = f"The tools of {rows}: what they find, and what is out of their reach."
        lines = [*paragraph(f'"""{title}'), ""]
        lines += [*paragraph(text), '"""', "", "from typing import Any", "", "import pytest"]
        third = {
            "django.core.exceptions": {"PermissionDenied"},
            "django.db": {"connection"},
            "django.test.utils": {"CaptureQueriesContext"},
            "pydantic_ai": {"ModelRetry"},
        }
        own = {
            "agui": {"needs_confirmation"},
            "agui.contrib.agentify": {"rows"},
            "agui.contrib.agentify.samples": SAMPLES,
            "assistant": {self.module},
            "assistant.tools": {"registry"},
        }
        lines += [*imports(used(third, body)), "", *imports(used(own, body)), ""]
        return [*lines, "pytestmark = pytest.mark.django_db"]

    # --- Rows to test with

    def maker(self) -> Lines:
        row = self.names.a_row
        info = self.info
        if info.owner:
            about = f"Make {row} of a user. Write it here if its required fields don't make one."
            items = [self.model, quoted(info.owner.path), "owner"]
        else:
            about = f"Make {row}. Write it here if its required fields don't make one."
            items = [self.model]
        parameters = ["owner: Any"] if info.owner else []
        lines = call(f"def {self.make_name}(", parameters, ") -> Any:")
        lines += docstring(about)
        return [*lines, *call("return make_or_skip(", items, ")", 4)]

    def fixtures(self) -> Lines:
        staff = "" if self.info.owner else "is_staff=True"
        lines = ["@pytest.fixture", "def ada() -> Any:", f"    return make_user({staff})"]
        return [*lines, "", "", "@pytest.fixture", "def bob() -> Any:", "    return make_user()"]

    def make(self, owner: str) -> str:
        return f"{self.make_name}({owner if self.info.owner else ''})"

    @property
    def is_alone(self) -> bool:
        """Whether a user can own no more than one row."""
        owner = self.info.owner
        if owner is None:
            return False
        if owner.path == "pk":
            return True
        for model_field in self.info.model._meta.fields:
            if model_field.name == owner.first and not owner.rest:
                return bool(model_field.unique)
        return False

    # --- The tests

    def tool(self, name: str) -> str:
        return f"{self.module}.{name}"

    def own_rows(self) -> Lines:
        singular, plural = self.names.singular, self.names.plural
        lines = ["def test_a_row_is_found_and_read(ada: Any):"]
        lines.append(f"    row = {self.make('ada')}")
        start = f"found = {self.tool(f'list_{plural}')}("
        lines += call(start, ["as_user(ada)", "limit=100"], ")", 4)
        lines.append('    assert rows.plain(row.pk) in [item["id"] for item in found]')
        start = f"shown = {self.tool(f'read_{singular}')}("
        lines += call(start, ["as_user(ada)", "row.pk"], ")", 4)
        return [*lines, '    assert shown["id"] == rows.plain(row.pk)']

    def by_id(self) -> list[str]:
        """List the tools that take an id."""
        names = [f"read_{self.names.singular}"]
        if self.changeable:
            names.append(f"change_{self.names.singular}")
        if self.info.rules.deletable:
            names.append(f"delete_{self.names.singular}")
        for method in self.info.actions:
            names.append(action_name(method, self.names.singular))
        return names

    def foreign_rows(self) -> Lines:
        plural = self.names.plural
        lines = ["def test_rows_of_another_user_are_not_found(ada: Any, bob: Any):"]
        lines.append(f"    row = {self.make('bob')}")
        lines += call(f"found = {self.tool(f'list_{plural}')}(", ["as_user(ada)"], ")", 4)
        lines.append('    assert rows.plain(row.pk) not in [item["id"] for item in found]')
        names = [quoted(name) for name in self.by_id()]
        listed = inner("[", names, "]")
        lines += ["", "", *call("@pytest.mark.parametrize(", ['"name"', listed], ")")]
        lines.append(
            "def test_a_row_of_another_user_is_out_of_reach(ada: Any, bob: Any, name: str):"
        )
        lines.append(f"    row = {self.make('bob')}")
        lines.append('    with pytest.raises(ModelRetry, match="There is no"):')
        lines.append(f"        getattr({self.module}, name)(as_user(ada), row.pk)")
        return [*lines, *self.is_still_there()]

    def only_staff(self) -> Lines:
        listed = inner("[", [quoted(name) for name in self.by_id()], "]")
        lines = call("@pytest.mark.parametrize(", ['"name"', listed], ")")
        lines.append("def test_a_tool_is_for_staff(bob: Any, name: str):")
        lines.append(f"    row = {self.make('')}")
        lines.append("    with pytest.raises(PermissionDenied):")
        lines.append(f"        getattr({self.module}, name)(as_user(bob), row.pk)")
        lines += self.is_still_there()
        lines += ["", "", "def test_rows_are_found_by_staff_only(bob: Any):"]
        lines.append("    with pytest.raises(PermissionDenied):")
        start = f"{self.tool(f'list_{self.names.plural}')}("
        return [*lines, *call(start, ["as_user(bob)"], ")", 8)]

    def is_still_there(self) -> Lines:
        return [
            "    manager = type(row)._base_manager",
            "    assert manager.filter(pk=row.pk).exists()",
        ]

    def creation(self) -> Lines:
        singular = self.names.singular
        lines = ["def test_a_created_row_can_be_read(ada: Any):"]
        pairs = []
        for item in self.info.creatable:
            path = self.info.choosable.get(item.name, "")
            if item.required and path and item.type != "many":
                start = f"{quoted(argument(item.name))}: "
                pairs.append(self.related(start, item, path, "ada", ").pk", 8))
        lines += call("related: dict[str, Any] = {", pairs, "}", 4)
        tool = f'registry.get("create_{singular}")'
        lines.append(f"    tool = {tool}")
        items = [self.model, "tool", "related"]
        lines += call("arguments = sample_arguments(", items, ")", 4)
        items = [self.model, "tool", "arguments", "as_user(ada)"]
        lines += call("created = create_or_skip(", items, ")", 4)
        rows_of = self.tool(f"{self.names.plural}_of")
        lines += call(f"found = {rows_of}(", ["as_user(ada)"], ")", 4)
        return [*lines, '    assert found.filter(pk=created["id"]).exists()']

    def owned_relations(self) -> dict[str, str]:
        """List related rows that belong to a user: only that user may choose them."""
        if self.info.owner is None:
            return {}
        owned: dict[str, str] = {}
        pk: Any = self.info.model._meta.pk
        for item in self.changeable:
            path = self.info.choosable.get(item.name, "")
            is_key = item.name in getattr(pk, "field_names", (pk.name,))
            if path and not is_key and len(owned) < MAX_RELATIONS:
                owned[item.name] = path
        return owned

    def related(self, start: str, item: Any, path: str, owner: str, end: str, indent: int) -> str:
        """Write the row of a user that another row may refer to."""
        if path == "pk":
            return f"{start}{owner}{end[1:]}"
        variable = f"{self.module}.{self.variables[item.related]}"
        items = [variable, quoted(path), owner]
        return inner(f"{start}make_or_skip(", items, end, indent)

    def foreign_choice(self, name: str, path: str) -> Lines:
        item = next(item for item in self.info.fields if item.name == name)
        singular = self.names.singular
        start = f"def test_a_{name}_of_another_user_is_refused("
        lines = call(start, ["ada: Any", "bob: Any"], "):")
        lines.append(f"    row = {self.make('ada')}")
        foreign = self.related("foreign = ", item, path, "bob", ")", 4)
        lines += [f"    {line}" for line in foreign.split("\n")]
        value = "[foreign.pk]" if item.type == "many" else "foreign.pk"
        parameter = argument(name, f"{singular}_id")
        lines.append('    with pytest.raises(ModelRetry, match="There is no"):')
        items = ["as_user(ada)", "row.pk", f"{parameter}={value}"]
        return [*lines, *call(f"{self.tool(f'change_{singular}')}(", items, ")", 8)]

    def queries(self) -> Lines:
        plural = self.names.plural
        start = f"{self.tool(f'list_{plural}')}("
        listed = call(start, ["as_user(ada)", "limit=50"], ")", 8)
        return [
            "def test_the_number_of_queries_does_not_grow(ada: Any):",
            f"    {self.make('ada')}",
            "    with CaptureQueriesContext(connection) as few:",
            *listed,
            "    for _ in range(49):",
            f"        {self.make('ada')}",
            "    with CaptureQueriesContext(connection) as many:",
            *listed,
            "    assert len(many) == len(few)",
        ]

    def protection(self) -> Lines:
        """Write the test of who may call which tool, and which of them ask first."""
        singular, plural = self.names.singular, self.names.plural
        view, change = self.info.permission("view"), self.info.permission("change")
        cases = [(f"list_{plural}", view, False), (f"read_{singular}", view, False)]
        if not self.info.not_created:
            cases.append((f"create_{singular}", self.info.permission("add"), True))
        if self.changeable:
            cases.append((f"change_{singular}", change, True))
        if self.info.rules.deletable:
            cases.append((f"delete_{singular}", self.info.permission("delete"), True))
        for method in self.info.actions:
            cases.append((action_name(method, singular), change, True))
        items = []
        for name, permission, asks in cases:
            parts = [quoted(name), quoted(permission), str(asks)]
            items.append(inner("(", parts, ")", 12))
        listed = inner("[", items, "]")
        lines = call("@pytest.mark.parametrize(", ['("name", "permission", "asks")', listed], ")")
        lines += call(
            "def test_a_tool_is_protected(",
            ["name: str", "permission: str", "asks: bool"],
            "):",
        )
        lines.append("    spec = registry.get(name).spec")
        return [
            *lines,
            "    assert (spec.permission, needs_confirmation(spec)) == (permission, asks)",
            "    # What changes something asks first.",
            "    assert spec.read_only != asks",
        ]


def used(modules: dict[str, set[str]], body: str) -> dict[str, set[str]]:
    """Keep the names that the source uses."""
    kept = {}
    for module, names in modules.items():
        needed = {name for name in names if f"{name}(" in body or f"{name}." in body}
        needed |= {name for name in names if f"({name}" in body}
        if needed:
            kept[module] = needed
    return kept


def write_tests(info: ModelInfo) -> str:
    return TestsWriter(info).write()
