"""Tools of a djangorestframework-mcp-server, called in this process as the user who asks.

AGUI["DRF_MCP"] names the server; the extra is `drf-mcp`. Its tools come from its own `tools/list`,
once a run, and are called as synchronous tools are: on a thread of ours, with its connections.
Serializers, permissions and rate limits are the server's. What it calls destructive, which is each
service that doesn't say otherwise, asks for approval.
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
Built = tuple[ToolBinding, Tool[Any]]


class DrfMcpToolset(ListedToolset):
    """The server's tools, but for those whose name is taken: `taken` are the names of tools that win."""

    def __init__(
        self, server: MCPServer, *, taken: Collection[str] = (), scopes: Sequence[str] = ()
    ) -> None:
        """`scopes` are what each user has, for tools that ask for OAuth scopes: a session has none."""
        self.server = server
        self.taken = frozenset(taken)
        self.scopes = tuple(scopes)
        self._built: dict[str, tuple[dict[str, Any], Built]] = {}

    @property
    def id(self) -> str:
        return "drf-mcp"

    @property
    def names(self) -> set[str]:  # type: ignore[override]
        return {tool_name(tool.name) for tool in self.server.tools.all()} - self.taken

    async def bindings(self, user: Any) -> list[ToolBinding]:
        """What the server lists for this user, as tools of ours."""
        return [binding for binding, _ in await self._listed(user)]

    async def _listed(self, user: Any) -> list[Built]:
        """Ask the server. A list that fails is logged, and is empty."""
        try:
            return await run_in_thread(self._list, user)
        except Exception:
            logger.exception(
                "The server of AGUI['DRF_MCP']['SERVER'] can't list its tools: they are left out."
            )
            return []

    async def for_run(self, ctx: RunContext[AgentDeps]) -> AbstractToolset[Any]:
        return Toolset([tool for _, tool in await self._listed(ctx.deps.user)], id=self.id)

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
        found: dict[str, Built] = {}
        cursor: str | None = None
        while True:
            page = self.server.list_tools(cursor, user=user or AnonymousUser(), scopes=self.scopes)
            if isinstance(page, JsonRpcError):
                raise RuntimeError(page.message)
            for entry in page["tools"]:
                name = tool_name(entry["name"])
                if name in found:
                    logger.error(
                        "Two tools of the server have the name %r for a model: the first is used.",
                        name,
                    )
                elif name not in self.taken:
                    found[name] = self._bind(name, entry)
            cursor = page.get("nextCursor")
            if cursor is None:
                return list(found.values())

    def _bind(self, name: str, entry: dict[str, Any]) -> Built:
        known = self._built.get(name)
        if known is None or known[0] != entry:
            binding = self._binding(name, entry)
            known = self._built[name] = entry, (binding, build_tool(binding))
        return known[1]

    def _binding(self, name: str, entry: dict[str, Any]) -> ToolBinding:
        hints = entry.get("annotations") or {}
        # For people, and never in the server's own list.
        shown = self.server.tools.get(entry["name"])
        label = getattr(shown, "display_name", None) or entry.get("title") or hints.get("title")
        blurb = getattr(shown, "display_description", None)
        spec = ToolSpec(
            name=name,
            fn=self._call(entry["name"]),
            description=entry.get("description") or label or entry["name"],
            # As the protocol has it: what says nothing of itself may destroy.
            destructive=hints.get("destructiveHint") is not False and not hints.get("readOnlyHint"),
            summary=label,
            metadata={X_DESCRIPTION_KEY: blurb} if blurb else None,
            # The server's own clock would tell the model to try again, with the first call still at
            # work.
            timeout=self.server.config.dispatch_timeout,
        )
        parsed = Tool.from_schema(
            spec.fn, name, spec.description, entry["inputSchema"], takes_ctx=True
        )
        parsed.function_schema = replace(parsed.function_schema, validator=_arguments.validator)
        keys = x_keys(spec.destructive, spec.category, spec.confirm, spec.summary)
        return ToolBinding(spec, {**entry["inputSchema"], **keys}, parsed)

    def _call(self, name: str) -> Callable[..., Any]:
        def call(ctx: RunContext[AgentDeps], /, **arguments: Any) -> Any:
            # What the server does synchronously is done on this thread.
            answer = async_to_sync(self.server.acall_tool)(
                name, arguments, user=_afresh(ctx.deps.user), scopes=self.scopes
            )
            return (
                read_error(answer) if isinstance(answer, JsonRpcError) else read_result(answer, ctx)
            )

        return call


def tool_name(name: str) -> str:
    """The name as providers of models take it: "invoices.create" is "invoices_create"."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def _afresh(user: Any) -> Any:
    """The user as he is now. A user object remembers permissions that were revoked since."""
    if user is None or not user.is_authenticated:
        return AnonymousUser()
    found = get_user_model()._default_manager.filter(pk=user.pk).first()
    if found is None or not found.is_active:
        raise PermissionDenied
    return found


def read_error(error: JsonRpcError) -> Any:
    """Raise what a refused call means to a run."""
    if error.code in (JsonRpcErrorCode.FORBIDDEN, JsonRpcErrorCode.UNAUTHORIZED):
        raise PermissionDenied
    if error.code == JsonRpcErrorCode.RATE_LIMITED:
        seconds = (error.data or {}).get("retryAfter")
        raise ToolFailed(f"This was called too often. It can be called again in {seconds} seconds.")
    if error.code == JsonRpcErrorCode.INVALID_PARAMS:
        raise ToolFailed(error.message)
    raise RuntimeError(f"{error.code}: {error.message}")


def read_result(result: dict[str, Any], ctx: RunContext[AgentDeps]) -> Any:
    """Take a tool's answer as the model gets it: its data, else its text and its files."""
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
