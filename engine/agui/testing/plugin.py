"""Fixtures of pytest for each project with an agent.

    pytest_plugins = ["agui.testing.plugin"]  # in the conftest.py at the root of the project

No test asks a real model, shares its runs with other processes, or depends on variables of the
environment that parts read.
A fixture of the same name in your conftest.py replaces one of these.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from pydantic_ai import models

from agui.runlog.memory import RunLogs
from agui.runs.live import live
from agui.testing.connections import close_connections

models.ALLOW_MODEL_REQUESTS = False
pytest.register_assert_rewrite("agui.contract_tests")


@pytest.fixture(autouse=True)
def offline(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)
    agui = getattr(settings, "AGUI", {})
    settings.AGUI = {**agui, "READ_ENVIRONMENT": False}
    monkeypatch.setitem(vars(live), "logs", RunLogs())
    settings.AGENT_MODEL = "demo" if apps.is_installed("agui.contrib.demo") else "test"


@pytest.fixture(autouse=True)
def no_connection_outlives_its_test() -> Iterator[None]:
    yield
    close_connections()
