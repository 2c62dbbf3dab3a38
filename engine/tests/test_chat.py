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
from tests.conftest import results_of, script
from tests.urls import effects
from tests.wire import check_stream

Thread = get_conversation_model()

pytestmark = pytest.mark.usefixtures("user")


@pytest.fixture
def in_memory(monkeypatch):
    """Two chats in one process have an event loop each, and connections to Redis are at home in one."""
    monkeypatch.setattr(live, "logs", RunLogs())


def control_c() -> str:
    raise KeyboardInterrupt


# --- One message


def test_message_is_answered(capsys):
    with script([call("whoami")], [say("You are **ada**.", 3)]):
        assert chat("--message", "Who am I?") == 0
    printed = capsys.readouterr()
    assert printed.out == "You are **ada**.\n"
    assert printed.err == "→ whoami\n"


def test_message_comes_from_standard_input(type_in):
    type_in("Two", "lines")
    with script([say("Hi")]) as model:
        assert chat("--message", "-") == 0
    assert model.requests[0].prompt == "Two\nlines\n"


def test_json_has_every_event(capsys):
    with script([call("echo", text="naïve")], [say("Hi")]):
        assert chat("--message", "Hello", "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert event_types(events)[0] == "RUN_STARTED"
    assert "TOOL_CALL_RESULT" in event_types(events)
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Hi"]
    check_stream(events)


def test_json_without_a_message_is_refused():
    assert chat("--json") == 2


def test_failed_run_is_1(capsys):
    with script([fail(RuntimeError("hunter2"))]):
        assert chat("--message", "Hello") == 1
    printed = capsys.readouterr()
    assert "(internal_error)" in printed.err
    assert printed.out == ""


def test_question_is_3_and_nothing_has_run(capsys):
    with script([call("wipe")]):
        assert chat("--message", "Wipe it") == 3
    assert effects == []
    assert f"--thread {Thread.objects.get().thread_id}" in capsys.readouterr().err


def test_thread_that_waits_takes_no_message(capsys):
    with script([call("wipe")]):
        chat("--message", "Wipe it")
        assert chat("--thread", Thread.objects.get().thread_id, "--message", "And?") == 3
    assert effects == []


def test_thread_goes_on(capsys):
    with script([say("Hi")], [say("Bye")]) as model:
        chat("--message", "Hello")
        assert chat("--thread", Thread.objects.get().thread_id, "--message", "Good bye") == 0
    assert len(model.requests[1].messages) == 3
    assert Thread.objects.count() == 1


def test_unknown_thread_is_4_and_the_log_is_silent(capsys, caplog):
    with script():
        assert chat("--thread", "none", "--message", "Hello") == 4
    assert "404" in capsys.readouterr().err
    assert caplog.records == []
    assert logging.root.manager.disable == logging.NOTSET


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
def test_control_c_is_130_and_stops_the_run(times, capsys):
    with script([say("One moment."), Interrupted(times=times)]):
        assert chat("--message", "Hello") == 130
    assert capsys.readouterr().out == "One moment.\n"
    assert Run.objects.get().status == Run.Status.CANCELLED


def test_server_out_of_reach_is_4(capsys):
    assert chat("--url", "http://127.0.0.1:1/agent/", "--message", "Hello") == 4
    assert "127.0.0.1:1" in capsys.readouterr().err


# --- Whose conversation it is


def test_token_is_gone_afterwards():
    with script([say("Hi")]):
        chat("--message", "Hello")
    assert not ApiToken.objects.exists()


def test_one_of_several_users_has_to_be_named(other, capsys):
    assert chat("--message", "Hello") == 2
    assert "--user" in capsys.readouterr().err
    with script([call("whoami")], [say("Hi")]) as model:
        assert chat("--user", "bob", "--message", "Hello") == 0
    assert model.requests[1].tool_results == {"whoami": "bob"}


def test_user_who_is_not_active_is_refused(other):
    get_user_model().objects.filter(username="bob").update(is_active=False)
    assert chat("--user", "bob", "--message", "Hello") == 2


# --- Approvals and questions


@pytest.mark.parametrize(
    ("lines", "done", "result"),
    [
        (["y"], ["all"], "wiped all"),
        (["yes"], ["all"], "wiped all"),
        (["what?", "", "y"], ["all"], "wiped all"),
        (["n", ""], [], "The tool call was denied."),
        (["n", "Not today."], [], "Not today."),
        (["e", "{", "[]", '{"what": "cache"}'], ["cache"], "wiped cache"),
        (["e", '{"what": 1}', "e", '{"what": "cache"}'], ["cache"], "wiped cache"),
    ],
)
def test_approval_is_asked(lines, done, result, type_in, capsys):
    type_in("Wipe it", *lines)
    with script([call("wipe", _id="c1")], [say("Well.")]) as model:
        assert chat() == 0
    assert effects == done
    assert results_of(model.requests[1])["c1"].content == result
    printed = capsys.readouterr().out
    assert "Really wipe it?" in printed
    assert "Well." in printed


def test_approval_shows_all_of_the_arguments(type_in, capsys):
    type_in("Wipe it", "n", "")
    with script([call("wipe", what="x" * 3000 + "; rm -rf /")], [say("Well.")]):
        chat()
    shown = capsys.readouterr().out.partition("Really wipe it?")[2].replace("\n", "")
    assert "x" * 3000 + "; rm -rf /" in shown


def test_approval_is_left_open_when_the_input_ends(type_in):
    type_in("Wipe it")
    with script([call("wipe")]):
        assert chat() == 0
    assert effects == []


def test_open_approval_is_asked_when_its_thread_is_taken_up(type_in):
    with script([call("wipe")], [say("Done")]):
        chat("--message", "Wipe it")
        type_in("y")
        assert chat("--thread", Thread.objects.get().thread_id) == 0
    assert effects == ["all"]


def test_question_that_was_left_open_comes_before_the_next_message(type_in, capsys):
    type_in("Wipe it", control_c, "Hello", "y")
    with script([call("wipe")], [say("Done.")], [say("Hi.")]) as model:
        assert chat() == 0
    assert effects == ["all"]
    assert model.requests[2].prompt == "Hello"
    assert "(interrupt" not in capsys.readouterr().out


@pytest.mark.usefixtures("in_memory")
def test_question_that_was_answered_elsewhere_is_not_asked_again(type_in, capsys):
    def answer_elsewhere() -> str:
        lines = sys.stdin
        sys.stdin = Lines(["y"])
        try:
            chat("--thread", Thread.objects.get().thread_id)
        finally:
            sys.stdin = lines
        return "y"

    type_in("Wipe it", answer_elsewhere, "Hello")
    with script([call("wipe")], [say("Done.")], [say("Hi.")]):
        assert chat() == 0
    assert effects == ["all"]
    printed = capsys.readouterr().out
    assert "(interrupt_unknown)" in printed
    assert "Hi." in printed


@pytest.mark.usefixtures("in_memory")
def test_question_that_was_asked_elsewhere_is_asked_and_the_message_is_read(type_in, capsys):
    def ask_elsewhere() -> str:
        assert chat("--thread", Thread.objects.get().thread_id, "--message", "Wipe it") == 3
        return "Hello again"

    type_in("Hello", ask_elsewhere, "y")
    with script([say("Hi.")], [call("wipe")], [say("Done.")], [say("Hi again.")]) as model:
        assert chat() == 0
    assert effects == ["all"]
    assert model.requests[3].prompt == "Hello again"
    assert "Hi again." in capsys.readouterr().out


def test_question_that_has_expired_is_dismissed(type_in, settings, capsys):
    settings.AGUI = {**settings.AGUI, "INTERRUPT_EXPIRES_SECONDS": 0.000001}
    type_in("Wipe it", "Hello")
    with script([call("wipe")], [say("Well.")], [say("Hi.")]):
        assert chat() == 0
    assert effects == []
    printed = capsys.readouterr().out
    assert "Too late to answer: Really wipe it?" in printed
    assert "Hi." in printed


@pytest.mark.parametrize(
    ("tool", "lines", "result"),
    [
        ("choose_day", ["tomorrow", "2026-12-24"], "2026-12-24"),
        ("choose_day", [""], "The user declined to answer."),
        ("book", ["x", "3", "yes"], '{"row": 3, "window": true}'),
        ("book", ["3", ""], '{"row": 3}'),
    ],
)
def test_question_is_asked(tool, lines, result, type_in):
    type_in("Go", *lines)
    with script([call(tool, _id="c1")], [say("Well.")]) as model:
        assert chat() == 0
    assert results_of(model.requests[1])["c1"].content == result


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


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("notes.txt", "naïve ✓"),
        ("sub/more.md", "More"),
        ("sub/../notes.txt", "naïve ✓"),
        (".env", "not allowed"),
        ("sub/.git/config", "not allowed"),
        ("../outside.txt", "not allowed"),
        ("/etc/hostname", "not allowed"),
        ("link.txt", "not allowed"),
        ("inner.txt", "not allowed"),
        ("none.txt", "There is no file"),
        ("sub", "There is no file"),
        ("picture", "is not a text"),
        ("\0", "not allowed"),
        ("circle", "not allowed"),
    ],
)
def test_file_is_read_in_the_folder_only(path, content, folder, capsys):
    with script([call("read_file", path=path)], [say("I see.")]) as model:
        assert chat("--allow-read-file", str(folder), "--message", "Read") == 0
    assert content in model.requests[1].tool_results["read_file"]
    assert "hunter2" not in model.requests[1].tool_results["read_file"]


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({}, "notes.txt\npicture\nsub/more.md"),
        ({"pattern": "*.txt"}, "notes.txt"),
        ({"pattern": "../*"}, "The pattern stays in the folder."),
        ({"pattern": "/etc/*"}, "The pattern stays in the folder."),
        ({"pattern": "*.py"}, "There are none."),
    ],
)
def test_files_are_listed(arguments, content, folder, capsys):
    with script([call("list_files", **arguments)], [say("I see.")]) as model:
        assert chat("--allow-read-file", str(folder), "--message", "Look") == 0
    assert model.requests[1].tool_results["list_files"] == content


def test_no_file_is_offered_without_leave(capsys):
    with script([say("Hi")]) as model:
        chat("--message", "Hello")
    assert not {"read_file", "list_files"} & set(model.requests[0].tools)


def test_file_is_read_beside_an_approval(folder, type_in):
    type_in("Go", "y")
    with script([call("read_file", path="notes.txt"), call("wipe")], [say("Done")]) as model:
        assert chat("--allow-read-file", str(folder)) == 0
    assert model.requests[1].tool_results == {"read_file": "naïve ✓", "wipe": "wiped all"}


def test_folder_has_to_exist(capsys):
    assert chat("--allow-read-file", "/none", "--message", "Hello") == 2


# --- Commands


def test_threads_are_listed_and_taken_up(type_in, capsys):
    with script([say("First answer")], [say("Second answer")], [say("Third answer")]) as model:
        chat("--message", "Alpha")
        chat("--message", "Beta")
        capsys.readouterr()
        type_in("/threads", "/resume 2", "Go on")
        assert chat() == 0
    printed = capsys.readouterr().out
    assert printed.index("1  Beta") < printed.index("2  Alpha") < printed.index("First answer")
    assert "Second answer" not in printed.partition("/resume")[2]
    assert [part.content for part in model.requests[2].messages[0].parts] == ["Alpha"]


def test_new_begins_another_thread(type_in, capsys):
    type_in("Alpha", "/new", "Beta", "/stop", "/help", "/quit", "Gamma")
    with script([say("A")], [say("B")]) as model:
        assert chat() == 0
    assert len(model.requests[1].messages) == 1
    printed = capsys.readouterr().out
    assert "Nothing is being written." in printed
    assert "/resume N" in printed


def test_what_a_terminal_would_obey_is_not_printed(type_in, capsys):
    evil = "\x1b]0;owned\x07 \x9b2J \u202egnp.exe"
    type_in(evil, "n", "", "/threads")
    with script([say(evil), call("echo", text=evil)], [call("wipe", what=evil)], [say(evil)], [say(evil)]):
        assert chat() == 0
        assert chat("--message", "Go") == 0
    printed = "".join(capsys.readouterr())
    assert "owned" in printed
    assert not set("\x1b\x07\x9b\u202e") & set(printed)
