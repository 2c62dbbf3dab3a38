"""The project's own tools as an MCP server: streamable HTTP, without sessions.

Callers act as in the chat: same tokens, same permissions, same audit trail. They can't be asked for
approval, so tools that need it are neither listed nor callable. A call goes on after its client has
left.
"""

import asyncio
import logging
from functools import cached_property, partial
from inspect import isawaitable
from typing import Any
from uuid import uuid4

from asgiref.sync import ThreadSensitiveContext
from django.http import HttpRequest, HttpResponse
from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    FunctionToolset,
    ModelRetry,
    RunContext,
    ToolDenied,
)
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart, ToolReturn, ToolReturnPart
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.usage import RunUsage

from agui import conf, parts
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.agents.llm import name_of
from agui.blocking.executor import in_database, release_connections
from agui.contrib.mcp.results import call_result
from agui.deps import AgentDeps
from agui.errors import HttpError, NotFound
from agui.http.throttle import throttle
from agui.log_fields import log_fields
from agui.runs.live import live
from agui.runs.shutdown import calls as calls_at_work
from agui.runs.start import detached_context
from agui.tools.audit import Outcome, record_event, resolve_audit_logger
from agui.tools.call import FAILED, TIMED_OUT, build_toolset
from agui.tools.timer import ToolCallTimer

logger = logging.getLogger("agui.mcp")

UNANSWERABLE = "The tool needs an answer of the user first, which can only be given in the chat."
UNKNOWN = "The user has no such tool."
LATER = "{} Try again in {} seconds."
STOPPED = "The server ended before the tool did."


class Context(RunContext[AgentDeps]):
    """The `ctx` of a tool over MCP. There is no page that could show its progress."""

    async def emit(self, event: Any, /) -> Any:
        return event


class ToolServer:
    """The tools of an agent's registry, for MCP clients."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    @cached_property
    def toolset(self) -> FunctionToolset[AgentDeps]:
        return build_toolset(self.endpoint.registry)

    async def answer(self, request: HttpRequest, actor: Actor, body: bytes) -> HttpResponse:
        """Answer one request of a client, which acts as this user."""
        config = self.endpoint.config
        server = Server[Any](
            config.name,
            instructions=config.description,
            on_list_tools=partial(self._list, actor),
            on_call_tool=partial(self._call, request, actor),
        )
        return await _exchange(server, request, body)

    async def _list(self, actor: Actor, _: Any, params: Any) -> types.ListToolsResult:
        tools = await self._tools(self._context(actor))
        return types.ListToolsResult(tools=[self._describe(tool) for tool in tools.values()])

    async def _call(
        self, request: HttpRequest, actor: Actor, _: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in self.endpoint.registry:
            raise _unknown(params.name)
        try:
            await throttle(request, actor)
            await parts.check_run(actor)
            # A call counts as a run, so it takes a thread that no other request knows.
            log, _ = await live.logs.reserve(actor.scope, f"mcp-{uuid4()}", "mcp")
        except HttpError as refusal:
            sentence = str(refusal)
            seconds = refusal.headers.get("Retry-After")
            if seconds:
                sentence = LATER.format(refusal, seconds)
            return call_result(sentence, is_error=True)
        task = asyncio.get_running_loop().create_task(
            self._run(actor, params), context=detached_context()
        )
        calls_at_work.add(task)
        task.add_done_callback(calls_at_work.discard)
        task.add_done_callback(lambda _: live.logs.release(log, NotFound()))
        return await asyncio.shield(task)

    async def _run(self, actor: Actor, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        context = self._context(actor, params.name)
        timer = ToolCallTimer(context.deps)
        timer.add_schema(params.name, self.endpoint.registry.get(params.name).input_schema)
        call = ToolCallPart(params.name, arguments, tool_call_id=context.tool_call_id or "")
        with log_fields(run_id=context.deps.run_id, user_id=str(actor.user.pk or "")):
            async with ThreadSensitiveContext():
                timer.start(call)
                try:
                    outcome, content = await self._outcome(context, params.name, arguments, timer)
                finally:
                    await release_connections()
            returned = ToolReturnPart(
                params.name, content, tool_call_id=call.tool_call_id, outcome=outcome
            )
            event = timer.stop(returned)
            if event:
                await record_event(resolve_audit_logger(self.endpoint.config.audit_logger), event)
            await self._record_usage(actor, context)
        if content is UNKNOWN:
            raise _unknown(params.name)
        return call_result(content, is_error=outcome != "success")

    async def _record_usage(self, actor: Actor, context: Context) -> None:
        """Let the parts record what the tool has used of models with `ctx.usage`."""
        if not context.usage.has_values():
            return
        model = name_of(context.model)

        def record() -> None:
            for part in parts.installed():
                part.models_used(actor, model, context.usage)

        try:
            await in_database(record)
        except Exception:
            logger.exception("Recording the model usage of tool %r failed", context.tool_name)

    async def _outcome(
        self, context: Context, name: str, arguments: dict[str, Any], timer: ToolCallTimer
    ) -> tuple[Outcome, Any]:
        """Call the tool. Return how the call ended, and what its client gets."""
        clock = asyncio.timeout(conf.get().run_timeout_seconds)
        try:
            async with clock:
                tool = (await self._tools(context)).get(name)
                if tool is None:
                    return "denied", UNKNOWN
                result = await self._execute(tool, name, arguments, context)
        except (ToolFailed, ModelRetry) as error:
            timer.add_cause(context.tool_call_id or "", error)
            return "failed", error.message
        except ValidationError as error:
            return "failed", error.errors(
                include_url=False, include_input=False, include_context=False
            )
        except (ApprovalRequired, CallDeferred):
            return "failed", UNANSWERABLE
        except asyncio.CancelledError:
            # Only runs/shutdown.py cancels a call: clients that leave don't.
            return "failed", STOPPED
        except Exception as error:
            timer.add_cause(context.tool_call_id or "", error)
            logger.exception("MCP call of tool %r failed", name)
            return "failed", TIMED_OUT if clock.expired() else FAILED
        if isinstance(result, ToolDenied):
            return "denied", result.message
        return "success", result

    async def _execute(
        self, tool: ToolsetTool[AgentDeps], name: str, arguments: dict[str, Any], context: Context
    ) -> Any:
        validated = tool.args_validator.validate_python(arguments)
        if tool.args_validator_func:
            checked = tool.args_validator_func(context, **validated)
            if isawaitable(checked):
                await checked
        result = await self.toolset.call_tool(name, validated, context, tool)
        if isinstance(result, ToolReturn):
            return result.return_value
        return result

    def _context(self, actor: Actor, tool_name: str | None = None) -> Context:
        endpoint = self.endpoint
        call_id = f"mcp-{uuid4()}"
        state: Any = {}
        if endpoint.config.state_type:
            state = endpoint.config.state_type()
        deps = AgentDeps(actor.user, thread_id="", run_id=call_id, state=state, scope=actor.scope)
        model: Any = endpoint.agent.model
        return Context(
            deps=deps,
            model=model,
            usage=RunUsage(),
            tool_name=tool_name,
            tool_call_id=call_id,
            run_id=call_id,
        )

    async def _tools(self, context: Context) -> dict[str, ToolsetTool[AgentDeps]]:
        """Return the tools that this user may call without an approval."""
        tools = await self.toolset.get_tools(context)
        return {name: tool for name, tool in tools.items() if tool.tool_def.kind == "function"}

    def _describe(self, tool: ToolsetTool[AgentDeps]) -> types.Tool:
        spec = self.endpoint.registry.get(tool.tool_def.name).spec
        return types.Tool(
            name=spec.name,
            title=spec.label,
            description=tool.tool_def.description,
            input_schema=tool.tool_def.parameters_json_schema,
            annotations=types.ToolAnnotations(title=spec.label, destructive_hint=spec.destructive),
        )


def _unknown(name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:64]}")


async def _exchange(server: Server[Any], request: HttpRequest, body: bytes) -> HttpResponse:
    """Let the official server answer one request: it knows all versions of the protocol."""
    received = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[Any] = []

    async def receive() -> Any:
        for message in received:
            return message
        # Django, and not this function, notices that a client has left.
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {**request.scope, "root_path": ""}  # type: ignore[attr-defined]
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=conf.get().max_body_bytes
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    start, *rest = sent
    content = b"".join(message.get("body", b"") for message in rest)
    response = HttpResponse(content, status=start["status"])
    del response["Content-Type"]
    for name, value in start.get("headers", ()):
        response[name.decode("latin-1")] = value.decode("latin-1")
    response["Cache-Control"] = "no-store"
    return response
