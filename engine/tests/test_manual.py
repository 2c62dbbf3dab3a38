"""All pages of the manual: the settings, commands and files that they show are those of the project.

Other tests run what these pages have to run: here is what a page shows, and no program.
"""

import json
import logging
import os
import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.template import engines
from django.test import RequestFactory

from agui import conf, parts
from agui.conf_sections import WITHOUT_IMPORTS
from agui.server.logs import JsonFormatter, RunFields
from tests import pages

README = settings.BASE_DIR / "README.md"
if not README.exists():
    pytest.skip("README.md is gone", allow_module_level=True)
PAGES = [README, *sorted(pages.MANUAL.glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def blocks(language: str, pattern: str = "") -> list[Any]:
    """The blocks of all pages that have a line like this."""
    return [
        pytest.param(code, id=f"{page.name}:{page.read_text('utf-8').partition(code)[0].count(chr(10)) + 1}")
        for page in PAGES
        for kind, code in BLOCK.findall(page.read_text("utf-8"))
        if kind == language and re.search(pattern, code, re.M)
    ]


def commands(name: str) -> list[str]:
    """The commands that begin with this, in blocks and in sentences, without what the shell does with them."""
    found = set()
    for page in PAGES:
        text = re.sub(r"<!--.*?-->", "", page.read_text("utf-8"))
        lines = [line for _, code in BLOCK.findall(text) for line in code.splitlines()]
        lines += re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))
        matches = [re.match(rf"(?:\S*python |cd \S+ && )*({re.escape(name)} [^|>#&]*)", line) for line in lines]
        found |= {one[1].strip() for one in matches if one}
    return sorted(found)


@pytest.mark.parametrize("code", blocks("python", r"^AGUI\["))
def test_settings_shown_are_accepted(code: str):
    values: dict[str, Any] = {"AGUI": {}, "env": lambda name: name}
    exec(code, values)  # noqa: S102
    assert values["AGUI"]
    conf.load(values["AGUI"], context=WITHOUT_IMPORTS)


@pytest.mark.parametrize("command", commands("manage.py"))
def test_commands_are_understood(command: str):
    _, name, *arguments = shlex.split(command)
    there = get_commands()[name]
    command_class = load_command_class(there, name) if isinstance(there, str) else there
    actions = command_class.create_parser("manage.py", name)._actions
    known = {option for action in actions for option in action.option_strings}
    assert {word.partition("=")[0] for word in arguments if word.startswith("--")} <= known


@pytest.mark.parametrize("code", blocks("sh", r"^# \.env$"))
def test_variables_shown_are_documented(code: str):
    documented = set(re.findall(r"`([A-Z_]+)`", pages.read("settings.md")))
    assert set(re.findall(r"^([A-Z_]+)=", code, re.M)) <= documented


@pytest.mark.parametrize("code", blocks("json", '"mcpServers"'))
def test_servers_shown_are_read(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    servers = pytest.importorskip("agui.contrib.mcp.servers")
    for name in ("SEARCH_TOKEN", "MAIL_SECRET"):
        monkeypatch.setenv(name, "secret")
    (tmp_path / "mcp.json").write_text(code)
    assert [one.name for one in servers.read_servers(tmp_path / "mcp.json")] == list(json.loads(code)["mcpServers"])


@pytest.mark.parametrize("code", blocks("python", r"^def mcp_headers"))
def test_headers_shown_are_headers(code: str):
    servers = pytest.importorskip("agui.contrib.mcp.servers")
    defined: dict[str, Any] = {"User": SimpleNamespace}
    exec(code, defined)  # noqa: S102
    user = SimpleNamespace(search_token="t")
    assert servers.check_headers(defined["mcp_headers"](user, "search")) == {"Authorization": "Bearer t"}
    assert defined["mcp_headers"](user, "files") == {}


@pytest.mark.parametrize("code", blocks("yaml", "^cases:"))
def test_cases_shown_are_read(code: str, tmp_path: Path):
    pytest.importorskip("pydantic_evals", exc_type=ImportError)
    from agui.contrib.evals.suites import read_cases

    (tmp_path / "tasks.yaml").write_text(code)
    for case in read_cases(tmp_path / "tasks.yaml").cases:
        assert case.inputs.says
        assert case.evaluators


@pytest.mark.django_db
@pytest.mark.parametrize("code", blocks("python", "spent_by_day"))
def test_what_a_user_spent_is_asked_as_shown(code: str, user: Any):
    values: dict[str, Any] = {"user": user}
    exec(code, values)  # noqa: S102
    assert values["spent"] == {}
    assert values["date"] is date


@pytest.mark.parametrize("code", blocks("python", "^class Local"))
async def test_a_service_for_speech_is_one_as_shown(code: str):
    async def my_recognizer(audio: bytes) -> str:
        return audio.decode()

    values: dict[str, Any] = {"my_recognizer": my_recognizer}
    exec(code, values)  # noqa: S102
    assert await values["Local"]().transcribe(b"buy milk", "recording", "audio/webm", "en") == "buy milk"


@pytest.mark.parametrize("code", blocks("html", r"^(<agui-chat|\{% (include|load (?!agui_views)))"))
def test_templates_shown_have_a_chat(code: str, user: Any):
    request = RequestFactory().get("/")
    request.user, request.session = user, {}
    template = engines["django"].from_string(code.replace('agent="billing"', 'agent="agui"'))
    assert 'endpoint="/agent/"' in template.render({}, request)


@pytest.mark.parametrize("code", blocks("json", '"logger"'))
def test_a_line_of_the_log_is_as_shown(code: str):
    shown = json.loads(code)
    try:
        raise ValueError
    except ValueError as error:
        failure = (type(error), error, error.__traceback__)
    record = logging.LogRecord(shown["logger"], logging.ERROR, "", 1, shown["message"], (), failure)
    RunFields().filter(record)
    written = json.loads(JsonFormatter().format(record))
    assert list(written) == [name for name in shown if name not in {"run_id", "thread_id", "user_id"}]


def test_each_section_of_a_part_is_about_one_that_is_there():
    names = {part.name.rpartition(".")[2] for part in parts.installed()}
    told = {name for page in PAGES for name in re.findall(r"^\*Part `(\w+)`\.\*$", page.read_text(), re.M)}
    assert told <= names


@pytest.mark.parametrize("arguments", [[], ["tools"]])
def test_a_reader_of_the_manual_may_stop_early(arguments):
    """As `make manual PAGE=tools | head` does."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "agui.manual", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=settings.BASE_DIR)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
