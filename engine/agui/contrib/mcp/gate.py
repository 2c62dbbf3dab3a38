"""The gate of all that MCP clients call: permission, approval, limits, audit, budgets.

Tools pass it, and the functions that read resources. A call acts as in the chat, and goes on after
its client has left. So does a call that the user has approved on our page.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from inspect import isawaitable
from typing import Any
from uuid import uuid4

from asgiref.sync import ThreadSensitiveContext
from mcp import MCPError
from pydantic import ValidationError
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, ToolDenied
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_ai.usage import RunUsage

from agui import conf, parts
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.blocking.executor import release_connections
from agui.contrib.mcp import asking, decided, forms
from agui.contrib.mcp.call import (
    UNANSWERABLE,
    Call,
    Context,
    Decision,
    Ended,
    Refused,
    Reply,
    Request,
    Unknown,
)
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.describe import output_schema
from agui.contrib.mcp.recording import record_call, record_usage
from agui.deps import AgentDeps
from agui.errors import HttpError, NotFound
from agui.http.throttle import throttle
from agui.log_fields import log_fields
from agui.runs.live import live
from agui.runs.shutdown import calls as calls_at_work
from agui.runs.start import detached_context
from agui.tools.call import FAILED, TIMED_OUT, build_toolset
from agui.tools.definitions import digest
from agui.tools.registry import ToolRegistry
from agui.tools.results import bounded
from agui.tools.timer import ToolCallTimer

logger = logging.getLogger("agui.mcp")

Tool = ToolsetTool[AgentDeps]

UNKNOWN = "The user has no such tool."
DECLINED = "The user declined. Nothing was done."
LATER = "{} Try again in {} seconds."
STOPPED = "The server ended before the tool did."
CANCELLED = "The client cancelled this while it was at work. It may have been done in part."


class Gate:
    """The functions of a registry, as MCP clients call them for an agent's users."""

    def __init__(
        self,
        endpoint: Endpoint,
        registry: ToolRegistry,
        *,
        can_ask: bool = True,
        toolset: AbstractToolset[AgentDeps] | None = None,
    ) -> None:
        """`can_ask` lets the functions ask the user. A `toolset` calls tools that are elsewhere."""
        if toolset:
            self.toolset = toolset
        self.endpoint = endpoint
        self.registry = registry
        self._can_ask = can_ask

    @cached_property
    def toolset(self) -> AbstractToolset[AgentDeps]:
        return build_toolset(self.registry)

    async def tools(self, caller: Caller, context: Context | None = None) -> dict[str, Tool]:
        """Return the tools that a user may call, or have called after an approval."""
        tools = await self.toolset.get_tools(context or self.context(caller.actor))
        return {name: tool for name, tool in tools.items() if self._is_open(tool, caller)}

    async def may_know(self, name: str, caller: Caller) -> bool:
        """Whether a client may still be told what a call of a tool has returned."""
        return name in await self.tools(caller) and caller.may_use(self.registry.get(name))

    def _is_open(self, tool: Tool, caller: Caller) -> bool:
        if tool.tool_def.kind == "function":
            return True
        spec = self.registry.get(tool.tool_def.name).spec
        return tool.tool_def.kind == "unapproved" and asking.can_approve(caller, spec.destructive)

    async def call(self, request: Request) -> Reply:
        """Call a function. Raises Unknown, Refused, and MCPError for a state that is not valid."""
        return await asyncio.shield(await self.begin(request))

    async def begin(self, request: Request) -> asyncio.Task[Reply]:
        """Begin a call. Raises Unknown and Refused."""
        if request.name not in self.registry:
            raise Unknown(request.name)
        release = await self._admit(request)
        task = asyncio.get_running_loop().create_task(
            self._run(request), context=detached_context()
        )
        calls_at_work.add(task)
        task.add_done_callback(calls_at_work.discard)
        task.add_done_callback(release)
        return task

    async def _admit(self, request: Request) -> Callable[[Any], None]:
        """Check the limits, and return what releases the call's place. Raises Refused."""
        caller = request.caller
        if request.decision and not request.decision.approved:
            return lambda _: None
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
        return lambda _: live.logs.release(log, NotFound())

    async def _run(self, request: Request) -> Reply:
        context = self.context(request.caller.actor, request.name)
        context.progress = request.progress
        timer = ToolCallTimer(context.deps, via=request.caller.via)
        timer.add_schema(request.name, self.registry.get(request.name).input_schema)
        user_id = str(request.caller.actor.user.pk or "")
        with log_fields(run_id=context.deps.run_id, user_id=user_id):
            if request.decision:
                await decided.begin(request.decision)
            async with ThreadSensitiveContext():
                try:
                    ended = await self._attempt(request, context, timer)
                finally:
                    await release_connections()
            if isinstance(ended, Ended):
                if request.decision:
                    schema = output_schema(self.registry.get(request.name))
                    await decided.keep(request.decision.question, ended, schema)
                await record_call(self.endpoint, request, context, timer, ended)
            await record_usage(request.caller.actor, context)
        if isinstance(ended, Ended) and ended.content is UNKNOWN:
            raise Unknown(request.name)
        return ended

    async def _attempt(self, request: Request, context: Context, timer: ToolCallTimer) -> Reply:
        """Call the tool, after its questions. Failures become what the client gets."""
        call_id = context.tool_call_id or ""
        part = ToolCallPart(request.name, request.arguments, tool_call_id=call_id)
        clock = asyncio.timeout(conf.get().run_timeout_seconds)
        timer.start(part)
        try:
            with request.cancellation.possible():
                async with clock:
                    return await self._ask_and_execute(request, context, timer, part)
        except (ToolFailed, ModelRetry) as error:
            timer.add_cause(call_id, error)
            return Ended("failed", error.message)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False, include_context=False)
            return Ended("failed", details)
        except asyncio.CancelledError:
            # runs/shutdown.py or tasks/cancel: a client that only leaves cancels nothing.
            return Ended("failed", CANCELLED if request.cancellation.is_requested else STOPPED)
        except MCPError:
            raise
        except Exception as error:
            timer.add_cause(call_id, error)
            logger.exception("MCP call of tool %r failed", request.name)
            return Ended("failed", TIMED_OUT if clock.expired() else FAILED)

    async def _ask_and_execute(
        self, request: Request, context: Context, timer: ToolCallTimer, part: ToolCallPart
    ) -> Reply:
        tool = (await self.tools(request.caller, context)).get(request.name)
        if request.decision:
            return await self._execute_decided(request.decision, tool, request, context, timer)
        if tool is None:
            return Ended("denied", UNKNOWN)
        call = self._call_of(tool, request)
        answer = await asking.read_answer(call, request)
        while True:
            if isinstance(answer, forms.Answer):
                if answer.kind == forms.QUESTION:
                    return _as_result(answer)
                if not answer.accepted:
                    return Ended("denied", DECLINED)
                context = replace(context, tool_call_approved=True)
                timer.start(part, approved_by=str(request.caller.actor.user.pk or ""))
            elif answer:
                return answer
            try:
                return await self._execute(tool, request, context)
            except (ApprovalRequired, CallDeferred) as wish:
                if not self._can_ask or (answer and isinstance(wish, ApprovalRequired)):
                    return Ended("failed", UNANSWERABLE)
                answer = await asking.ask(call, wish, request, tool.tool_def)

    async def _execute_decided(
        self,
        decision: Decision,
        tool: Tool | None,
        request: Request,
        context: Context,
        timer: ToolCallTimer,
    ) -> Reply:
        """Execute what the user has approved on our page, with the rights that they have now."""
        question, edited = decision.question, decision.edited
        part = ToolCallPart(
            request.name, request.arguments, tool_call_id=context.tool_call_id or ""
        )
        refusal = await decided.refusal_of(decision, request.caller.actor)
        if refusal:
            return refusal
        if tool is None:
            return Ended("denied", decided.NOT_ALLOWED)
        if edited is not None:
            request = replace(request, arguments=edited)
        call = self._call_of(tool, request)
        if call.definition != question.form["definition"]:
            return Ended("failed", decided.CHANGED)
        # A question that was made from other arguments was not answered.
        approved = edited is None or not question.form["own_words"]
        timer.start(part, edited=edited, approved_by=str(request.caller.actor.user.pk))
        try:
            return await self._execute(tool, request, replace(context, tool_call_approved=approved))
        except ApprovalRequired as wish:
            if approved:
                return Ended("failed", UNANSWERABLE)
            return await decided.ask_again(question, call, wish, tool.tool_def)
        except CallDeferred:
            return Ended("failed", UNANSWERABLE)

    def _call_of(self, tool: Tool, request: Request) -> Call:
        binding = self.registry.get(request.name)
        may_wait = asking.may_wait(request.caller, tool.tool_def, binding.spec.destructive)
        return Call(
            request.caller,
            request.name,
            request.arguments,
            digest(tool.tool_def),
            binding.input_schema,
            returns_object=output_schema(binding) is not None and not may_wait,
        )

    async def _execute(self, tool: Tool, request: Request, context: Context) -> Ended:
        validated = tool.args_validator.validate_python(request.arguments)
        if tool.args_validator_func:
            checked = tool.args_validator_func(context, **validated)
            if isawaitable(checked):
                await checked
        result = await self.toolset.call_tool(request.name, validated, context, tool)
        if isinstance(result, ToolReturn):
            result = result.return_value
        if isinstance(result, ToolDenied):
            return Ended("denied", result.message)
        card = context.cards[-1] if context.cards else None
        return Ended("success", bounded(result), card)

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
