"""Long calls as tasks: a client that supports them gets a handle, and asks for the result later.

This is the extension io.modelcontextprotocol/tasks of MCP, for a client that declares it with the
request. A call passes the gate as any other does. If it is not done after TASK_AFTER_SECONDS, or
waits on our page, the client gets a handle. The call goes on in this process, and a keeper stores
its result, so that any process can tell it.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from mcp import MCPError, types
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field, ValidationError

from agui import conf
from agui.blocking.executor import in_database, release_connections
from agui.contrib.mcp import approvals, forms, status, task_rows
from agui.contrib.mcp.call import (
    Cancellation,
    Decision,
    Ended,
    Refused,
    Reply,
    Request,
    Unknown,
    Waiting,
)
from agui.contrib.mcp.caller import TASKS, Caller
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.gate import CANCELLED, DECLINED, Gate
from agui.contrib.mcp.links import link_mode
from agui.contrib.mcp.models import ClientQuestion, ClientTask
from agui.contrib.mcp.sealing import Unreadable
from agui.contrib.mcp.task_rows import State
from agui.contrib.mcp.task_states import LOST, Told, handle_of, state_of, stored
from agui.runs.start import detached_context

logger = logging.getLogger("agui.mcp")

POLL_SECONDS = 1.0
"""How often a keeper looks whether its client has cancelled the task, in whatever process."""
UNKNOWN = "There is no such task, or it is kept no longer."
NOT_DECLARED = "The client has not declared that it supports tasks."
OTHER_NAME = "The Mcp-Name header is not the id of the task."
TOO_LARGE = "The tool has a question, and the call is too large to be kept until its answer."

keepers: set[asyncio.Task[None]] = set()

ResultOf = Callable[[Request, Reply], types.CallToolResult | types.InputRequiredResult]
"""Converts the reply to a call to what its client gets."""


class TaskParams(types.RequestParams):
    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


class Tasks:
    """The tasks of a gate: how they begin, and what their clients ask about them."""

    def __init__(self, gate: Gate, result_of: ResultOf) -> None:
        self.gate = gate
        self._result_of = result_of

    async def call(self, request: Request) -> Any:
        """Call a tool, and return its result, a question or a handle. Raises as the gate does."""
        work = await self.gate.begin(request)
        done, _ = await asyncio.wait([work], timeout=conf.part(McpSettings).task_after_seconds)
        if not done:
            task = await in_database(task_rows.open_task, request)
            if task:
                self._keep(task, request, work)
                return handle_of(task)
        reply = await asyncio.shield(work)
        if isinstance(reply, Waiting):
            task = await in_database(task_rows.open_task, request, reply.question)
            if task:
                return handle_of(task)
        return self._result_of(request, reply)

    # --- What clients ask

    async def get(self, caller: Caller, ctx: Any, params: TaskParams) -> Told:
        caller, task = await self._find(caller, ctx, params)
        return await state_of(task, caller)

    async def update(self, caller: Caller, ctx: Any, params: UpdateParams) -> types.EmptyResult:
        """Answer the question of a task. Anything else that a client sends is ignored."""
        caller, task = await self._find(caller, ctx, params)
        question = _form_of(task)
        given = params.input_responses.get(str(question.pk)) if question else None
        if question and given is not None:
            try:
                answer = types.ElicitResult.model_validate(given, by_name=False)
            except ValidationError:
                return types.EmptyResult()
            links = link_mode(caller, ctx.session)
            request = Request(caller, task.tool_name, {}, links=links)
            await self._resume(task, question, answer, request)
        return types.EmptyResult()

    async def cancel(self, caller: Caller, ctx: Any, params: TaskParams) -> types.EmptyResult:
        """Cancel a task as far as that is possible. A tool in a thread ends by itself."""
        caller, task = await self._find(caller, ctx, params)
        question = task.question
        form = _form_of(task)
        if task.state == State.WAITING and question and question.arguments:
            await self._withdraw(task, question, caller)
        elif form:
            cancellation = Cancellation()
            cancellation.request()
            request = Request(caller, task.tool_name, {}, cancellation=cancellation)
            await self._resume(task, form, types.ElicitResult(action="cancel"), request)
        else:
            await in_database(task_rows.ask_to_cancel, task)
        return types.EmptyResult()

    async def _find(
        self, caller: Caller, ctx: Any, params: TaskParams
    ) -> tuple[Caller, ClientTask]:
        """Find a task of this client, whose tool the user may still call. Raises MCPError."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
        caller = caller.declaring(ctx.session)
        if not caller.takes_tasks:
            needed: Any = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, NOT_DECLARED, needed)
        if decode_header_value(caller.request.headers.get(MCP_NAME_HEADER)) != params.task_id:
            raise MCPError(types.HEADER_MISMATCH, OTHER_NAME)
        task = await in_database(task_rows.find, params.task_id, caller)
        if task is None or not await self.gate.may_know(task.tool_name, caller):
            raise MCPError(types.INVALID_PARAMS, UNKNOWN)
        return caller, task

    async def _withdraw(self, task: ClientTask, question: ClientQuestion, caller: Caller) -> None:
        """Deny a call that waits on our page, unless it was decided meanwhile."""
        try:
            arguments = approvals.arguments_of(question)
            decision = Decision(question, approved=False, is_withdrawn=True)
            await self.gate.call(Request(caller, task.tool_name, arguments, decision=decision))
        except (Refused, Unreadable):
            return
        await in_database(task_rows.close_withdrawn, task)

    # --- Work in this process

    async def _resume(
        self,
        task: ClientTask,
        question: ClientQuestion,
        answer: types.ElicitResult,
        request: Request,
    ) -> None:
        """Make the call of a task again, with the answer to its question."""
        try:
            arguments = task_rows.arguments_of(task)
        except Unreadable:
            return
        params = types.CallToolRequestParams(
            name=request.name,
            arguments=arguments,
            input_responses={question.kind: answer},
            request_state=str(question.pk),
        )
        request = replace(request, arguments=arguments, params=params)
        if not await in_database(task_rows.resume, task):
            return
        try:
            work = await self.gate.begin(request)
        except Refused as refusal:
            await in_database(task_rows.wait_again, task)
            raise MCPError(types.INTERNAL_ERROR, str(refusal)) from None
        self._keep(task, request, work)

    def _keep(self, task: ClientTask, request: Request, work: asyncio.Task[Reply]) -> None:
        keeping = self._store_result(task, request, work)
        keeper = asyncio.get_running_loop().create_task(keeping, context=detached_context())
        keepers.add(keeper)
        keeper.add_done_callback(keepers.discard)

    async def _store_result(
        self, task: ClientTask, request: Request, work: asyncio.Task[Reply]
    ) -> None:
        async with ThreadSensitiveContext():
            try:
                await _wait_until_done(task, request, work)
                await self._store(task, request, work)
            except Exception:
                logger.exception("Keeping the result of MCP task %s failed", task.pk)
            finally:
                await release_connections()

    async def _store(self, task: ClientTask, request: Request, work: asyncio.Task[Reply]) -> None:
        try:
            reply = work.result()
        except (Exception, asyncio.CancelledError) as error:
            await in_database(task_rows.settle, task, State.FAILED, _error_of(error))
            return
        if isinstance(reply, Waiting):
            await in_database(task_rows.wait_for, task, reply.question.pk)
        elif isinstance(reply, types.InputRequiredResult):
            await _store_question(task, request, reply)
        elif _is_cancelled(request, reply):
            await in_database(task_rows.settle, task, State.CANCELLED)
        else:
            result = stored(self._result_of(request, reply))
            await in_database(task_rows.settle, task, State.DONE, result)


async def finish() -> None:
    """Wait until the results of calls that have ended are stored."""
    if keepers:
        await asyncio.wait(keepers)


def _form_of(task: ClientTask) -> ClientQuestion | None:
    """Return the question that a task asks its client, if it does."""
    question = task.question
    if task.state != State.WAITING or question is None or question.arguments:
        return None
    return None if forms.is_late(question) else question


async def _wait_until_done(task: ClientTask, request: Request, work: asyncio.Task[Reply]) -> None:
    while True:
        await release_connections()
        done, _ = await asyncio.wait([work], timeout=POLL_SECONDS)
        if done:
            return
        try:
            if await in_database(task_rows.should_be_cancelled, task):
                request.cancellation.request()
        except Exception as error:
            # The result has to be kept all the same.
            logger.warning("Looking whether MCP task %s is cancelled failed: %r", task.pk, error)


async def _store_question(
    task: ClientTask, request: Request, reply: types.InputRequiredResult
) -> None:
    """Keep what a call asks that has worked for a while: its answer repeats the call."""
    arguments = request.arguments
    if len(json.dumps(arguments)) > approvals.MAX_ARGUMENT_BYTES:
        result = stored(status.said(TOO_LARGE, is_error=True))
        await in_database(task_rows.settle, task, State.DONE, result)
    else:
        await in_database(task_rows.wait_for, task, reply.request_state, arguments)


def _is_cancelled(request: Request, reply: Reply) -> bool:
    if not request.cancellation.is_requested or not isinstance(reply, Ended):
        return False
    return reply.outcome != "success" and reply.content in (CANCELLED, DECLINED)


def _error_of(error: BaseException) -> dict[str, Any]:
    if isinstance(error, Unknown):
        error = error.as_error()
    if isinstance(error, MCPError):
        return {"code": error.error.code, "message": error.error.message}
    logger.error("An MCP task failed", exc_info=error)
    return {"code": types.INTERNAL_ERROR, "message": LOST}
