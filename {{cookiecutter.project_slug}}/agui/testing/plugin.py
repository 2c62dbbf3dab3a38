"""Fixtures of pytest for each project with an agent.

    pytest_plugins = ["agui.testing.plugin"]  # in the conftest.py at the root of the project

No test asks a real model, uses Redis, or depends on variables of the environment that parts read.
A fixture of the same name in your conftest.py replaces one of these.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai import models

from agui.testing.connections import close_connections

models.ALLOW_MODEL_REQUESTS = False


@pytest.fixture(autouse=True)
def offline(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)
    agui = getattr(settings, "AGUI", {})
    settings.AGUI = {**agui, "REDIS_URL": None, "READ_ENVIRONMENT": False}
    settings.AGENT_MODEL = "demo"


@pytest.fixture(autouse=True)
def no_connection_outlives_its_test() -> Iterator[None]:
    yield
    close_connections()
