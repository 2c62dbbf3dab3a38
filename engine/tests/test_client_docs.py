"""agui/manual/client.md: its programs run, and the tests that it names exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agui.contrib.client
from agui.contrib.client import AGUIError, AGUIModel, AGUIModelSettings
from agui.testing import call, say
from tests import pages, urls
from tests.serving import site_that_says

TESTS = Path(__file__).resolve().parent
PAGE = pages.read("client.md")


def program(heading: str) -> dict[str, Any]:
    """Run the program of a section; what it defines."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.split(f"## {heading}\n")[1].split("\n## ")[0], re.S)
    defined: dict[str, Any] = {}
    exec(compile(code, heading, "exec"), defined)  # noqa: S102
    return defined


def rows(heading: str) -> Iterator[list[str]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return ([cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", section, re.M))


def test_each_test_that_the_likeness_names_exists():
    named = re.findall(r"`(test_\w+)`", (TESTS.parents[1] / "docs/dotnet-client.md").read_text())
    written = "".join(path.read_text() for path in TESTS.glob("test_client_*.py"))
    assert len(named) > 20
    assert [name for name in named if f"def {name}(" not in written] == []


def test_each_setting_and_error_is_on_the_page():
    told = {
        name for heading in ("As a model", "Errors") for row in rows(heading) for name in re.findall(r"`(\w+)`", row[0])
    }
    errors = {name for name in agui.contrib.client.__all__ if name.endswith("Error")} - {AGUIError.__name__}
    own = {name for name in AGUIModelSettings.__annotations__ if name.startswith("agui_")}
    assert told - {"AGUIModelSettings"} == errors | own


async def test_the_first_program_keeps_its_thread(user: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    answers = [call("location"), say("You are in Paris."), say("It rains.")]
    async with site_that_says(user, *answers) as site:
        monkeypatch.setenv("AGENT_URL", site.url)
        monkeypatch.setenv("AGENT_TOKEN", site.headers["Authorization"].removeprefix("Bearer "))
        await program("As a model")["main"]()
        assert len(await site.client.threads()) == 1
    assert capsys.readouterr().out == "You are in Paris.\nIt rains.\n"


@pytest.mark.parametrize(("typed", "effects"), [("y", ["disk"]), ("n", [])])
async def test_the_second_program_asks(user: Any, monkeypatch: pytest.MonkeyPatch, typed: str, effects: list[str]):
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return typed if "[y/n]" in question else "2026-12-24"

    monkeypatch.setattr("builtins.input", answer)
    answers = [[call("wipe", what="disk"), call("choose_day")], say("Done.")]
    async with site_that_says(user, *answers) as site:
        model = AGUIModel(site.url, headers=site.headers)
        assert await program("Approvals and questions")["ask"](model, "Wipe it") == "Done."
    assert asked == ["Really wipe it? {'what': 'disk'} [y/n] ", "Which day? "]
    assert urls.effects == effects


async def test_the_third_program_prints_while_it_reads(user: Any, capsys: Any):
    async with site_that_says(user, say("Hello there.", 3)) as site:
        await program("As events")["say"](site.client, "t1", "Hi")
    assert capsys.readouterr().out == "Hello there."
