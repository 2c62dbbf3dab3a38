"""`manage.py startagent billing` writes the app of one more agent."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.core.management.templates import TemplateCommand
from django.template import engines
from django.template.backends.django import DjangoTemplates

from agui.namespaces import FIRST_AGENT, NAMESPACE, mounted_agents

TEMPLATE = Path(__file__).parents[1] / "agent_template"

NEXT_STEPS = """
The {name} agent is in {folder}/. What comes next:

    "{name}",                                 in INSTALLED_APPS
    path("{name}/", include("{name}.urls")),  in the project's routes

Then its page is at /{name}/, and {folder}/tools.py is yours to fill. A page of another agent has to
name it now: {{% include "agui/attributes.html" with agent="{first}" %}}.
"""


class Command(BaseCommand):
    help = "Write an app with one more agent: its own tools, skills, page, users and conversations."
    missing_args_message = "Name the agent: `manage.py startagent billing`."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="The name of the app, and of the agent.")
        parser.add_argument("directory", nargs="?", help="Where to write it [./NAME].")
        parser.add_argument("--staff", action="store_true", help="Only staff may use it.")

    def handle(self, *args: Any, **options: Any) -> None:
        name, target = options.pop("name"), options.pop("directory")
        if not NAMESPACE.fullmatch(name):
            raise CommandError(f"{name!r} is not a name for an agent: use a-z, 0-9 and _.")
        if name in {FIRST_AGENT, *mounted_agents().values()}:
            raise CommandError(f"The project has an agent {name!r} already.")
        user_model = get_user_model()
        if options["staff"] and not hasattr(user_model, "is_staff"):
            raise CommandError(
                f"{user_model._meta.label} has no is_staff: leave out --staff, and decide in "
                f"get_user ({name}/auth.py) who may use the agent."
            )
        engine = next(each.name for each in engines.all() if isinstance(each, DjangoTemplates))
        options |= {"template": str(TEMPLATE), "extensions": ["py"], "files": []}
        options |= {"title": name.replace("_", " ").capitalize(), "engine": engine}
        TemplateCommand().handle("app", name, target, **options)
        first = next(iter(mounted_agents()), FIRST_AGENT)
        self.stdout.write(NEXT_STEPS.format(name=name, folder=target or name, first=first))
