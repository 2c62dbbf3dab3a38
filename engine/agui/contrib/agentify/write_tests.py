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
        tests = [self.users(), self.own_rows()]
        if self.info.owner:
            tests.append(self.foreign_rows())
        else:
            tests.append(self.only_staff())
        if not self.info.not_created:
            tests.append(self.creation())
        for name, path in self.owned.items():
            tests.append(self.foreign_choice(name, path))
        if not self.is_alone:
            tests.append(self.queries())
        tests.append(self.protection())
        title = "".join(word.title() for word in self.names.singular.split("_"))
        methods = "\n\n".join("\n".join(lines) for lines in tests)
        body = "\n".join([*self.maker(), "", "", f"class {title}ToolsTest(TestCase):", methods])
        return "\n".join(self.head(body)) + "\n\n\n" + body + "\n"

    def head(self, body: str) -> Lines:
        rows = self.names.rows
        text = (
            f"`manage.py agentify {self.info.label}` wrote these tests, and they are yours. Both "
            "pytest and `manage.py test` run them. If they are skipped, "
            f"{self.names.a_row} needs more than its required fields: make it in "
            f"`{self.make_name}`."
        )
        title = f"The tools of {rows}: what they find, and what is out of their reach."
        lines = [*paragraph(f'"""{title}'), ""]
        lines += [*paragraph(text), '"""', "", "from typing import Any", ""]
        third = {
            "django.core.exceptions": {"PermissionDenied"},
            "django.db": {"connection"},
            "django.test": {"TestCase"},
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
        return [*lines, *imports(used(third, body)), "", *imports(used(own, body))]

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

    def users(self) -> Lines:
        staff = "" if self.info.owner else "is_staff=True"
        return [
            *test("setUp"),
            f"        self.ada = make_user({staff})",
            "        self.bob = make_user()",
        ]

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
        lines = test("test_a_row_is_found_and_read")
        lines.append(f"        row = {self.make('self.ada')}")
        start = f"found = {self.tool(f'list_{plural}')}("
        lines += call(start, ["as_user(self.ada)", "limit=100"], ")", 8)
        lines.append('        assert rows.plain(row.pk) in [item["id"] for item in found]')
        start = f"shown = {self.tool(f'read_{singular}')}("
        lines += call(start, ["as_user(self.ada)", "row.pk"], ")", 8)
        return [*lines, '        assert shown["id"] == rows.plain(row.pk)']

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

    def refused(self, row: str, error: str) -> Lines:
        """Write the calls of all tools that take an id, which `bob` must not use."""
        lines = [f"        row = {row}"]
        lines += call("for name in [", [quoted(name) for name in self.by_id()], "]:", 8)
        return [
            *lines,
            f"            with self.subTest(name), self.assertRaisesMessage({error}):",
            f"                getattr({self.module}, name)(as_user(self.bob), row.pk)",
            "        manager = type(row)._base_manager",
            "        assert manager.filter(pk=row.pk).exists()",
        ]

    def foreign_rows(self) -> Lines:
        plural = self.names.plural
        lines = test("test_rows_of_another_user_are_not_found")
        lines.append(f"        row = {self.make('self.ada')}")
        lines += call(f"found = {self.tool(f'list_{plural}')}(", ["as_user(self.bob)"], ")", 8)
        lines.append('        assert rows.plain(row.pk) not in [item["id"] for item in found]')
        lines += ["", *test("test_a_row_of_another_user_is_out_of_reach")]
        return [*lines, *self.refused(self.make("self.ada"), 'ModelRetry, "There is no"')]

    def only_staff(self) -> Lines:
        error = 'PermissionDenied, "Only staff"'
        lines = test("test_the_tools_are_for_staff")
        lines += self.refused(self.make(""), error)
        lines += ["", *test("test_rows_are_found_by_staff_only")]
        lines.append(f"        with self.assertRaisesMessage({error}):")
        start = f"{self.tool(f'list_{self.names.plural}')}("
        return [*lines, *call(start, ["as_user(self.bob)"], ")", 12)]

    def creation(self) -> Lines:
        singular = self.names.singular
        lines = test("test_a_created_row_can_be_read")
        pairs = []
        for item in self.info.creatable:
            path = self.info.choosable.get(item.name, "")
            if item.required and path and item.type != "many":
                start = f"{quoted(argument(item.name))}: "
                pairs.append(self.related(start, item, path, "self.ada", ").pk", 12))
        lines += call("related: dict[str, Any] = {", pairs, "}", 8)
        lines.append(f'        tool = registry.get("create_{singular}")')
        items = [self.model, "tool", "related"]
        lines += call("arguments = sample_arguments(", items, ")", 8)
        items = [self.model, "tool", "arguments", "as_user(self.ada)"]
        lines += call("created = create_or_skip(", items, ")", 8)
        rows_of = self.tool(f"{self.names.plural}_of")
        lines += call(f"found = {rows_of}(", ["as_user(self.ada)"], ")", 8)
        return [*lines, '        assert found.filter(pk=created["id"]).exists()']

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
        lines = test(f"test_a_{name}_of_another_user_is_refused")
        lines.append(f"        row = {self.make('self.ada')}")
        foreign = self.related("foreign = ", item, path, "self.bob", ")", 8)
        lines += [f"        {line}" for line in foreign.split("\n")]
        value = "[foreign.pk]" if item.type == "many" else "foreign.pk"
        parameter = argument(name, f"{singular}_id")
        lines.append('        with self.assertRaisesMessage(ModelRetry, "There is no"):')
        items = ["as_user(self.ada)", "row.pk", f"{parameter}={value}"]
        return [*lines, *call(f"{self.tool(f'change_{singular}')}(", items, ")", 12)]

    def queries(self) -> Lines:
        plural = self.names.plural
        start = f"{self.tool(f'list_{plural}')}("
        listed = call(start, ["as_user(self.ada)", "limit=50"], ")", 12)
        return [
            *test("test_the_number_of_queries_does_not_grow"),
            f"        {self.make('self.ada')}",
            "        with CaptureQueriesContext(connection) as few:",
            *listed,
            "        for _ in range(49):",
            f"            {self.make('self.ada')}",
            "        with CaptureQueriesContext(connection) as many:",
            *listed,
            "        assert len(many) == len(few)",
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
        return [
            *test("test_who_may_call_a_tool_and_which_tools_ask_first"),
            *call("for name, permission, asks in [", items, "]:", 8),
            "            with self.subTest(name):",
            "                spec = registry.get(name).spec",
            "                found = (spec.permission, needs_confirmation(spec))",
            "                assert found == (permission, asks)",
            "                # What changes something asks first.",
            "                assert spec.read_only != asks",
        ]


def test(name: str) -> Lines:
    """Write the first lines of a method of the test case."""
    return call(f"def {name}(", ["self"], ") -> None:", 4)


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
