"""`make run` comes back after each kind of mistake in a file of the project, as README says."""

from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

import pytest
from servers import LiveProject, serve, wait_until

pytestmark = pytest.mark.servers

TOOL = '\n\n@tool(registry)\ndef extra({parameter}) -> str:\n    """Do it."""\n    return "Done."\n'
# The file, what is appended to it, and what the developer reads then. All but the second are raised in another file.
MISTAKES = [
    ("tools.py", TOOL.format(parameter="").replace('    """Do it."""\n', ""), "has no docstring"),
    ("urls.py", "\n1 / 0\n", "ZeroDivisionError"),
    ("tools.py", TOOL.format(parameter="") * 2, "is registered twice"),
    ("tools.py", TOOL.format(parameter="value: type(registry)"), "extra"),
    ("skills.py", '\nskills.add("", "", "")\n', "name"),
    ("agent.py", "\nimport json\njson.loads('x')\n", "JSONDecodeError"),
]


class Reloading(LiveProject):
    """As `make run` serves."""

    @property
    def command(self) -> list[str]:
        return ["manage.py", "runserver", f"127.0.0.1:{self.port}"]


@pytest.fixture(scope="module")
def server(bake_to_serve):
    with serve(bake_to_serve("reloaded", parts="standard", engine="package"), Reloading) as live:
        yield live


def answers(live: LiveProject) -> bool:
    try:
        return live.client(live.token).fetch("GET", "/agent/tools/")[0] == 200
    except (OSError, HTTPException):
        return False


def save_until(live: LiveProject, path: Path, text: str, is_seen: Callable[[], bool]) -> None:
    """Save a file until the server has seen it: Django begins to look at files some moments after a start.

    A save that Django has noticed is left alone: another one would interrupt the start that shows the mistake.
    """
    position = len(live.log.read_text())

    def is_seen_now() -> bool:
        if is_seen():
            return True
        log = live.log.read_text()[position:]
        if f"{path.name} changed, reloading" not in log:
            path.write_text(text)
        if live.process.poll() is not None:
            # Django's own reloader can break at a module whose import fails (docs/upstream.md): start it again.
            assert "iter_all_python_module_files" in live.log.read_text()[-3000:], log[-3000:]
            live.start()
        return False

    wait_until(is_seen_now, failure_message=lambda: live.log.read_text()[-3000:])


@pytest.mark.parametrize(
    ("file", "code", "words"),
    [MISTAKES[0], *(pytest.param(*mistake, marks=pytest.mark.nightly) for mistake in MISTAKES[1:])],
)
def test_server_comes_back_after_a_mistake(server, file: str, code: str, words: str):
    path = server.path / "assistant" / file
    right, position = path.read_text(), len(server.log.read_text())
    try:
        save_until(server, path, right + code, lambda: words in server.log.read_text()[position:])
        save_until(server, path, right, lambda: answers(server))
    finally:
        path.write_text(right)
