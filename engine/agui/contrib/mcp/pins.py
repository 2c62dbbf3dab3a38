"""The definitions of remote tools that the model may read: a change of one asks an operator.

A server could describe a harmless tool until people trust it, and write instructions for the model
into the description later.
"""

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import QuerySet

from agui import clock, conf
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.models import RemoteTool
from agui.contrib.mcp.servers import Server
from agui.tools.audit import storable

if TYPE_CHECKING:
    from mcp.types import Tool

logger = logging.getLogger("agui.mcp")

# What the model reads, and what decides about an approval.
FIELDS = {"name", "title", "description", "input_schema", "output_schema", "annotations"}
MAX_WAITING = 5
"""How many definitions of one tool wait: a server could send another each time."""
MAX_NAME_CHARS = 255
MAX_TOOLS = 1000


def define(tool: "Tool") -> dict[str, Any]:
    """Return what is pinned of a tool."""
    definition: dict[str, Any] = tool.model_dump(
        mode="json", by_alias=True, exclude_none=True, include=FIELDS
    )
    return definition


def digest(definition: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def choose(server: Server, tools: "Sequence[Tool]") -> "tuple[list[Tool], list[str]]":
    """Return the tools that the model may read of, and the names of those held back just now.

    This is called off the event loop.
    """
    pin = conf.part(McpSettings).pin
    if pin == "off":
        return list(tools), []
    pairs = [(tool, define(tool)) for tool in tools[:MAX_TOOLS] if len(tool.name) <= MAX_NAME_CHARS]
    known = {
        (row.name, row.digest): row.accepted_at is not None
        for row in RemoteTool.objects.filter(server=server.name).defer("definition")
    }
    new = [definition for _, definition in pairs if _key(definition) not in known]
    is_first = not known and pin == "first_use"
    if new:
        _store(server, new, is_first)
    if is_first:
        return [tool for tool, _ in pairs], []
    accepted = [tool for tool, definition in pairs if known.get(_key(definition))]
    return accepted, [str(definition["name"]) for definition in new]


def _key(definition: dict[str, Any]) -> tuple[str, str]:
    return storable(definition["name"]), digest(definition)


@transaction.atomic
def _store(server: Server, definitions: Iterable[dict[str, Any]], is_accepted: bool) -> None:
    now = clock.now()
    rows = []
    for definition in definitions:
        name, key = _key(definition)
        rows.append(
            RemoteTool(
                server=server.name,
                name=name,
                digest=key,
                definition=storable(definition),
                seen_at=now,
                accepted_at=now if is_accepted else None,
            )
        )
    RemoteTool.objects.bulk_create(rows, ignore_conflicts=True)
    if is_accepted:
        logger.info("Accepted the first %s tools of MCP server %r", len(rows), server.name)
        return
    for row in rows:
        logger.warning(
            "Leaving out tool %r of MCP server %r: its definition is new or has changed, and an "
            "operator has to accept it (manage.py accept_mcp_tools)",
            row.name,
            server.name,
        )
        waiting = RemoteTool.objects.filter(server=server.name, name=row.name, accepted_at=None)
        newest = waiting.order_by("-seen_at", "-pk").values_list("pk", flat=True)[:MAX_WAITING]
        waiting.exclude(pk__in=list(newest)).delete()


def accept(rows: "QuerySet[RemoteTool]") -> list[RemoteTool]:
    """Accept definitions that wait. Returns them."""
    waiting = list(rows.filter(accepted_at=None).defer("definition"))
    rows.filter(pk__in=[row.pk for row in waiting]).update(accepted_at=clock.now())
    for row in waiting:
        logger.warning(
            "Accepted the definition %.12s of tool %r of MCP server %r",
            row.digest,
            row.name,
            row.server,
        )
    return waiting
