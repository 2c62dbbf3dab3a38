"""Talk to the agent as the cases in `evals/` say, and judge its answers (agui/manual/agent.md)."""

import asyncio
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.test.utils import (
    override_settings,
    setup_databases,
    setup_test_environment,
    teardown_databases,
    teardown_test_environment,
)
from pydantic_ai.models import Model

from agui import conf
from agui.agents.build import resolve_model
from agui.contrib.demo.model import build_demo_model
from agui.runs.live import live

if TYPE_CHECKING:
    from agui.contrib.evals.suites import Suite


class Command(BaseCommand):
    help = (
        "Play the cases in the evals/ of all applications, each in a database that is empty, "
        "and print how they end."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help="Files of cases, without their ending [all]."
        )
        parser.add_argument("--model", help="The model that answers [AGENT_MODEL].")
        parser.add_argument(
            "--min", type=float, default=1.0, help="The share of cases that must pass [1.0]."
        )
        parser.add_argument(
            "--concurrency", type=int, default=1, metavar="N", help="Cases at once [1]."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if find_spec("pydantic_evals") is None:
            raise CommandError(
                "It needs pydantic-evals, pyyaml and rich: `make eval` installs them, as does "
                "`pip install --no-deps pydantic-evals pyyaml rich`."
            )
        from agui.contrib.evals.suites import find_suites, passed

        suites = list(find_suites(model_of(options["model"])))
        if options["names"]:
            suites = choose(suites, options["names"])
        total = sum(len(suite.cases.cases) for suite in suites)
        if not total:
            raise CommandError("There are no cases: write some in evals/ of an application.")
        with scratch():
            reports = asyncio.run(self.play(suites, options["concurrency"]))
        good = sum(map(passed, reports))
        summary = f"{good} of {total} cases passed."
        if good < options["min"] * total:
            raise CommandError(f"{summary} At least {options['min']:.0%} have to.")
        self.stdout.write(summary)

    async def play(self, suites: "list[Suite]", concurrency: int) -> list[Any]:
        reports = []
        for suite in suites:
            report = await suite.run(concurrency)
            self.stdout.write(report.render(include_reasons=True))
            reports.append(report)
        await live.logs.aclose()
        return reports


def choose(suites: "list[Suite]", names: list[str]) -> "list[Suite]":
    """Choose suites by name. Raises CommandError for a name that none of them has."""
    by_name = {str(suite.cases.name): suite for suite in suites}
    for name in sorted(names):
        if name not in by_name:
            raise CommandError(f"There is no file of cases {name!r}: there is {sorted(by_name)}.")
    return [suite for suite in suites if suite.cases.name in names]


def model_of(name: str | None) -> Model | None:
    """Build the model for `--model`; None for the agent's own. The demo model makes no pauses."""
    if (name or conf.agent_model()) == "demo":
        return build_demo_model(pace_seconds=0)
    return resolve_model(name) if name else None


@contextmanager
def scratch() -> Iterator[None]:
    """Use temporary databases and files, execute runs in this process, and send no mail."""
    with tempfile.TemporaryDirectory() as folder:
        for connection in connections.all():
            name = f"evals_{connection.settings_dict['NAME']}"
            if connection.vendor == "sqlite":
                name = str(Path(folder) / f"{connection.alias}.sqlite3")
            connection.settings_dict["TEST"]["NAME"] = name
        local = dict(settings.AGUI)
        if apps.is_installed("agui.contrib.redis"):
            local["REDIS"] = {"URL": None}
        if apps.is_installed("agui.contrib.durable"):
            local["DURABLE"] = {"RUN_EXECUTOR": "local"}
        with override_settings(AGUI=local, MEDIA_ROOT=folder, SECURE_SSL_REDIRECT=False):
            setup_test_environment(debug=settings.DEBUG)
            databases = setup_databases(verbosity=0, interactive=False, serialized_aliases=set())
            try:
                yield
            finally:
                teardown_databases(databases, verbosity=0)
                teardown_test_environment()
