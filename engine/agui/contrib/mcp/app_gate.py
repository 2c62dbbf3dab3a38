"""What the app of another server may ask for: that server's tools, through the gate, and its files.

An app is a client of this project as one over MCP is. So the same gate decides: permission,
approval, limits, budgets, audit. It asks the user by a form, which our own page shows.
"""

from typing import Any

from mcp import MCPError, types
from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import ToolsetTool

from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.contrib.mcp.app_activity import words_of
from agui.contrib.mcp.app_documents import MAX_APP_BYTES, Document, document_of
from agui.contrib.mcp.app_policy import SCHEME, app_uri
from agui.contrib.mcp.call import UNANSWERABLE, Ended, Refused, Request
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.forms import APPROVAL
from agui.contrib.mcp.gate import Gate
from agui.contrib.mcp.results import call_result
from agui.contrib.mcp.toolset import McpToolset, R, Work, tool_name
from agui.deps import AgentDeps
from agui.errors import NotFound
from agui.tools.registry import ToolBinding, ToolRegistry
from agui.tools.schema import ToolSpec, parse

UNKNOWN_METHOD = "Unknown method."
NO_CALL = "This is no call of a tool."
NO_APP = "There is no such app."
NOT_FOR_APPS = "This tool is not for apps."
TOO_LARGE = f"What an app reads has at most {MAX_APP_BYTES} bytes."
NOT_READABLE = "An app reads what its server offers to apps, and nothing else."


class AppToolset(McpToolset):
    """The tools of one server that are for its apps, as an agent's user may call them."""

    audience = "app"

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDeps],
        tool: ToolsetTool[AgentDeps],
    ) -> dict[str, Any]:
        server, own = self._calls[name]
        result = await self.use(
            server, ctx.deps.user, lambda one: one.call_for_app(own.name, tool_args)
        )
        if result.get("isError"):
            raise ToolFailed(words_of(result) or "The tool failed.")
        return result


class AppRegistry(ToolRegistry):
    """Tools of another server in the form in which the gate knows those of the project."""

    def __init__(self, tools: dict[str, ToolsetTool[AgentDeps]]) -> None:
        super().__init__("apps")
        for name, tool in tools.items():
            definition = tool.tool_def
            spec = ToolSpec(name=name, fn=_elsewhere, description=definition.description or name)
            schema = definition.parameters_json_schema
            self._bindings[name] = ToolBinding(spec, schema, parse(spec))


async def _elsewhere() -> None:
    """Stand for the function of a tool, which is on another server."""
    raise NotImplementedError


class AppHost:
    """One server's apps, for one request of the page."""

    def __init__(self, endpoint: Endpoint, toolset: AppToolset, caller: Caller, name: str) -> None:
        self._endpoint = endpoint
        self._toolset = toolset
        self._caller = caller
        self._name = name

    @classmethod
    def find(cls, endpoint: Endpoint, caller: Caller, name: str) -> "AppHost":
        """Find a server that this agent uses and that may show apps. Raises NotFound."""
        for toolset in endpoint.agent.toolsets:
            if isinstance(toolset, McpToolset):
                narrowed = toolset.narrowed(AppToolset, name)
                if narrowed:
                    return cls(endpoint, narrowed, caller, name)
        raise NotFound(NO_APP)

    async def document(self, uri: str) -> Document:
        """Return the document of an app that a tool of the server names. Raises NotFound."""
        tools = await self._toolset.server_tools(self._context())
        if uri not in [app_uri(tool) for tool in tools]:
            raise NotFound(NO_APP)
        try:
            return await self._use(lambda one: document_of(one, uri))
        except ToolFailed as error:
            raise NotFound(str(error)) from None

    async def answer(
        self, method: str, params: dict[str, Any], answer: tuple[str, bool] | None
    ) -> dict[str, Any]:
        """Answer a request of an app: with a result, an error, or a question to the user."""
        try:
            if method == "tools/call":
                return await self._call(params, answer)
            if method == "resources/read":
                return {"result": await self._read(params.get("uri"))}
        except (ToolFailed, MCPError) as error:
            return {"error": str(error)}
        return {"error": UNKNOWN_METHOD}

    async def _read(self, uri: Any) -> dict[str, Any]:
        if not isinstance(uri, str) or not uri.startswith(SCHEME):
            raise ToolFailed(NOT_READABLE)
        await self._toolset.server_tools(self._context())
        result = await self._use(lambda one: one.read_for_app(uri))
        if _size(result) > MAX_APP_BYTES:
            raise ToolFailed(TOO_LARGE)
        return result

    async def _call(
        self, params: dict[str, Any], answer: tuple[str, bool] | None
    ) -> dict[str, Any]:
        try:
            call = types.CallToolRequestParams.model_validate({
                "name": params.get("name"),
                "arguments": params.get("arguments"),
                **(_answer_of_client(*answer) if answer else {}),
            })  # fmt: skip
        except ValidationError:
            raise ToolFailed(NO_CALL) from None
        name = tool_name(self._name, call.name)
        gate = await self._gate_of(name)
        try:
            reply = await gate.call(Request(self._caller, name, call.arguments or {}, call))
        except Refused as refusal:
            return _failed(str(refusal))
        if isinstance(reply, types.InputRequiredResult):
            return _question(reply)
        if not isinstance(reply, Ended):
            return _failed(UNANSWERABLE)
        if reply.outcome == "success" and isinstance(reply.content, dict):
            return {"result": reply.content}
        return _failed(str(reply.content))

    async def _gate_of(self, name: str) -> Gate:
        """Return the gate of one tool. Raises ToolFailed if it is not for apps."""
        tools = await self._toolset.get_tools(self._context())
        if name not in tools:
            raise ToolFailed(NOT_FOR_APPS)
        return Gate(self._endpoint, AppRegistry(tools), toolset=self._toolset)

    def _context(self) -> RunContext[AgentDeps]:
        return Gate(self._endpoint, ToolRegistry()).context(self._caller.actor)

    async def _use(self, work: Work[R]) -> R:
        [server] = self._toolset.servers
        return await self._toolset.use(server, self._caller.actor.user, work)


def caller_of(actor: Actor, request: Any, name: str) -> Caller:
    """Return an app of a server as a caller. Our page asks its user what the gate asks."""
    return Caller(actor, request, client=f"app of {name}", fills_forms=True, is_page=True)


def _size(result: dict[str, Any]) -> int:
    contents = result.get("contents", ())
    return sum(len(item.get("text") or item.get("blob") or "") for item in contents)


def _answer_of_client(question_id: str, approved: bool) -> dict[str, Any]:
    """Write the user's answer as a client of MCP sends it with its call."""
    result = {"action": "accept", "content": {APPROVAL: approved}}
    return {"inputResponses": {APPROVAL: result}, "requestState": question_id}


def _question(reply: types.InputRequiredResult) -> dict[str, Any]:
    about: Any = (reply.input_requests or {})[APPROVAL].params
    return {"question": {"id": reply.request_state, "message": about.message}}


def _failed(sentence: str) -> dict[str, Any]:
    result = call_result(sentence, is_error=True)
    return {"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)}
