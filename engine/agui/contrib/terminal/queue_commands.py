"""The commands about messages that wait: at the prompt, and while an answer is written."""

from collections.abc import Awaitable, Callable

from rich.text import Text

from agui.contrib.client import AGUIError
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.footer import text_of
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.message_queue import MessageQueue, Stand
from agui.contrib.terminal.screen import Screen
from agui.contrib.terminal.waiting import WaitingMessage, with_text

WHY = {
    "paused": "The conversation waits for an answer, and these messages wait, too:",
    "failed": "The answer failed, and these messages wait:",
    "cancelled": "The answer was stopped, and these messages wait:",
    "timed_out": "The answer took too long, and these messages wait:",
    "interrupted": "The answer was interrupted, and these messages wait:",
}
WAITS = "These messages wait:"
HINT = "/send sends them. /drop N takes one back."


class QueueCommands:
    """Each command gets the words behind its name. They raise AGUIError."""

    def __init__(self, queue: MessageQueue, screen: Screen, keyboard: Keyboard) -> None:
        self._queue = queue
        self._screen = screen
        self._keyboard = keyboard
        self.by_name: dict[str, Callable[[Conversation, str], Awaitable[None]]] = {
            "/queue": self.list,
            "/drop": self.drop,
            "/edit": self.edit,
        }

    async def list(self, conversation: Conversation, words: str = "") -> None:
        await self._queue.load(conversation)
        self._screen.show_waiting(conversation.waiting)

    async def drop(self, conversation: Conversation, words: str) -> None:
        row = await self._find(conversation, "/drop", words)
        if row:
            await self._queue.take_back(conversation, row)
            self._screen.note(Text(f"Taken back: {row.number}", style="dim"))

    async def edit(self, conversation: Conversation, words: str) -> None:
        """Give a message another text. Without one, its text is put into the line to edit it."""
        number, _, text = words.partition(" ")
        row = await self._find(conversation, "/edit", number)
        if not row:
            return
        if text.strip():
            message = with_text(row.message, text.strip())
            await self._queue.change(conversation, row, message=message)
        else:
            self._keyboard.begin_line(f"/edit {row.number} {text_of(row.message)}")

    async def _find(
        self, conversation: Conversation, name: str, words: str
    ) -> WaitingMessage | None:
        if not len(conversation.waiting):
            await self._queue.load(conversation)
        row = conversation.waiting.find(int(words)) if words.isdecimal() else None
        if row is None:
            self._screen.fail(f"Which one? {name} N takes a number of /queue.")
        return row

    def show_held(self, conversation: Conversation, stand: Stand) -> None:
        """Say why messages wait, and what can be done about it."""
        if stand.refusal:
            self._screen.fail(stand.refusal)
        self._screen.print(Text(WHY.get(stand.held, WAITS), style="yellow"))
        self._screen.show_waiting(conversation.waiting)
        self._screen.print(Text(HINT, style="dim"))

    async def show_waiting(self, conversation: Conversation) -> None:
        """Show what waits in a thread that is taken up."""
        try:
            if not await self._queue.find():
                return
            stand = await self._queue.load(conversation)
        except AGUIError as error:
            self._screen.fail(str(error))
            return
        if len(conversation.waiting):
            self.show_held(conversation, stand)
