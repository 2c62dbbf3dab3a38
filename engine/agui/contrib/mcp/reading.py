"""Resources, as MCP clients list, read and complete them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from mcp import MCPError, types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_ai.messages import BinaryContent
from pydantic_core import to_json

from agui import conf
from agui.agents.endpoint import Endpoint
from agui.contrib.mcp.call import Ended, Refused, Request, Unknown
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.describe import page_of
from agui.contrib.mcp.gate import Gate
from agui.contrib.mcp.resources import MISSING, Resource, resources_of
from agui.contrib.mcp.results import resource_contents
from agui.tools.approval import call_async

MAX_COMPLETIONS = 100
NOT_FOUND_2025 = -32002


class Resources:
    """The resources of an agent, for MCP clients."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._registry = resources_of(endpoint.registry)
        self._endpoint = endpoint

    @cached_property
    def _gate(self) -> Gate:
        return Gate(self._endpoint, self._registry.functions, can_ask=False)

    async def list_resources(self, caller: Caller, params: Any) -> types.ListResourcesResult:
        found = [each for each in await self._permitted(caller) if not each.parameters]
        page, cursor = page_of(found, params and params.cursor)
        listed = [types.Resource(uri=each.uri, **_described(each)) for each in page]
        return types.ListResourcesResult(resources=listed, next_cursor=cursor)

    async def list_templates(
        self, caller: Caller, params: Any
    ) -> types.ListResourceTemplatesResult:
        found = [each for each in await self._permitted(caller) if each.parameters]
        page, cursor = page_of(found, params and params.cursor)
        listed = [
            types.ResourceTemplate(uri_template=each.uri, **_described(each)) for each in page
        ]
        return types.ListResourceTemplatesResult(resource_templates=listed, next_cursor=cursor)

    async def read(self, caller: Caller, ctx: Any, params: Any) -> types.ReadResourceResult:
        missing = _missing(params.uri, ctx.protocol_version)
        found = self._registry.find(params.uri)
        if found is None:
            raise missing
        resource, values = found
        try:
            ended = await self._gate.call(
                Request(caller, resource.binding.spec.name, dict(values), params)
            )
        except Unknown:
            raise missing from None
        except Refused as refusal:
            raise MCPError(types.INTERNAL_ERROR, str(refusal)) from None
        if not isinstance(ended, Ended):
            raise MCPError(types.INTERNAL_ERROR, "A resource can't ask for anything.")
        if ended.outcome == "success":
            contents = _contents(resource, params.uri, ended.content)
            return types.ReadResourceResult(contents=[contents])
        # Values that the function can't read name nothing.
        if ended.outcome == "denied" or ended.content == MISSING or isinstance(ended.content, list):
            raise missing
        raise MCPError(types.INTERNAL_ERROR, str(ended.content))

    async def complete(
        self, caller: Caller, uri: str, argument: types.CompletionArgument
    ) -> types.Completion:
        """Complete the value of a placeholder: with its choices, or by the author's function."""
        resource = self._registry.get(uri)
        if resource is None or resource not in await self._permitted(caller):
            raise MCPError(types.INVALID_PARAMS, f"Unknown resource template: {uri[:200]}")
        function = resource.complete.get(argument.name)
        if function is None:
            return completion(_choices(resource, argument.name), argument.value)
        context = self._gate.context(caller.actor, resource.binding.spec.name)
        values = await call_async(function, context, argument.value)
        return completion([str(value) for value in values], argument.value)

    async def _permitted(self, caller: Caller) -> list[Resource]:
        if not len(self._registry):
            return []
        tools = await self._gate.tools(caller)
        return [each for each in self._registry if each.binding.spec.name in tools]


def _described(resource: Resource) -> dict[str, Any]:
    spec = resource.binding.spec
    return {
        "name": spec.name,
        "title": resource.title,
        "description": spec.description,
        "mime_type": resource.mime_type,
    }


def completion(values: Sequence[str], typed: str) -> types.Completion:
    """Return those values that begin with what was typed, the first hundred of them."""
    found = [value for value in values if value.casefold().startswith(typed.casefold())]
    return types.Completion(
        values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS
    )


def _choices(resource: Resource, name: str) -> list[str]:
    """List the values of an Enum, a Literal or a bool."""
    schema = resource.binding.input_schema
    part = (schema.get("properties") or {}).get(name) or {}
    pointer = part.get("$ref")
    if isinstance(pointer, str):
        part = (schema.get("$defs") or {}).get(pointer.rpartition("/")[2]) or {}
    if part.get("type") == "boolean":
        return ["true", "false"]
    values = part.get("enum") or ([part["const"]] if "const" in part else [])
    return [str(value) for value in values]


def _missing(uri: str, version: str) -> MCPError:
    code = types.INVALID_PARAMS if version in MODERN_PROTOCOL_VERSIONS else NOT_FOUND_2025
    return MCPError(code, MISSING, {"uri": uri})


def _contents(
    resource: Resource, uri: str, value: Any
) -> types.TextResourceContents | types.BlobResourceContents:
    mime_type = resource.mime_type
    if isinstance(value, str):
        return types.TextResourceContents(uri=uri, mime_type=mime_type or "text/plain", text=value)
    if isinstance(value, bytes):
        value = BinaryContent(value, media_type=mime_type or "application/octet-stream")
    if isinstance(value, BinaryContent):
        if len(value.data) > conf.get().max_read_bytes:
            raise MCPError(types.INTERNAL_ERROR, "The resource is too large to be read.")
        return resource_contents(uri, value)
    text = to_json(value, bytes_mode="base64").decode()
    return types.TextResourceContents(uri=uri, mime_type=mime_type or "application/json", text=text)
