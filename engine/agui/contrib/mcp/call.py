"""A call of an MCP client: what is asked about it, and whom the answer belongs to."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from django.utils.translation import gettext as _
from mcp import MCPError, types
from pydantic_ai import ApprovalRequired, RunContext

from agui import clock
from agui.blocking.executor import in_database
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.cards import card_in
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.progress import Progress
from agui.deps import AgentDeps
from agui.sentences import fill
from agui.tools.audit import Outcome
from agui.tools.questions import display_value, one_line, question_text
from agui.tools.schema import X_CONFIRM_KEY, X_SUMMARY_KEY, prettify
from agui.tools.secret_arguments import hide, secret_paths

UNANSWERABLE = "The tool needs an answer of the user first, which can only be given in the chat."

LinkMode = Literal["result", "error"]


class Unknown(Exception):
    """The user may call nothing by this name."""

    def as_error(self) -> MCPError:
        return MCPError(types.INVALID_PARAMS, f"Unknown tool: {str(self)[:64]}")


class Refused(Exception):
    """The call has not begun, for a reason that the client is told."""


@dataclass(frozen=True)
class Ended:
    """How a call has ended, and what its client gets."""

    outcome: Outcome
    content: Any
    card: dict[str, Any] | None = None
    """What the tool has shown with `show_view`, the last time."""


@dataclass(kw_only=True)
class Context(RunContext[AgentDeps]):
    """The `ctx` of a tool over MCP."""

    progress: Progress | None = None
    cards: list[dict[str, Any]] = field(default_factory=list)
    """A list, because a call works with copies of its context."""

    async def emit(self, event: Any, /) -> Any:
        card = card_in(event)
        if card:
            self.cards[:] = [card]
        if self.progress:
            await self.progress.show(event)
        return event


@dataclass(frozen=True)
class Decision:
    """What the user has decided on our page."""

    question: ClientQuestion
    approved: bool
    edited: dict[str, Any] | None = None
    """The arguments with which the user has replaced the client's."""
    reason: str = ""
    is_withdrawn: bool = False
    """Whether not the user, but the client has said no: it cancels the call."""


class Cancellation:
    """Lets a client cancel its call while the tool is at work, but not while it is recorded."""

    def __init__(self) -> None:
        self.is_requested = False
        self._at_work: asyncio.Task[Any] | None = None

    def request(self) -> None:
        self.is_requested = True
        if self._at_work:
            self._at_work.cancel()

    @contextmanager
    def possible(self) -> Iterator[None]:
        self._at_work = asyncio.current_task()
        try:
            yield
        finally:
            self._at_work = None


@dataclass(frozen=True)
class Request:
    """What a client calls, and what it answers with the call."""

    caller: Caller
    name: str
    arguments: dict[str, Any]
    params: Any = None
    """Of a client of 2026, the answers and the state that came with the call."""
    progress: Progress | None = None
    links: LinkMode | None = None
    """How the client takes the address of a page that its user should open; None if it does not."""
    decision: Decision | None = None
    """What the user has decided, if the call comes from our page."""
    cancellation: Cancellation = field(default_factory=Cancellation)


@dataclass(frozen=True)
class Call:
    """A call, as the answers to its questions are bound to it."""

    caller: Caller
    tool_name: str
    arguments: dict[str, Any]
    definition: str
    """A digest of the tool's definition."""
    schema: dict[str, Any]
    """The schema of the arguments: it says which are secret."""
    returns_object: bool = False
    """Whether clients expect an object with known fields. They refuse another result."""

    @property
    def digest(self) -> str:
        text = json.dumps([self.tool_name, self.definition, self.arguments], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def question_of(self, wish: ApprovalRequired) -> str:
        """Write the question of an approval."""
        metadata = wish.metadata or {}
        label = self.label_of(wish)
        return question_text(metadata.get(X_CONFIRM_KEY) or fill(_('Run "{tool}"?'), tool=label))

    def label_of(self, wish: ApprovalRequired) -> str:
        metadata = wish.metadata or {}
        return one_line(metadata.get(X_SUMMARY_KEY) or prettify(self.tool_name))

    def argument_lines(self) -> list[str]:
        """Write the arguments without the secret ones, each on its line."""
        lines = []
        for name, value in hide(self.arguments, secret_paths(self.schema)).items():
            shown = value
            if isinstance(value, dict | list):
                shown = json.dumps(value, ensure_ascii=False)
            lines.append(f"{one_line(name)}: {display_value(shown)}")
        return lines


async def find(key: Any, caller: Caller, *, also_late: bool = False) -> ClientQuestion | None:
    """Find a question that was asked by this client of this user."""
    try:
        pk = UUID(str(key))
    except ValueError:
        return None
    mine = ClientQuestion.objects.filter(pk=pk, caller=caller.key)
    if not also_late:
        mine = mine.filter(expires_at__gt=clock.now())
    return await in_database(mine.first)


@dataclass(frozen=True)
class Waiting:
    """A call that waits on our page, or is at work after the decision there."""

    question: ClientQuestion
    words: types.CallToolResult
    """What a client is told that takes no handle."""


Reply = Ended | Waiting | types.InputRequiredResult | types.CallToolResult
"""What a client gets. Only an Ended has executed something, and is recorded."""
