"""The page's reducer, held to the official client's: over streams of live servers, and over hundreds made at random."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from conftest import ENGINE, ROOT, npm_install
from projects import execute
from test_clients import other_token, run_suite, scripted_project, suite  # noqa: F401

pytestmark = pytest.mark.clients

GENERATED = 400
EVENT_TYPES = 31  # all that AG-UI 1.0 has
ASKED = ['add a task title="Buy milk" category=home', "Think about it: list tasks", "delete finished tasks"]


@pytest.fixture(scope="session")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Compare with the page's reducer: what the comparison counts."""
    packages = npm_install(ROOT / "tests/clients/package.json")
    directory = tmp_path_factory.mktemp("reducer")
    for file in (ROOT / "tests/reducer").glob("*.mjs"):
        shutil.copy(file, directory)
    (directory / "node_modules").symlink_to(packages)

    command = ["node", "compare.mjs", ENGINE / "static/agui"]
    return lambda *arguments: json.loads(execute(directory, *command, *arguments).stdout)


def test_reducer_agrees_with_the_official_client_on_generated_streams(compare):
    told = compare(str(GENERATED))
    assert told["total"] == GENERATED
    assert len(told["types"]) == EVENT_TYPES


@pytest.mark.nightly
def test_reducer_agrees_with_the_official_client_on_live_streams(compare, run_suite, live_project, tmp_path):  # noqa: F811
    record = tmp_path / "record"
    run_suite("@ag-ui/client", AGUI_RECORD=str(record))  # Whether it passes is for test_clients.py to say
    with record.open("a") as file:
        for text in ASKED:
            events = live_project.client(live_project.token).run(text, protocolVersion="1.0")
            file.write(json.dumps({"events": events}) + "\n")
    assert compare("0", record)["recorded"] > 50
