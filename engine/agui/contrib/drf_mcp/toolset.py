"""Tools of a djangorestframework-mcp-server, called in this process as the user who asks.

AGUI["DRF_MCP"] names the server; the extra is `drf-mcp`. Each run lists the server's tools once,
and calls them as it calls synchronous tools: on a worker with its own database connections. The
server's serializers, permissions and rate limits apply. A tool needs approval if the server calls
it destructive, or does not say.
"""

import base64
import json
import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from pydantic import TypeAdapter
from pydantic_ai import BinaryContent, ModelRetry, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from rest_framework_mcp import MCPServer
from rest_framework_mcp.constants import JsonRpcErrorCode
from rest_framework_mcp.protocol.types.json_rpc_error import JsonRpcError

from agui.blocking.executor import run_in_thread
from agui.deps import AgentDeps
from agui.tools.call import TIMED_OUT, build_tool
from agui.tools.registry import ToolBinding
from agui.tools.schema import X_DESCRIPTION_KEY, ToolSpec, x_keys
from agui.tools.toolset import ListedToolset, Toolset

logger = logging.getLogger("agui.tools")

_arguments: Any = TypeAdapter(dict[str, Any])
Entry = dict[str, Any]
"""A tool as the server lists it."""
Built = tuple[ToolBinding, Tool[Any]]


class DrfMcpToolset(ListedToolset):
    """The server's tools, except those with a name in `taken`."""

    def __init__(
        self, server: MCPServer, *, taken: Collection[str] = (), scopes: Sequence[str] = ()
    ) -> None:
        """`scopes` are the OAuth scopes that all users have: a session has none of its own."""
        self.server = server
        self.taken = frozenset(taken)
        self.scopes = tuple(scopes)
        self._built: dict[str, tuple[Entry, Built]] = {}

    @property
    def id(self) -> str:
        return "drf-mcp"

    @property
    def names(self) -> set[str]:  # type: ignore[override]
        names = {tool_name(tool.name) for tool in self.server.tools.all()}
        return names - self.taken

    async def bindings(self, user: Any) -> list[ToolBinding]:
        """Return the tools that the server lists for this user."""
        return [binding for binding, _ in await self._listed(user)]

    async def _listed(self, user: Any) -> list[Built]:
        """List the server's tools. If that fails, it is logged, and there are none."""
        try:
            return await run_in_thread(self._list, user)
        except Exception:
            logger.exception(
                "Leaving out the tools of AGUI['DRF_MCP']['SERVER'] for user %s: listing failed",
                getattr(user, "pk", None),
            )
            return []

    async def for_run(self, ctx: RunContext[AgentDeps]) -> AbstractToolset[Any]:
        tools = [tool for _, tool in await self._listed(ctx.deps.user)]
        return Toolset(tools, id=self.id)

    async def get_tools(self, ctx: RunContext[AgentDeps]) -> dict[str, ToolsetTool[Any]]:
        return await (await self.for_run(ctx)).get_tools(ctx)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDeps],
        tool: ToolsetTool[Any],
    ) -> Any:
        return await tool.toolset.call_tool(name, tool_args, ctx, tool)

    def _list(self, user: Any) -> list[Built]:
        built: dict[str, Built] = {}
        cursor: str | None = None
        while True:
            page = self.server.list_tools(cursor, user=user or AnonymousUser(), scopes=self.scopes)
            if isinstance(page, JsonRpcError):
                raise RuntimeError(page.message)
            for entry in page["tools"]:
                name = tool_name(entry["name"])
                if name in built:
                    logger.error(
                        "Leaving out MCP tool %r: another one also has the name %r for models",
                        entry["name"],
                        name,
                    )
                elif name not in self.taken:
                    built[name] = self._build(name, entry)
            cursor = page.get("nextCursor")
            if cursor is None:
                return list(built.values())

    def _build(self, name: str, entry: Entry) -> Built:
        """Build a tool, unless the server lists it as it did last time."""
        last_entry, built = self._built.get(name, (None, None))
        if built is None or last_entry != entry:
            binding = self._binding(name, entry)
            built = binding, build_tool(binding)
            self._built[name] = entry, built
        return built

    def _binding(self, name: str, entry: Entry) -> ToolBinding:
        hints = entry.get("annotations") or {}
        # The texts for people are not in the server's list.
        registered = self.server.tools.get(entry["name"])
        label = getattr(registered, "display_name", None)
        label = label or entry.get("title") or hints.get("title")
        blurb = getattr(registered, "display_description", None)
        spec = ToolSpec(
            name=name,
            fn=self._call(entry["name"]),
            description=entry.get("description") or label or entry["name"],
            # According to the protocol, a tool without hints may be destructive.
            destructive=hints.get("destructiveHint") is not False and not hints.get("readOnlyHint"),
            summary=label,
            metadata={X_DESCRIPTION_KEY: blurb} if blurb else None,
            # The run's timeout comes first: after the server's own, the model would try again while
            # the first call is still at work.
            timeout=self.server.config.dispatch_timeout,
        )
        parsed = Tool.from_schema(
            spec.fn, name, spec.description, entry["inputSchema"], takes_ctx=True
        )
        parsed.function_schema = replace(parsed.function_schema, validator=_arguments.validator)
        keys = x_keys(spec)
        return ToolBinding(spec, {**entry["inputSchema"], **keys}, parsed)

    def _call(self, name: str) -> Callable[..., Any]:
        def call(ctx: RunContext[AgentDeps], /, **arguments: Any) -> Any:
            user = _reload(ctx.deps.user)
            # The server's synchronous code runs on this worker.
            call_tool = async_to_sync(self.server.acall_tool)
            answer = call_tool(name, arguments, user=user, scopes=self.scopes)
            if isinstance(answer, JsonRpcError):
                return read_error(answer)
            return read_result(answer, ctx)

        return call


def tool_name(name: str) -> str:
    """Return a name that providers of models accept: "invoices.create" is "invoices_create"."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def _reload(user: Any) -> Any:
    """Load the user anew: the object caches permissions that may have been revoked."""
    if user is None or not user.is_authenticated:
        return AnonymousUser()
    current = get_user_model()._default_manager.filter(pk=user.pk).first()
    if current is None or not current.is_active:
        raise PermissionDenied
    return current


def read_error(error: JsonRpcError) -> Any:
    """Raise the exception that a refused call means for a run."""
    if error.code in (JsonRpcErrorCode.FORBIDDEN, JsonRpcErrorCode.UNAUTHORIZED):
        raise PermissionDenied
    if error.code == JsonRpcErrorCode.RATE_LIMITED:
        seconds = (error.data or {}).get("retryAfter")
        raise ToolFailed(f"This was called too often. It can be called again in {seconds} seconds.")
    if error.code == JsonRpcErrorCode.INVALID_PARAMS:
        raise ToolFailed(error.message)
    raise RuntimeError(f"{error.code}: {error.message}")


def read_result(result: dict[str, Any], ctx: RunContext[AgentDeps]) -> Any:
    """Return what the model gets of a tool's answer: its data, or its texts and files."""
    blocks = [_content(block) for block in result.get("content", ())]
    if result.get("isError"):
        text = "\n".join(map(str, blocks))
        kind = _kind(text)
        if kind == "validation_error" and not ctx.last_attempt:
            raise ModelRetry(text)
        raise ToolFailed(TIMED_OUT if kind == "timeout" else text)
    if "structuredContent" in result:
        return result["structuredContent"]
    return blocks[0] if len(blocks) == 1 else blocks


def _content(block: dict[str, Any]) -> Any:
    if block["type"] == "text":
        return block["text"]
    if block["type"] in ("image", "audio"):
        return BinaryContent(base64.b64decode(block["data"]), media_type=block["mimeType"])
    return block


def _kind(text: str) -> Any:
    try:
        return json.loads(text)["error"]["type"]
    except (ValueError, KeyError, TypeError):
        return None
