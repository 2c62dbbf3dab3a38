"""The records that a user can mention: those that a function of the project finds.

    config = AgentConfig(..., capabilities=[Mentions(search)])

The function decides which records a user may see.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from itertools import islice
from typing import Any, TypeAlias

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

from agui.blocking.executor import in_database, run_in_thread
from agui.contrib.mentions.references import MAX_CHARS, MAX_RECORDS, with_mentions
from agui.errors import Unavailable
from agui.stores.annotations import annotation

logger = logging.getLogger("agui.mentions")

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class Mention:
    """A record that the user can choose."""

    kind: str
    """The kind of record, such as "task". The list has a heading for each kind."""
    id: Any
    """The id by which tools know it, such as its primary key."""
    title: str
    """The words after the @ in the text of the message."""
    detail: str = ""
    """Words that tell it apart from others of the same title. Only the list shows it."""


Search: TypeAlias = Callable[[Any, str], Iterable[Mention] | Awaitable[Iterable[Mention]]]
"""Finds records for a user and a text, which may be empty. It may be async."""


@dataclass
class Mentions(AbstractCapability[Any]):
    """Lets the users of an agent mention records with @."""

    search: Search

    def for_agent(self, agent: AbstractAgent[Any, Any]) -> "Mentions":
        """Check the configuration when the agent is built. Raises ImproperlyConfigured."""
        if not apps.is_installed("agui.contrib.mentions"):
            raise ImproperlyConfigured("Mentions: add 'agui.contrib.mentions' to INSTALLED_APPS.")
        return self

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Tell the model which records the messages mention."""
        messages = request_context.messages
        if any(annotation(message, "extras") for message in messages):
            # The texts may be long, and the streams of other users must not wait.
            messages = await run_in_thread(with_mentions, messages, pool="reading")
            request_context.messages = messages
        return request_context

    async def find(self, user: Any, text: str) -> list[dict[str, str]]:
        """Search as this user. Raises Unavailable if that takes too long."""
        search: Any = self.search
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                if iscoroutinefunction(search):
                    return _rows(await search(user, text))
                return await in_database(lambda: _rows(search(user, text)), pool="tools")
        except TimeoutError:
            logger.warning("Mention search %r timed out after %s s", search, TIMEOUT_SECONDS)
            raise Unavailable(_("The search takes too long. Try again soon.")) from None


def _rows(mentions: Iterable[Mention]) -> list[dict[str, str]]:
    rows = []
    for mention in islice(mentions, MAX_RECORDS):
        row = {"kind": _line(mention.kind), "id": str(mention.id), "title": _line(mention.title)}
        detail = _line(mention.detail)
        if detail:
            row["detail"] = detail
        if row["title"]:
            rows.append(row)
    return rows


def _line(text: Any) -> str:
    """Write a text on one line, as long as a list can show it."""
    return " ".join(str(text).split())[:MAX_CHARS].strip()
