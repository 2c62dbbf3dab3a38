"""The gate of all that MCP clients call: permission, approval, limits, audit, budgets.

Tools pass it, and the functions that read resources. A call acts as in the chat, and goes on after
its client has left.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import isawaitable
from typing import Any
from uuid import uuid4

from asgiref.sync import ThreadSensitiveContext
from mcp import MCPError, types
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
from agui.contrib.mcp import forms
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.progress import Progress
from agui.deps import AgentDeps
from agui.errors import HttpError, NotFound
from agui.http.throttle import throttle
from agui.log_fields import log_fields
from agui.runs.live import live
from agui.runs.shutdown import calls as calls_at_work
from agui.runs.start import detached_context
from agui.tools.audit import Outcome, record_event, resolve_audit_logger
from agui.tools.call import FAILED, TIMED_OUT, build_toolset
from agui.tools.definitions import digest
from agui.tools.registry import ToolRegistry
from agui.tools.results import bounded
from agui.tools.timer import ToolCallTimer

logger = logging.getLogger("agui.mcp")

Tool = ToolsetTool[AgentDeps]

UNANSWERABLE = "The tool needs an answer of the user first, which can only be given in the chat."
UNKNOWN = "The user has no such tool."
DECLINED = "The user declined. Nothing was done."
LATER = "{} Try again in {} seconds."
STOPPED = "The server ended before the tool did."


class Unknown(Exception):
    """The user may call nothing by this name."""


class Refused(Exception):
    """The call has not begun, for a reason that the client is told."""


@dataclass(frozen=True)
class Ended:
    """How a call has ended, and what its client gets."""

    outcome: Outcome
    content: Any


@dataclass(kw_only=True)
class Context(RunContext[AgentDeps]):
    """The `ctx` of a tool over MCP."""

    progress: Progress | None = None

    async def emit(self, event: Any, /) -> Any:
        if self.progress:
            await self.progress.show(event)
        return event


@dataclass(frozen=True)
class Request:
    """What a client calls, and what it answers with the call."""

    caller: Caller
    name: str
    arguments: dict[str, Any]
    params: Any
    """Of a client of 2026, the answers and the state that came with the call."""
    progress: Progress | None = None


class Gate:
    """The functions of a registry, as MCP clients call them for an agent's users."""

    def __init__(self, endpoint: Endpoint, registry: ToolRegistry) -> None:
        self.endpoint = endpoint
        self.registry = registry

    @cached_property
    def toolset(self) -> FunctionToolset[AgentDeps]:
        return build_toolset(self.registry)

    async def tools(self, caller: Caller, context: Context | None = None) -> dict[str, Tool]:
        """Return the tools that a user may call by this client.

        A tool that waits for approval is among them if the client can ask for it. A form proves
        only that the client says yes, so a destructive one is not.
        """
        tools = await self.toolset.get_tools(context or self.context(caller.actor))
        return {name: tool for name, tool in tools.items() if self._is_open(tool, caller)}

    def _is_open(self, tool: Tool, caller: Caller) -> bool:
        if tool.tool_def.kind == "function":
            return True
        spec = self.registry.get(tool.tool_def.name).spec
        return tool.tool_def.kind == "unapproved" and caller.fills_forms and not spec.destructive

    async def call(self, request: Request) -> Ended | types.InputRequiredResult:
        """Call a function. Raises Unknown, Refused, and MCPError for a state that is not valid."""
        if request.name not in self.registry:
            raise Unknown(request.name)
        caller = request.caller
        try:
            await throttle(caller.request, caller.actor)
            await parts.check_run(caller.actor)
            # A call counts as a run, so it takes a thread that no other request knows.
            log, _ = await live.logs.reserve(caller.actor.scope, f"mcp-{uuid4()}", "mcp")
        except HttpError as refusal:
            sentence = str(refusal)
            seconds = refusal.headers.get("Retry-After")
            if seconds:
                sentence = LATER.format(refusal, seconds)
            raise Refused(sentence) from None
        task = asyncio.get_running_loop().create_task(
            self._run(request), context=detached_context()
        )
        calls_at_work.add(task)
        task.add_done_callback(calls_at_work.discard)
        task.add_done_callback(lambda _: live.logs.release(log, NotFound()))
        return await asyncio.shield(task)

    async def _run(self, request: Request) -> Ended | types.InputRequiredResult:
        context = self.context(request.caller.actor, request.name)
        context.progress = request.progress
        timer = ToolCallTimer(context.deps, via=request.caller.via)
        timer.add_schema(request.name, self.registry.get(request.name).input_schema)
        user_id = str(request.caller.actor.user.pk or "")
        with log_fields(run_id=context.deps.run_id, user_id=user_id):
            async with ThreadSensitiveContext():
                try:
                    ended = await self._attempt(request, context, timer)
                finally:
                    await release_connections()
            if isinstance(ended, Ended):
                await self._record(request, context, timer, ended)
            await self._record_usage(request.caller.actor, context)
        if isinstance(ended, Ended) and ended.content is UNKNOWN:
            raise Unknown(request.name)
        return ended

    async def _record(
        self, request: Request, context: Context, timer: ToolCallTimer, ended: Ended
    ) -> None:
        call_id = context.tool_call_id or ""
        returned = ToolReturnPart(
            request.name, ended.content, tool_call_id=call_id, outcome=ended.outcome
        )
        event = timer.stop(returned)
        if event:
            await record_event(resolve_audit_logger(self.endpoint.config.audit_logger), event)

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

    async def _attempt(
        self, request: Request, context: Context, timer: ToolCallTimer
    ) -> Ended | types.InputRequiredResult:
        """Call the tool, after its questions. Failures become what the client gets."""
        call_id = context.tool_call_id or ""
        part = ToolCallPart(request.name, request.arguments, tool_call_id=call_id)
        clock = asyncio.timeout(conf.get().run_timeout_seconds)
        timer.start(part)
        try:
            async with clock:
                return await self._ask_and_execute(request, context, timer, part)
        except (ToolFailed, ModelRetry) as error:
            timer.add_cause(call_id, error)
            return Ended("failed", error.message)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False, include_context=False)
            return Ended("failed", details)
        except forms.Cannot:
            return Ended("failed", UNANSWERABLE)
        except asyncio.CancelledError:
            # Only runs/shutdown.py cancels a call: clients that leave don't.
            return Ended("failed", STOPPED)
        except MCPError:
            raise
        except Exception as error:
            timer.add_cause(call_id, error)
            logger.exception("MCP call of tool %r failed", request.name)
            return Ended("failed", TIMED_OUT if clock.expired() else FAILED)

    async def _ask_and_execute(
        self, request: Request, context: Context, timer: ToolCallTimer, part: ToolCallPart
    ) -> Ended | types.InputRequiredResult:
        tool = (await self.tools(request.caller, context)).get(request.name)
        if tool is None:
            return Ended("denied", UNKNOWN)
        binding = self.registry.get(request.name)
        definition = digest(tool.tool_def)
        call = forms.Call(
            request.caller, request.name, request.arguments, definition, binding.input_schema
        )
        answer = await forms.answered(call, request.params)
        while True:
            if isinstance(answer, ClientQuestion):
                return forms.input_required(answer)
            if answer and answer.kind == forms.QUESTION:
                return _as_result(answer)
            if answer and not answer.accepted:
                return Ended("denied", DECLINED)
            if answer:
                context = replace(context, tool_call_approved=True)
                timer.start(part, approved_by=str(request.caller.actor.user.pk or ""))
            try:
                result = await self._execute(tool, request, context)
            except (ApprovalRequired, CallDeferred) as wish:
                if answer and isinstance(wish, ApprovalRequired):
                    raise forms.Cannot from wish
                question = await forms.ask(call, wish)
                if request.caller.stream is None:
                    return forms.input_required(question)
                answer = await forms.ask_on_stream(call, question)
                continue
            if isinstance(result, ToolDenied):
                return Ended("denied", result.message)
            return Ended("success", bounded(result))

    async def _execute(self, tool: Tool, request: Request, context: Context) -> Any:
        validated = tool.args_validator.validate_python(request.arguments)
        if tool.args_validator_func:
            checked = tool.args_validator_func(context, **validated)
            if isawaitable(checked):
                await checked
        result = await self.toolset.call_tool(request.name, validated, context, tool)
        if isinstance(result, ToolReturn):
            return result.return_value
        return result

    def context(self, actor: Actor, tool_name: str | None = None) -> Context:
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


def _as_result(answer: forms.Answer) -> Ended:
    if answer.accepted:
        return Ended("success", answer.value)
    return Ended("failed", DECLINED)
