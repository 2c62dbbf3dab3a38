"""What the person does while an answer is written: they send messages, and stop it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from agui.contrib.client import AGUIError
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.message_queue import MessageQueue, choices
from agui.contrib.terminal.queue_commands import QueueCommands
from agui.contrib.terminal.screen import Screen
from agui.contrib.terminal.waiting import STEER

QUEUE = "queue"
STOP, NOW, SEND = "/stop", "/steer", "/send"
# These are obeyed after the answer.
OF_PROMPT = ("/threads", "/resume", "/new", "/help", "/quit", "/exit")

Typed = tuple[str, bool]


class Meanwhile:
    """Obeys the lines that are typed during a run, in their order."""

    def __init__(self, queue: MessageQueue, screen: Screen, keyboard: Keyboard) -> None:
        self.queue = queue
        self.commands = QueueCommands(queue, screen, keyboard)
        self._screen = screen
        self._keyboard = keyboard
        self._conversation = Conversation()
        self._lines: asyncio.Queue[Typed | None] = asyncio.Queue()
        self._stop: Callable[[], Any] = bool
        self._sends: str | None = None
        """What to send together with what waits, now that the answer was stopped for it."""

    @asynccontextmanager
    async def listening(
        self, conversation: Conversation, started: asyncio.Event, stop: Callable[[], Any]
    ) -> AsyncIterator[None]:
        """Listen until the block ends. Messages are sent as soon as the run has started."""
        self._conversation, self._stop, self._sends = conversation, stop, None
        footer = self._screen.footer
        footer.waiting, footer.line, footer.is_open = conversation.waiting, "", True
        obeying = asyncio.create_task(self._obey_lines(started))
        try:
            with self._keyboard.watched(self):
                yield
            self._lines.put_nowait(None)
            if started.is_set():
                await obeying
        finally:
            obeying.cancel()
            footer.is_open = False
            while not self._lines.empty():
                typed = self._lines.get_nowait()
                if typed:
                    self._keyboard.keep(typed[0])

    def hear(self, line: str, with_alt: bool) -> None:
        name, _, words = line.strip().partition(" ")
        if name == STOP:
            self._sends = words.strip()
            self._stop()
        elif line.strip():
            self._lines.put_nowait((line.strip(), with_alt))

    def show(self, unfinished: str) -> None:
        self._screen.footer.line = unfinished
        self._screen.refresh()

    async def _obey_lines(self, started: asyncio.Event) -> None:
        await started.wait()
        has_queue = await self.queue.find()
        self._screen.footer.choices = choices(self.queue.modes)
        while typed := await self._lines.get():
            line, with_alt = typed
            if not has_queue or line.partition(" ")[0] in OF_PROMPT:
                self._keyboard.keep(line)
            else:
                await self._obey(line, with_alt)
            self.show(self._keyboard.unfinished)

    async def _obey(self, line: str, with_alt: bool) -> None:
        name, _, words = line.partition(" ")
        command = self.commands.by_name.get(name)
        try:
            if command:
                await command(self._conversation, words.strip())
            elif name == SEND:
                self._screen.fail("They are sent after this answer. /stop sends them now.")
            elif name == NOW and words.strip():
                await self.queue.add(self._conversation, words.strip(), STEER)
            elif name != NOW:
                mode = STEER if with_alt else QUEUE
                await self.queue.add(self._conversation, line, mode)
        except AGUIError as error:
            self._screen.fail(str(error))
            if command is None:
                # Nothing that was typed is lost: it is sent after the answer.
                self._keyboard.keep(line)

    async def go_on(self, conversation: Conversation) -> bool:
        """Return whether to follow another run, after one has ended.

        Sends what waits if the person has stopped the answer for it. Raises AGUIError.
        """
        words, self._sends = self._sends, None
        if words and not await self.queue.find():
            self._keyboard.keep(words)
        elif words:
            await self.queue.add(conversation, words, QUEUE)
        if not len(conversation.waiting):
            return False
        stand = await self.queue.settled(conversation)
        if not len(conversation.waiting):
            # A run has read the messages: it is active, or has ended already.
            return True
        if words is not None and not stand.run_id:
            stand = await self.queue.send(conversation)
        if stand.run_id:
            return True
        self.commands.show_held(conversation, stand)
        return False
