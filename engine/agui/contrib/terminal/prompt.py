"""The prompt: messages go to the agent, and lines that begin with a slash are commands."""

from collections.abc import Callable

from rich.text import Text

from agui.contrib.client import AGUIError, AGUIStatusError
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.meanwhile import NOW, SEND, STOP, Meanwhile
from agui.contrib.terminal.printable import one_line
from agui.contrib.terminal.screen import Screen
from agui.contrib.terminal.session import Session

HELP = """\
/threads [words]   your conversations, newest first, or those with these words
/resume N          go on with one of them, by its number or its id
/new               begin another
/stop [words]      stop the answer that is being written; Ctrl-C does that while you see it
/quit              leave, as Ctrl-D"""
QUEUE_HELP = """
While the agent works, Enter sends a line after the answer, and Alt+Enter at the agent's next step.
/steer words       the same as Alt+Enter
/stop [words]      stop the answer, and send what waits and these words
/queue             the messages that wait
/edit N [words]    change one of them
/drop N            take it back
/send              send what waits, after an answer that was stopped or has failed"""
MARK = "> "


class Prompt:
    """Reads lines until the person leaves."""

    def __init__(
        self, session: Session, screen: Screen, keyboard: Keyboard, meanwhile: Meanwhile
    ) -> None:
        self._session = session
        self._screen = screen
        self._keyboard = keyboard
        self._meanwhile = meanwhile
        self._thread_ids: list[str] = []
        self._commands: dict[str, Callable[[str], None]] = {
            "/threads": self.list_threads,
            "/resume": self.resume,
            "/new": self.begin,
            STOP: self.stop,
            "/help": self.help,
        }
        self._queue_commands: dict[str, Callable[[str], None]] = {
            NOW: self.send,
            "/queue": self.list_waiting,
            "/edit": self.edit,
            "/drop": self.drop,
            SEND: self.send_waiting,
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
                # The person gives up the line, or leaves the question open.
                self._screen.print()
            except AGUIError as error:
                self._screen.fail(str(error))

    def _obey(self, line: str) -> None:
        name, _, words = line.partition(" ")
        command = self._commands.get(name)
        if name in self._queue_commands and self._has_queue():
            command = self._queue_commands[name]
        if command:
            command(words.strip())
        else:
            # The line may name a skill, which the server knows: skills begin with a slash, too.
            self.send(line)

    def _has_queue(self) -> bool:
        return bool(self._session.wait_for(self._meanwhile.queue.find()))

    def send(self, words: str) -> None:
        if words:
            self._session.send(words)
            self._screen.print()

    def help(self, words: str = "") -> None:
        self._screen.print(Text(HELP + QUEUE_HELP if self._has_queue() else HELP))

    def list_threads(self, words: str = "") -> None:
        try:
            rows = self._session.wait_for(self._session.client.threads(words))
        except AGUIStatusError as error:
            if error.status not in (404, 405):
                raise
            return self._screen.fail("This agent has no list of conversations.")
        self._thread_ids = [row["thread_id"] for row in rows]
        for number, row in enumerate(rows, start=1):
            preview = "…" if row.get("running") else one_line(row.get("preview") or "")
            line = Text(f"{number:>3}  ", style="dim")
            line.append(one_line(row.get("title") or "Untitled"), style="bold")
            line.append(f"  {preview}", style="dim")
            self._screen.print(line, cut=True)
        if not rows:
            self._screen.print(Text("There are none.", style="dim"))
        return None

    def resume(self, words: str = "") -> None:
        """Take up a thread, show its messages, and ask the questions that it waits for."""
        if not words and not self._thread_ids:
            return self.list_threads()
        if not words:
            return self._screen.fail("Which one? /resume N takes a number of /threads, or an id.")
        number = int(words) if words.isdecimal() else 0
        is_listed = 0 < number <= len(self._thread_ids)
        self.open_thread(self._thread_ids[number - 1] if is_listed else words)
        return None

    def open_thread(self, thread_id: str) -> None:
        thread = self._session.open_thread(thread_id)
        self._screen.show_thread(self._session.conversation)
        if thread.get("running"):
            sentence = "An answer is being written: /resume it later, or /stop it."
            self._screen.print(Text(f"\n{sentence}", style="yellow"))
        elif self._session.conversation.interrupts:
            self._session.answer()
        self._session.wait_for(self._meanwhile.commands.show_waiting(self._session.conversation))
        self._screen.print()

    def begin(self, words: str = "") -> None:
        self._session.conversation = Conversation()
        self._screen.print(Text("A new conversation.", style="dim"))
        if words:
            self._session.send(words)

    def stop(self, words: str = "") -> None:
        thread_id = self._session.conversation.thread_id
        was_running = self._session.wait_for(self._session.client.cancel(thread_id))
        sentence = "Stopped." if was_running else "Nothing is being written."
        self._screen.print(Text(sentence, style="dim"))
        self.send(words)

    def list_waiting(self, words: str = "") -> None:
        self._session.wait_for(self._meanwhile.commands.list(self._session.conversation))

    def edit(self, words: str) -> None:
        self._session.wait_for(self._meanwhile.commands.edit(self._session.conversation, words))

    def drop(self, words: str) -> None:
        self._session.wait_for(self._meanwhile.commands.drop(self._session.conversation, words))

    def send_waiting(self, words: str = "") -> None:
        self._session.send_waiting()
        self._screen.print()
