"""The prompt: messages go to the agent, lines that begin with a slash are for the terminal."""

from collections.abc import Callable

from rich.text import Text

from agui.contrib.client import AGUIError, AGUIStatusError
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.printable import one_line
from agui.contrib.terminal.screen import Screen
from agui.contrib.terminal.session import Session

HELP = """\
/threads [words]   your conversations, newest first, or those with these words
/resume N          go on with one of them, by its number or its id
/new               begin another
/stop              stop the answer that is being written; Ctrl-C does that while you see it
/quit              leave, as Ctrl-D"""
MARK = "> "


class Prompt:
    """Reads lines until the person leaves."""

    def __init__(self, session: Session, screen: Screen, keyboard: Keyboard) -> None:
        self._session, self._screen, self._keyboard = session, screen, keyboard
        self._rows: list[str] = []
        self._commands: dict[str, Callable[[str], None]] = {
            "/threads": self.list_threads,
            "/resume": self.resume,
            "/new": self.begin,
            "/stop": self.stop,
            "/help": self.help,
        }

    def run(self) -> None:
        """Read until /quit, Ctrl-D or the end of the input."""
        while True:
            try:
                line = self._keyboard.message(MARK).strip()
                if line in ("/quit", "/exit"):
                    return
                if line:
                    self._obey(line)
            except EOFError:
                return
            except KeyboardInterrupt:
                self._screen.print()  # The line is given up, or the question is left open
            except AGUIError as error:
                self._screen.fail(str(error))

    def _obey(self, line: str) -> None:
        name, _, words = line.partition(" ")
        if command := self._commands.get(name):
            command(words.strip())
        else:
            # The server may know it: skills begin with a slash, too.
            self._session.send(line)
            self._screen.print()

    def help(self, words: str = "") -> None:
        self._screen.print(Text(HELP))

    def list_threads(self, words: str = "") -> None:
        try:
            rows = self._session.wait_for(self._session.client.threads(words))
        except AGUIStatusError as error:
            if error.status not in (404, 405):
                raise
            return self._screen.fail("This agent has no list of conversations.")
        self._rows = [row["thread_id"] for row in rows]
        for number, row in enumerate(rows, start=1):
            line = Text(f"{number:>3}  ", style="dim")
            line.append(one_line(row.get("title") or "Untitled"), style="bold")
            line.append(
                f"  {'…' if row.get('running') else one_line(row.get('preview') or '')}",
                style="dim",
            )
            self._screen.print(line, cut=True)
        if not rows:
            self._screen.print(Text("There are none.", style="dim"))
        return None

    def resume(self, words: str = "") -> None:
        """Take up a thread, show what was said, and ask what it waits for."""
        if not words and not self._rows:
            return self.list_threads()
        number = int(words) if words.isdecimal() else 0
        thread_id = self._rows[number - 1] if 0 < number <= len(self._rows) else words
        if not thread_id:
            return self._screen.fail("Which one? /resume N takes a number of /threads, or an id.")
        self.take_up(thread_id)
        return None

    def take_up(self, thread_id: str) -> None:
        thread = self._session.take_up(thread_id)
        self._screen.show_thread(self._session.conversation)
        if thread.get("running"):
            self._screen.print(
                Text("\nAn answer is being written: /resume it later, or /stop it.", style="yellow")
            )
        elif self._session.conversation.interrupts:
            self._session.answer()
        self._screen.print()

    def begin(self, words: str = "") -> None:
        self._session.conversation = Conversation()
        self._screen.print(Text("A new conversation.", style="dim"))
        if words:
            self._session.send(words)

    def stop(self, words: str = "") -> None:
        was_running = self._session.wait_for(
            self._session.client.cancel(self._session.conversation.thread_id)
        )
        self._screen.print(
            Text("Stopped." if was_running else "Nothing is being written.", style="dim")
        )
