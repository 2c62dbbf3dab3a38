"""One turn after the other: send a message, show the events, and answer what the agent asks."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from enum import Enum
from typing import Any, Protocol

from agui.contrib.client import AGUIClient, AGUIError
from agui.contrib.terminal.conversation import ANSWER_AGAIN, Conversation
from agui.contrib.terminal.local_tools import LocalTool
from agui.contrib.terminal.meanwhile import Meanwhile
from agui.contrib.terminal.output import Output
from agui.protocol.types import EventType, RunAgentInput

STOP_SECONDS = 10
"""The time that the client waits for the end of a run that it has cancelled."""


class Ending(Enum):
    """The end of a turn; the value is the exit status of `manage.py chat --message`."""

    ANSWERED = 0
    FAILED = 1
    WAITING = 3
    REFUSED = 4
    STOPPED = 130


class Asker(Protocol):
    def ask(self, conversation: Conversation) -> list[dict[str, Any]]: ...


class Session:
    """Talks to one agent, in one thread at a time. Ctrl-C stops a run.

    Without `questions`, an interrupt ends the turn. Without `meanwhile`, nobody sends messages
    while the agent works.
    """

    def __init__(
        self,
        client: AGUIClient,
        output: Output,
        tools: Sequence[LocalTool] = (),
        *,
        questions: Asker | None = None,
        meanwhile: Meanwhile | None = None,
    ) -> None:
        self.client = client
        self.output = output
        self.conversation = Conversation()
        self._tools = {tool.name: tool for tool in tools}
        self._questions = questions
        self._meanwhile = meanwhile
        # The loop runs only while events are read, so that the prompt gets its own Ctrl-C.
        self._runner = asyncio.Runner()
        self._ending = Ending.ANSWERED

    def __enter__(self) -> "Session":
        self._runner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            if self.client.http:
                self.wait_for(self.client.http.aclose())
        finally:
            self._runner.__exit__(*error)

    def wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, on the session's event loop."""
        return self._runner.run(work)

    def send(self, text: str) -> Ending:
        """Send a message, and go on until the agent has answered or can't.

        Raises EOFError and KeyboardInterrupt if the person leaves a question open: the thread then
        waits.
        """
        if self.conversation.interrupts:
            ending = self.answer()
            if ending is not Ending.ANSWERED:
                return ending
        self.conversation.say(text)
        ending = self._continue()
        if ending is Ending.WAITING and not self.conversation.interrupts:
            # The server refused the message: the thread waits for an answer to another client.
            self.open_thread(self.conversation.thread_id)
            if self._questions and self.conversation.interrupts:
                return self.send(text)
        return ending

    def answer(self) -> Ending:
        """Answer the questions that the thread waits for, and go on."""
        if self._questions is None:
            return Ending.WAITING
        return self._continue(self._questions.ask(self.conversation))

    def send_waiting(self) -> None:
        """Send the messages that wait, and go on until the agent has answered."""
        assert self._meanwhile is not None  # noqa: S101
        stand = self.wait_for(self._meanwhile.queue.send(self.conversation))
        if stand.run_id:
            self._go_on(None)
        else:
            self._meanwhile.commands.show_held(self.conversation, stand)

    def _continue(self, resume: list[dict[str, Any]] | None = None) -> Ending:
        return self._go_on(self._next_run(resume))

    def _next_run(self, resume: list[dict[str, Any]] | None = None) -> RunAgentInput:
        tools = [tool.declaration for tool in self._tools.values()]
        return self.conversation.next_run(tools, resume)

    def _go_on(self, run_input: RunAgentInput | None) -> Ending:
        """Run until the agent has answered or can't. Without an input, follow the last run."""
        while True:
            ending = self._run(run_input)
            has_results = ending in (Ending.ANSWERED, Ending.WAITING) and self._call_tools()
            if ending in (Ending.ANSWERED, Ending.WAITING) and self.conversation.interrupts:
                if self._questions is None:
                    return Ending.WAITING
                run_input = self._next_run(self._questions.ask(self.conversation))
            elif has_results:
                run_input = self._next_run()
            elif self._meanwhile and self.wait_for(self._meanwhile.go_on(self.conversation)):
                run_input = None
            else:
                return ending

    def open_thread(self, thread_id: str) -> dict[str, Any]:
        """Go on with a thread of the server, and return what the server says. Raises AGUIError."""
        thread: dict[str, Any] = self.wait_for(self.client.thread(thread_id))
        self.conversation = Conversation.from_server(thread)
        return thread

    def _call_tools(self) -> bool:
        """Execute the calls of this client's tools. Return whether there were any."""
        calls = self.conversation.open_calls(self._tools)
        for call in calls:
            function = call["function"]
            tool = self._tools[function["name"]]
            content, is_result = tool.call(function["arguments"])
            self.conversation.add_result(call["id"], content)
            self.output.show_local(content, is_result)
        return bool(calls)

    def _run(self, run_input: RunAgentInput | None) -> Ending:
        self._ending = Ending.FAILED
        failure = ""
        self.output.begin()
        try:
            self.wait_for(self._read_until_stopped(run_input))
        except AGUIError as error:
            self._ending = Ending.REFUSED
            failure = str(error)
        finally:
            self.output.end()
        if failure:
            self.output.fail(failure)
        return self._ending

    async def _read_until_stopped(self, run_input: RunAgentInput | None) -> None:
        """Read a run's events. Ctrl-C and /stop cancel this task, which then cancels the run."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        started = asyncio.Event()
        reader = asyncio.create_task(self._read(run_input, started))
        listening: AbstractAsyncContextManager[None] = nullcontext()
        if self._meanwhile:
            listening = self._meanwhile.listening(self.conversation, started, task.cancel)
        async with listening:
            try:
                await asyncio.shield(reader)
            except asyncio.CancelledError:
                task.uncancel()
                if not reader.done():
                    await self._stop(reader, run_input)

    async def _stop(self, reader: asyncio.Task[None], run_input: RunAgentInput | None) -> None:
        run_id = run_input.run_id if run_input else self.conversation.run_id
        try:
            if await self.client.cancel(self.conversation.thread_id, run_id):
                await asyncio.wait({reader}, timeout=STOP_SECONDS)
        except AGUIError as error:
            self.output.fail(str(error))
        reader.cancel()
        await asyncio.wait({reader})
        if reader.cancelled() or reader.exception():
            self.output.fail("Stopped reading.")
        self._ending = Ending.STOPPED

    async def _read(self, run_input: RunAgentInput | None, started: asyncio.Event) -> None:
        events = self.client.follow(self.conversation.thread_id)
        if run_input:
            events = self.client.run(run_input)
        async with aclosing(events):
            async for event in events:
                if event.type == EventType.RUN_STARTED:
                    if run_input is None and is_run(event, self.conversation.run_id):
                        # There is no newer one.
                        self._ending = Ending.ANSWERED
                        return
                    started.set()
                self.conversation.apply(event)
                self.output.show(event, self.conversation)
                ending = ending_of(event)
                if ending:
                    self._ending = ending


def is_run(started: Any, run_id: str) -> bool:
    return bool(started.run_id == run_id)


def ending_of(event: Any) -> Ending | None:
    """Return how an event ends its turn; None if it doesn't."""
    match event.type.value:
        case "RUN_FINISHED":
            is_cancelled = event.outcome and event.outcome.type == "cancelled"
            return Ending.STOPPED if is_cancelled else Ending.ANSWERED
        case "RUN_ERROR":
            return Ending.WAITING if event.code in ANSWER_AGAIN else Ending.FAILED
    return None
