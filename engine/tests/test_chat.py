"""`manage.py chat` with the project's own agent: its command, from a script and through a pipe."""

import asyncio
import json
import logging
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from agui.models import ApiToken, Run, get_conversation_model
from agui.runlog.memory import RunLogs
from agui.runs.live import live
from agui.testing import Pause, call, event_types, fail, say
from tests.chatting import Lines, chat
from tests.conftest import results_of
from tests.urls import effects
from tests.wire import check_stream

Thread = get_conversation_model()

pytestmark = pytest.mark.usefixtures("user")


def the_thread() -> str:
    thread_id: str = Thread.objects.get().thread_id
    return thread_id


# --- One message


def test_message_is_answered_and_its_thread_goes_on(talk):
    told = talk(call("whoami"), say("You are **ada**.", 3), arguments=["--message", "Who am I?"])
    assert (told.out, told.err) == ("You are **ada**.\n", "→ whoami\n")
    assert not {"read_file", "list_files"} & set(told.requests[0].tools)
    assert not ApiToken.objects.exists()
    from_input = ["--thread", the_thread(), "--message", "-"]
    told = talk(say("Bye"), lines=["Two", "lines"], arguments=from_input)
    assert (told.requests[0].prompt, len(told.requests[0].messages)) == ("Two\nlines\n", 5)


def test_json_has_every_event(talk):
    told = talk(call("echo", text="naïve"), say("Hi"), arguments=["--message", "Hello", "--json"])
    events = [json.loads(line) for line in told.out.splitlines()]
    assert "TOOL_CALL_RESULT" in event_types(events)
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Hi"]
    check_stream(events)


@pytest.mark.parametrize(
    ("answers", "arguments", "code", "told"),
    [
        ([], ["--json"], 2, "--message"),
        ([], ["--allow-read-file", "/none", "--message", "Hello"], 2, "/none"),
        ([], ["--thread", "none", "--message", "Hello"], 4, "404"),
        ([], ["--url", "http://127.0.0.1:1/agent/", "--message", "Hello"], 4, "127.0.0.1:1"),
        ([fail(RuntimeError("hunter2"))], ["--message", "Hello"], 1, "(internal_error)"),
    ],
)
def test_what_fails_ends_with_a_code(answers, arguments, code, told, talk, caplog):
    printed = talk(*answers, arguments=arguments, code=code)
    assert (told in printed.err, printed.out) == (True, "")
    # The client says that it tries again, and the log is silent besides.
    assert code == 1 or {record.name for record in caplog.records} <= {"agui.client"}
    assert logging.root.manager.disable == logging.NOTSET


def test_question_is_3_and_its_thread_takes_no_message(talk):
    told = talk(call("wipe"), arguments=["--message", "Wipe it"], code=3)
    assert f"--thread {the_thread()}" in told.err
    talk(arguments=["--thread", the_thread(), "--message", "And?"], code=3)
    assert effects == []


@dataclass(frozen=True)
class Interrupted(Pause):
    """Ctrl-C while the model is at work: so many times."""

    times: int = 1

    async def happen(self) -> None:
        for _ in range(self.times):
            # Not in this task, as a terminal's would hardly be
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
        await asyncio.Event().wait()


@pytest.mark.usefixtures("in_front")
@pytest.mark.parametrize("times", [1, 2])
def test_control_c_is_130_and_stops_the_run(times, talk):
    told = talk([say("One moment."), Interrupted(times=times)], arguments=["--message", "Hello"], code=130)
    assert told.out == "One moment.\n"
    assert Run.objects.get().status == Run.Status.CANCELLED


def test_one_of_several_users_has_to_be_named_and_active(talk, other):
    assert "--user" in talk(arguments=["--message", "Hello"], code=2).err
    told = talk(call("whoami"), say("Hi"), arguments=["--user", "bob", "--message", "Hello"])
    assert told.requests[1].tool_results == {"whoami": "bob"}
    get_user_model().objects.filter(username="bob").update(is_active=False)
    talk(arguments=["--user", "bob", "--message", "Hello"], code=2)


# --- Approvals and questions


@pytest.mark.parametrize(
    ("lines", "done", "result"),
    [
        (["y"], ["all"], "wiped all"),
        (["what?", "", "y"], ["all"], "wiped all"),
        (["n", ""], [], "The tool call was denied."),
        (["n", "Not today."], [], "Not today."),
        (["e", "{", "[]", '{"what": "cache"}'], ["cache"], "wiped cache"),
        (["e", '{"what": 1}', "e", '{"what": "cache"}'], ["cache"], "wiped cache"),
    ],
)
def test_approval_is_asked(lines, done, result, talk):
    told = talk(call("wipe", _id="c1"), say("Well."), lines=["Wipe it", *lines])
    assert effects == done
    assert results_of(told.requests[1])["c1"].content == result
    assert "Really wipe it?" in told.out
    assert "Well." in told.out


def test_approval_shows_all_of_the_arguments_and_a_file_is_read_beside_it(folder, talk):
    what = "x" * 3000 + "; rm -rf /"
    calls = [call("read_file", path="notes.txt"), call("wipe", what=what)]
    told = talk(calls, say("Well."), lines=["Wipe it", "y"], arguments=["--allow-read-file", folder])
    assert what in told.out.partition("Really wipe it?")[2].replace("\n", "")
    assert told.requests[1].tool_results == {"read_file": "naïve ✓", "wipe": f"wiped {what}"}


def test_approval_is_left_open_when_the_input_ends_and_asked_when_its_thread_is_taken_up(talk):
    talk(call("wipe"), lines=["Wipe it"])
    assert effects == []
    talk(say("Done"), lines=["y"], arguments=["--thread", the_thread()])
    assert effects == ["all"]


def test_question_that_was_left_open_comes_before_the_next_message(talk):
    def control_c() -> str:
        raise KeyboardInterrupt

    told = talk(call("wipe"), say("Done."), say("Hi."), lines=["Wipe it", control_c, "Hello", "y"])
    assert effects == ["all"]
    assert told.requests[2].prompt == "Hello"
    assert "(interrupt" not in told.out


def test_question_that_was_answered_or_asked_elsewhere_is_known(talk, monkeypatch):
    """One that was answered is not asked again, and another comes before the message is read."""
    # Two chats in one process have an event loop each, and connections to Redis are at home in one.
    monkeypatch.setattr(live, "logs", RunLogs())

    def answer_elsewhere() -> str:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", Lines(["y"]))
            chat("--thread", the_thread())
        return "y"

    def ask_elsewhere() -> str:
        assert chat("--thread", the_thread(), "--message", "Wipe it") == 3
        return "Hello again"

    answers = [call("wipe"), say("Done."), say("Hi."), call("wipe"), say("Done again."), say("Hi again.")]
    told = talk(*answers, lines=["Wipe it", answer_elsewhere, "Hello", ask_elsewhere, "y"])
    assert effects == ["all", "all"]
    assert told.out.count("(interrupt_unknown)") == 1
    assert told.requests[5].prompt == "Hello again"
    assert told.out.index("Hi.") < told.out.index("Hi again.")


def test_question_that_has_expired_is_dismissed(talk, settings):
    settings.AGUI = {**settings.AGUI, "INTERRUPT_EXPIRES_SECONDS": 0.000001}
    told = talk(call("wipe"), say("Well."), say("Hi."), lines=["Wipe it", "Hello"])
    assert effects == []
    assert "Too late to answer: Really wipe it?" in told.out
    assert "Hi." in told.out


@pytest.mark.parametrize(
    ("tool", "lines", "result"),
    [
        ("choose_day", ["tomorrow", "2026-12-24"], "2026-12-24"),
        ("choose_day", [""], "The user declined to answer."),
        ("book", ["x", "3", "yes"], '{"row": 3, "window": true}'),
        ("book", ["3", ""], '{"row": 3}'),
    ],
)
def test_question_is_asked(tool, lines, result, talk):
    told = talk(call(tool, _id="c1"), say("Well."), lines=["Go", *lines])
    assert results_of(told.requests[1])["c1"].content == result


# --- Tools of the terminal


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "mine"
    (folder / "sub/.git").mkdir(parents=True)
    (folder / "notes.txt").write_text("naïve ✓")
    (folder / "sub/more.md").write_text("More")
    (folder / ".env").write_text("KEY=hunter2")
    (folder / "sub/.git/config").write_text("hunter2")
    (folder / "picture").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "outside.txt").write_text("hunter2")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "inner.txt").symlink_to(folder / ".env")
    return folder


STAYS = "The pattern stays in the folder."


@pytest.mark.parametrize(
    ("tool", "arguments", "content"),
    [
        ("read_file", {"path": "notes.txt"}, "naïve ✓"),
        ("read_file", {"path": "sub/more.md"}, "More"),
        ("read_file", {"path": "sub/../notes.txt"}, "naïve ✓"),
        ("read_file", {"path": "none.txt"}, "There is no file"),
        ("read_file", {"path": "sub"}, "There is no file"),
        ("read_file", {"path": "picture"}, "is not a text"),
        *(
            ("read_file", {"path": path}, "not allowed")
            for path in (".env", "sub/.git/config", "../outside.txt", "/etc/hostname", "link.txt", "inner.txt")
        ),
        ("read_file", {"path": "\0"}, "not allowed"),
        ("read_file", {"path": "circle"}, "not allowed"),
        ("list_files", {}, "notes.txt\npicture\nsub/more.md"),
        ("list_files", {"pattern": "*.txt"}, "notes.txt"),
        ("list_files", {"pattern": "../*"}, STAYS),
        ("list_files", {"pattern": "/etc/*"}, STAYS),
        ("list_files", {"pattern": "*.py"}, "There are none."),
    ],
)
def test_files_are_read_and_listed_in_the_folder_only(tool, arguments, content, folder, talk):
    told = talk(call(tool, **arguments), say("I see."), arguments=["--allow-read-file", folder, "--message", "Look"])
    result = told.requests[1].tool_results[tool]
    assert content in result if tool == "read_file" else content == result
    assert "hunter2" not in result


def test_threads_are_listed_and_taken_up(talk):
    talk(say("First answer"), arguments=["--message", "Alpha"])
    talk(say("Second answer"), arguments=["--message", "Beta"])
    told = talk(say("Third answer"), lines=["/threads", "/resume 2", "Go on"])
    assert told.out.index("1  Beta") < told.out.index("2  Alpha") < told.out.index("First answer")
    assert "Second answer" not in told.out.partition("/resume")[2]
    assert [part.content for part in told.requests[0].messages[0].parts] == ["Alpha"]


def test_new_begins_another_thread(talk):
    told = talk(say("A"), say("B"), lines=["Alpha", "/new", "Beta", "/stop", "/help", "/quit", "Gamma"])
    assert len(told.requests[1].messages) == 1
    assert "Nothing is being written." in told.out
    assert "/resume N" in told.out


def test_what_a_terminal_would_obey_is_not_printed(talk):
    evil = "\x1b]0;owned\x07 \x9b2J \u202egnp.exe"
    answers = [[say(evil), call("echo", text=evil)], call("wipe", what=evil), say(evil)]
    told = talk(*answers, lines=[evil, "n", "", "/threads"])
    printed = told.out + told.err + talk(say(evil), arguments=["--message", "Go"]).out
    assert "owned" in printed
    assert not set("\x1b\x07\x9b\u202e") & set(printed)
