"""Call a tool for a run: with the user's permission, in its time, and safe from its failures."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolDenied,
)
from pydantic_ai.exceptions import (
    RunCancelled,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError

from agui import conf
from agui.blocking.executor import tool_threads
from agui.deps import AgentDeps
from agui.errors import Forbidden, HttpError, RunFailed, Unauthorized, refusal_of
from agui.tools.approval import (
    build_prepare,
    build_question,
    call_async,
    is_gated,
    is_permitted,
)
from agui.tools.registry import ToolBinding, ToolRegistry
from agui.tools.schema import ToolSpec
from agui.tools.search import DEFER_KEY
from agui.tools.toolset import Toolset

logger = logging.getLogger("agui.tools")

REGISTRY = "tools"
"""The id of the toolset that has a registry's tools."""

# What a model and a client learn about a failure. The log has the rest.
FAILED = "The tool failed. The failure was logged."
DENIED = "The user is not allowed to do this."
TIMED_OUT = (
    "The tool did not answer in time and may still be at work. Don't call it again: tell the user."
)
# A tool or a limit steers the run with these exceptions. They are not failures.
CONTROL_FLOW = (
    ModelRetry,
    ToolFailed,
    ApprovalRequired,
    CallDeferred,
    SkipToolExecution,
    RunCancelled,
    RunFailed,
    ToolFailedError,
    ToolRetryError,
    UsageLimitExceeded,
)


def build_toolset(registry: ToolRegistry, toolset_id: str = REGISTRY) -> FunctionToolset[AgentDeps]:
    """Build pydantic-ai's tools, once for all runs."""
    return Toolset([build_tool(binding) for binding in registry], id=toolset_id)


def build_tool(binding: ToolBinding) -> Tool[AgentDeps]:
    """Build pydantic-ai's tool, with all that the engine does around each call."""
    spec = binding.spec
    schema = binding.parsed.function_schema
    call = _guard(binding)
    metadata = dict(spec.metadata or {})
    for key, value in binding.input_schema.items():
        if key.startswith("x-"):
            metadata[key] = value
    if spec.defer_loading is False:
        metadata[DEFER_KEY] = False
    return Tool(
        call,
        name=spec.name,
        description=spec.description,
        function_schema=replace(
            schema,
            function=call,
            takes_ctx=True,
            is_async=True,
            positional_fields=[],
            var_positional_field=None,
        ),
        max_retries=spec.max_retries,
        strict=spec.strict,
        sequential=spec.sequential,
        # pydantic-ai makes a timeout a retry. A synchronous tool goes on in its thread, so a retry
        # would do its work twice: `_guard` has the clock of synchronous tools.
        timeout=_timeout_of(spec) if binding.is_async else None,
        defer_loading=bool(spec.defer_loading),
        requires_approval=is_gated(spec),
        prepare=build_prepare(spec),
        args_validator=_build_validator(spec, schema.json_schema),
        tool_kind=spec.tool_kind,
        include_return_schema=spec.include_return_schema,
        metadata=metadata,
    )


def _build_validator(spec: ToolSpec, parameters: dict[str, Any]) -> Callable[..., Any] | None:
    """Build the check of valid arguments: first by the author's validator, then by the user."""
    ask = build_question(spec, parameters) if is_gated(spec) else None
    author = spec.args_validator
    if author is None and ask is None:
        return None

    async def validate(ctx: RunContext[AgentDeps], /, **arguments: Any) -> None:
        try:
            if author:
                await call_async(author, ctx, **arguments)
            if ask:
                await ask(ctx, **arguments)
        except CONTROL_FLOW:
            raise
        except Exception as error:
            logger.exception(
                "Not calling tool %r in run %s: its args_validator= or confirm= failed",
                spec.name,
                ctx.run_id,
            )
            raise ToolFailed(FAILED) from error

    return validate


def _timeout_of(spec: ToolSpec) -> float | None:
    if spec.timeout is None:
        return conf.get().tool_timeout_seconds
    return spec.timeout


def _guard(binding: ToolBinding) -> Callable[..., Awaitable[Any]]:
    """Wrap the function so that a failure ends its call, not the run."""
    spec = binding.spec
    sync_timeout = None if binding.is_async else _timeout_of(spec)

    async def call(ctx: RunContext[AgentDeps], /, **arguments: Any) -> Any:
        if not await is_permitted(spec, getattr(ctx.deps, "user", None), afresh=True):
            return ToolDenied(DENIED)
        return await _call_safely(spec.name, sync_timeout, lambda: binding.run(arguments, ctx))

    return call


async def call_foreign(definition: ToolDefinition, call: Callable[[], Awaitable[Any]]) -> Any:
    """Call a tool of a toolset as one of the registry: its failure ends its call, not the run.

    A synchronous function gets a thread of the tools' pool.
    """
    if definition.toolset_id == REGISTRY:
        return await call()
    # pydantic-ai has the clock of a tool with a timeout of its own.
    seconds = None if definition.timeout else conf.get().tool_timeout_seconds
    with Agent.using_thread_executor(await tool_threads()):
        return await _call_safely(definition.name, seconds, call)


async def _call_safely(name: str, seconds: float | None, call: Callable[[], Awaitable[Any]]) -> Any:
    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            result = await call()
        check_result(result)
    except CONTROL_FLOW:
        raise
    except Exception as error:
        refusal = refusal_of(error)
        if isinstance(refusal, Unauthorized | Forbidden):
            return ToolDenied(DENIED)
        if refusal is not None and refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ToolFailed(_words_of(refusal)) from error
        # The log's field run_id names the run.
        if clock.expired():
            logger.exception("Tool %r timed out after %s s", name, seconds)
            raise ToolFailed(TIMED_OUT) from error
        logger.exception("Tool %r failed", name)
        raise ToolFailed(FAILED) from error
    return result


def _words_of(refusal: HttpError) -> str:
    """Return what a model learns: it may find other arguments."""
    detail = refusal.extra.get("detail")
    return json.dumps(detail, ensure_ascii=False) if detail else str(refusal)


_any_json: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(ser_json_bytes="base64"))


def check_result(result: Any) -> None:
    """Refuse a result without a JSON form, like a queryset: sending it would end the run."""
    if isinstance(result, ToolReturn):
        result = result.return_value
    if result is None or isinstance(result, str | int | float | ToolDenied):
        return
    cure = (
        f"The result is a {type(result).__name__}, which has no JSON form: "
        "return lists, dicts and strings."
    )
    # Dumping an iterator would exhaust it.
    if isinstance(result, Iterator):
        raise TypeError(cure)
    try:
        _any_json.dump_json(result)
    except PydanticSerializationError as error:
        raise TypeError(cure) from error
