"""`manage.py chat` as a person has it: in a pseudo-terminal, with the project's own agent and with one over HTTP."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from daily import at_night
from projects import program
from servers import LiveProject, project_environment, serve
from terminal import Terminal, terminal
from test_python_client import microsoft_server, pydantic_server, serving  # noqa: F401

pytestmark = pytest.mark.clients
APPROVAL = "[y]es, [n]o, [e]dit: "
AGENTS = pytest.mark.parametrize("url", [False, *at_night(True)], ids=["own agent", "over HTTP"])

# Waits for a file, calls a tool, and says what it has read.
GATED_MODEL = """
import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agui.testing import Pause, ScriptedModel, Step, call, say

class Gate(Pause):
    async def happen(self) -> None:
        while not Path("gate").exists():
            await asyncio.sleep(0.02)

def answers() -> Iterator[list[Step]]:
    while True:
        request = model.requests[-1]
        if request.prompt == "Go" and not request.tool_results:
            yield [say("One moment."), Gate(), call("summarize_tasks")]
        else:
            yield [say(f"I have read {request.prompt}.")]

model = ScriptedModel(answers())
"""


def chat(project: LiveProject, *, url: bool = False, columns: int = 80, rows: int = 24):
    """Start the chat; `url=True` is over HTTP, with the server that runs."""
    remote = ["--url", f"{project.url}/agent/"] if url else ["--user", project.username]
    environment = project_environment(AGENT_TOKEN=project.token, **project.settings)
    command = [project.path / ".venv/bin/python", "manage.py", "chat", *remote]
    return terminal(command, project.path, environment, columns, rows)


def ask(chat: Terminal, text: str, prompt: str = "> ") -> None:
    chat.wait_for(prompt)
    chat.type(f"{text}\r")


def end(chat: Terminal) -> None:
    ask(chat, "/quit")
    assert chat.wait_for_end() == 0


@AGENTS
def test_conversation_with_an_approval(live_project: LiveProject, url: bool):
    with chat(live_project, url=url) as person:
        ask(person, 'add_task title="Buy milk" category=home')
        person.wait_for("done: false")
        ask(person, "delete_finished_tasks")
        ask(person, "n", APPROVAL)
        ask(person, "Not today.", "Why not?")
        person.wait_for("it was declined")
        ask(person, "delete_finished_tasks")
        ask(person, "y", APPROVAL)
        # The mark of the line is there while the agent works, too.
        person.wait_for("Deleted 0 finished tasks.")
        person.wait_for("> ")
        person.type("\x04")  # Ctrl-D
        assert person.wait_for_end() == 0
    lines = person.screen.text.splitlines()
    assert '→ add_task title="Buy milk" category="home"' in lines
    assert " • title: Buy milk" in lines
    assert "Delete all your finished tasks? They can't be restored." in lines
    assert "  ✗ delete_finished_tasks: Not today." in lines
    assert "Deleted 0 finished tasks." in lines


@pytest.mark.nightly
@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (80, 24), (200, 50)])
def test_what_streams_is_drawn_once(live_project: LiveProject, columns: int, rows: int):
    """The answer is longer than a small screen, and is drawn anew many times."""
    with chat(live_project, columns=columns, rows=rows) as person:
        ask(person, "help")
        person.wait_for("and restart.")
        end(person)
    words = person.screen.text.split()
    assert words.count("delete_finished_tasks:") == 1
    assert words.count("Draw") == 1
    assert "This is what I can do." in " ".join(words)
    assert person.output.count("Draw a chart") > 1 or rows == 10


@AGENTS
def test_what_is_typed_while_the_agent_works_is_seen_and_read(live_project: LiveProject, url: bool):
    gate, settings = live_project.path / "gate", {"AGENT_MODEL": "python:gated.model"}
    (live_project.path / "gated.py").write_text(GATED_MODEL)
    gate.unlink(missing_ok=True)
    own = replace(live_project, settings={**live_project.settings, **settings})
    server = serve(live_project.path, **settings) if url else nullcontext(own)
    with server as project, chat(project, url=url) as person:
        for stop in ("hello\x03", "/stop\r"):
            ask(person, "Go")
            person.wait_for("One moment.")
            person.type(stop)
            person.wait_for("Stopped.")
        person.wait_for("> ")
        person.interrupt()
        ask(person, "/new")
        ask(person, "Go")
        ask(person, "for later", "One moment.")
        person.wait_for("  1  for later")
        person.type("and at once\x1b\r")
        person.wait_for("  2  at the next step: and at once")
        person.type("an unfinished li")
        person.wait_for("> an unfinished li▏")
        gate.touch()
        person.wait_for("> and at once  (read while it worked)")
        person.wait_for("I have read and at once.")
        person.wait_for("> for later")
        person.wait_for("I have read for later.")
        person.wait_for("\n> an unfinished li")
        person.type("ne\r")
        person.wait_for("I have read an unfinished line.")
        end(person)
    assert "^C" not in person.screen.text
    lines = person.screen.text.splitlines()
    assert [line for line in lines if "for later" in line or "at once" in line] == [
        "> and at once  (read while it worked)",
        "I have read and at once.",
        "> for later",
        "I have read for later.",
    ]


@pytest.mark.nightly
def test_control_c_leaves_a_question_open(live_project: LiveProject):
    with chat(live_project) as person:
        ask(person, "/new")
        ask(person, "delete_finished_tasks")
        person.wait_for(APPROVAL)
        person.interrupt()
        ask(person, "/threads")
        person.wait_for("1  delete_finished_tasks")
        ask(person, "/resume 1")
        ask(person, "e", APPROVAL)
        ask(person, "", "Arguments: {}")
        person.wait_for("Deleted")
        end(person)


def chat_through_pipes(project: LiveProject, *arguments: str | Path, **options: Any) -> CompletedProcess[str]:
    """Run the chat without a terminal."""
    return program(
        project.path, "python", "manage.py", "chat", *arguments, COLUMNS="100", **project.settings, **options
    )


def test_script_reads_json_and_the_exit_code(live_project: LiveProject):
    def run(*arguments: str, status: int, token: str = live_project.token) -> CompletedProcess[str]:
        remote = ["--url", f"{live_project.url}/agent/", "--token", token]
        return chat_through_pipes(live_project, *remote, "--message", *arguments, status=status)

    events = [json.loads(line) for line in run("summarize_tasks", "--json", status=0).stdout.splitlines()]
    assert events[-1]["type"] == "RUN_FINISHED"
    run("delete_finished_tasks", status=3)
    refused = run("hello", token="wrong", status=4)
    assert "401" in refused.stderr
    assert "Traceback" not in refused.stderr


# The script of another's agent, with a call of what the terminal offers.
OTHER = """
import plan, runpy
plan.PLANS["read"] = [["read_file"]]
plan.ARGUMENTS["read_file"] = {"path": "notes.txt"}
runpy.run_path("%s.py", run_name="__main__")
"""


@pytest.fixture(params=["pydantic_server", "microsoft_server"])
def other_agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An endpoint that is not the project's, and keeps no threads."""
    python = request.getfixturevalue(request.param)
    with serving(python, tmp_path / "log", "-c", OTHER % request.param) as url:
        yield f"{url}/"


@pytest.mark.nightly
def test_agent_of_others(other_agent: str, live_project: LiveProject, tmp_path: Path):
    """All that was said goes along with each message: the agent counts what its user said."""
    (tmp_path / "notes.txt").write_text("Buy milk")
    lines = ["hello", "server", "approve", "n", "", "approve", "y", "read", "fail", "/threads", "hello again"]
    typed = "".join(f"{line}\n" for line in lines)
    done = chat_through_pipes(live_project, "--url", other_agent, "--allow-read-file", tmp_path, stdin=typed)
    printed = done.stdout.splitlines()
    for line in ("1: hello", "2: ä✓", "4: wiped disk", "5: Buy milk", "This agent has no list of conversations."):
        assert line in printed, done.stdout
    assert any(line.endswith(": hello again") for line in printed), done.stdout
