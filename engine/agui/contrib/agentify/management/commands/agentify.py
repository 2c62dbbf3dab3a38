"""Write tools that you own from a model."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import models

from agui.contrib.agentify.describe import ModelInfo, describe
from agui.contrib.agentify.files import FOLDER, Workbench, Written, project_folder
from agui.contrib.agentify.names import Names, name_of, names_of
from agui.contrib.agentify.owners import guess_paths
from agui.contrib.agentify.refusal import Refused
from agui.contrib.agentify.wiring import IMPORT, add_import, write_model_tools
from agui.contrib.agentify.write_evals import write_evals
from agui.contrib.agentify.write_tests import write_tests
from agui.contrib.agentify.write_tools import ToolsWriter, action_name

OUTCOMES = {
    "written": "{path}: written.",
    "merged": "{path}: merged with your edits.",
    "unchanged": "{path}: unchanged.",
    "conflict": "{path}: unchanged, because your edits and the model's changes are at the same "
    "lines. The new version is beside it, in {path}.new.",
    "foreign": "{path}: unchanged, because this command did not write it. Rename or delete it.",
}


class Command(BaseCommand):
    help = "Write tools, their tests and their evals from a model. You own what it writes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", metavar="app.Model", help="The model, such as shop.Order.")
        parser.add_argument(
            "--owner",
            metavar="PATH",
            help="The way from a row to the user who owns it, such as customer__user. Without it, "
            "the tools are for staff only.",
        )
        parser.add_argument(
            "--methods",
            metavar="NAMES",
            help="The methods of a row that become tools, such as ship,cancel.",
        )
        parser.add_argument(
            "--fields",
            metavar="NAMES",
            help="The fields that the tools may set, such as note,status. Without it, those of "
            "the project's own form or admin, or else what is safe.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        model = find_model(options["model"])
        bench = Workbench(project_folder())
        answers = bench.answers()
        answer = answers.get(model._meta.label, {})
        owner = options["owner"]
        if owner is None:
            owner = answer["owner"] if answer else self.ask_owner(model)
        check_users(owner)
        methods = names_in(options["methods"], answer.get("methods", []))
        # An empty list is the default again.
        settable = names_in(options["fields"], answer.get("fields")) or None
        name = answer.get("name") or self.name(model, answers)
        owners = {label: given["owner"] for label, given in answers.items() if given["owner"]}
        try:
            info = describe(model, names_of(name), owner, owners, methods, settable)
        except Refused as error:
            raise CommandError(str(error)) from error
        check_methods(info)
        tests = bench.root / "assistant/tests"
        tests.mkdir(exist_ok=True)
        (tests / "__init__.py").touch()  # `manage.py test` looks into packages only.
        outcomes = [bench.write(path, text) for path, text in files_of(info, bench.root)]
        for written in outcomes:
            self.report(written, bench.root)
        if any(written.outcome in ("conflict", "foreign") for written in outcomes):
            raise CommandError("The command did not write all files: see above.")
        given = {"owner": owner, "name": name, "methods": methods, "fields": settable}
        bench.remember(model._meta.label, given)
        modules = [names_of(given["name"]).module for given in bench.answers().values()]
        write_model_tools(bench.root / "assistant", modules)
        self.finish(info, bench.root)

    def name(self, model: type[models.Model], answers: dict[str, dict[str, Any]]) -> str:
        """Name the rows, and say why if that is not the model's name."""
        written = {given["name"] for given in answers.values()}
        name, reason = name_of(model, partial(why_taken, written))
        if reason:
            self.stdout.write(f"The tools call the rows {name!r}, because {reason}.")
        return name

    def ask_owner(self, model: type[models.Model]) -> str:
        """Ask who owns a row, if somebody is there to answer."""
        if not sys.stdin.isatty():
            return ""
        guesses = ", ".join(guess_paths(model)) or "none was found"
        self.stdout.write(
            f"Which field or relation of {model.__name__} leads to the user who owns a row? "
            f"For example: {guesses}. Leave it empty if the tools are for staff only."
        )
        return input("Owner: ").strip()

    def report(self, written: Written, root: Path) -> None:
        path = written.path.relative_to(root).as_posix()
        text = OUTCOMES[written.outcome].format(path=path)
        if written.outcome in ("conflict", "foreign"):
            self.stderr.write(text)
        else:
            self.stdout.write(text)

    def finish(self, info: ModelInfo, root: Path) -> None:
        """Let the agent import the tools, and say what is left to do."""
        if not add_import(root / "assistant/agent.py"):
            self.stdout.write(f"Add this to assistant/agent.py: {IMPORT}")
        if info.not_created:
            self.stdout.write(f"No tool creates {info.names.a_row}: {info.not_created}.")
        if info.not_set:
            names = ", ".join(info.not_set)
            self.stdout.write(f"No tool sets {names}. With --fields you name those to set.")
        who = "Staff" if info.owner is None else "Users"
        permissions = ", ".join(info.permission(name) for name in ("view", "add", "change"))
        self.stdout.write(
            f"{who} need Django's permissions for the tools: {permissions} and "
            f"{info.permission('delete')}. Commit {FOLDER}/, too: the next run merges with it."
        )


def find_model(label: str) -> type[models.Model]:
    """Find a model by its label. Raises CommandError if it can't have tools."""
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError) as error:
        raise CommandError(f"There is no model {label!r}: write it as app.Model.") from error
    if model._meta.swapped:
        raise CommandError(f"{label} is replaced by {model._meta.swapped}: name that one.")
    return model


def check_users(owner: str) -> None:
    """Raise CommandError if the project's users can't have what the tools ask for."""
    user_model = get_user_model()
    label = user_model._meta.label
    if not hasattr(user_model, "has_perm"):
        raise CommandError(f"{label} has no permissions (has_perm), and the tools ask for them.")
    if (
        not owner
        and not hasattr(user_model, "is_staff")
        and not hasattr(user_model, "is_superuser")
    ):
        raise CommandError(
            f"{label} has neither is_staff nor is_superuser, so nobody could use tools for staff: "
            "say with --owner who owns a row."
        )


def names_in(text: str | None, before: list[str] | None) -> list[str] | None:
    """Read a list of names; what was answered before if there is none."""
    if text is None:
        return before
    return [name for name in text.replace(",", " ").split() if name]


def why_taken(written: Iterable[str], names: Names) -> str:
    """Say which other tools of the assistant have these names; "" if there are none."""
    for name in written:
        if names_of(name).plural == names.plural:
            return f"the tools of another model have the name {name!r}"
    for name in tool_names(names):
        if name in tools():
            return f"the assistant has a tool {name!r} already"
    return ""


def tools() -> Any:
    """Return the registry, with the tools that the agent has."""
    import_module("assistant.agent")
    return import_module("assistant.tools").registry


def tool_names(names: Names) -> list[str]:
    verbs = ("read", "create", "change", "delete")
    return [f"list_{names.plural}", *(f"{verb}_{names.singular}" for verb in verbs)]


def check_methods(info: ModelInfo) -> None:
    """Raise CommandError if another tool has the name of a method's tool."""
    own = f"assistant.{info.names.module}"
    for method in info.actions:
        name = action_name(method, info.names.singular)
        is_other = name in tools() and tools().get(name).spec.fn.__module__ != own
        if is_other or name in tool_names(info.names):
            raise CommandError(
                f"The assistant has a tool {name!r} already: leave {method} out of --methods, or "
                "rename the tool."
            )


def files_of(info: ModelInfo, root: Path) -> list[tuple[Path, str]]:
    """List the files to write, and what is in them."""
    module = info.names.module
    assistant = root / "assistant"
    files = [
        (assistant / f"{module}.py", ToolsWriter(info).write()),
        (assistant / "tests" / f"test_{module}.py", write_tests(info)),
    ]
    if apps.is_installed("agui.contrib.evals"):
        files.append((assistant / "evals" / f"{module}.yaml", write_evals(info)))
    return files
