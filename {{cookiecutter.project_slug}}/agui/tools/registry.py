"""What the agent can do: plain functions, registered with a decorator, and how a run calls them.

    registry = ToolRegistry()

    @tool(registry, destructive=True, confirm="Delete all finished tasks?")
    def delete_finished_tasks(ctx: RunContext[AgentDeps]) -> str:
        '''Delete the user's finished tasks.'''

Type hints are the schema, the docstring is the description; `ctx` is optional, and the model never
sees it. A registry knows no run: `build_toolset` turns it into what pydantic-ai calls.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from django.core.exceptions import PermissionDenied
from pydantic import ConfigDict, TypeAdapter
from pydantic_ai import ApprovalRequired, CallDeferred, FunctionToolset, ModelRetry, RunContext, Tool, ToolDenied
from pydantic_ai.exceptions import RunCancelled, SkipToolExecution, ToolFailed, UsageLimitExceeded
from pydantic_ai.messages import ToolReturn
from pydantic_core import PydanticSerializationError

from agui import conf
from agui.blocking.executor import run_in_thread
from agui.errors import RunFailed
from agui.tools.approval import (
    build_prepare,
    build_question,
    confirmation_metadata,
    confirmation_text,
    is_gated,
    is_permitted,
    needs_confirmation,
)
from agui.tools.schema import (
    PARAMETERS_KEY,
    X_CATEGORY_KEY,
    X_CONFIRM_KEY,
    X_DESTRUCTIVE_KEY,
    X_SUMMARY_KEY,
    ToolCategory,
    ToolOptions,
    ToolSpec,
    build_input_schema,
    check_options,
    check_spec,
    options_of,
    parse,
    x_keys,
)
from agui.tools.search import DEFER_KEY, check_reserved
from agui.tools.times import make_arguments_aware
from agui.tools.toolset import Toolset

if TYPE_CHECKING:
    from agui.agents.build import AgentDeps

__all__ = [
    "PARAMETERS_KEY",
    "X_CATEGORY_KEY",
    "X_CONFIRM_KEY",
    "X_DESTRUCTIVE_KEY",
    "X_SUMMARY_KEY",
    "ToolBinding",
    "ToolCategory",
    "ToolRegistry",
    "ToolSpec",
    "build_input_schema",
    "build_tool",
    "build_toolset",
    "confirmation_metadata",
    "confirmation_text",
    "is_permitted",
    "needs_confirmation",
    "run_in_thread",
    "tool",
]

logger = logging.getLogger("agui.tools")

# All that a model or a client learns about a failure: the log has the rest.
FAILED = "The tool failed. The failure was logged."
DENIED = "The user is not allowed to do this."
TIMED_OUT = "The tool did not answer in time and may still be at work. Don't call it again: tell the user."

# How a tool, or a limit, steers the run; not failures.
CONTROL_FLOW = (
    ModelRetry,
    ToolFailed,
    ApprovalRequired,
    CallDeferred,
    SkipToolExecution,
    RunCancelled,
    RunFailed,
    UsageLimitExceeded,
)

noting: ContextVar[Callable[[Callable[[], Any]], Any]] = ContextVar("noting", default=lambda call: call())
"""Calls a synchronous tool, in its thread: whoever notes what it has done does so together with it."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ToolBinding:
    """A registered tool and its JSON Schema, derived once."""

    spec: ToolSpec
    input_schema: dict[str, Any]
    parsed: Tool[Any] = field(repr=False, compare=False)

    @property
    def is_async(self) -> bool:
        return self.parsed.function_schema.is_async

    def prepare_call(self, arguments: dict[str, Any], ctx: Any) -> Callable[[], Any]:
        """Bind the function to arguments that came out of `validate`."""
        arguments = make_arguments_aware(self.spec.fn, arguments)
        if self.parsed.takes_ctx and ctx is None:
            raise TypeError(f"Tool {self.spec.name!r} takes a RunContext: pass it as ctx=.")
        schema, named = self.parsed.function_schema, dict(arguments)
        positional = [ctx] if self.parsed.takes_ctx else []
        positional += [named.pop(name) for name in schema.positional_fields]
        if schema.var_positional_field:
            positional += named.pop(schema.var_positional_field)
        return partial(self.spec.fn, *positional, **named)

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Turn JSON values into what the function expects. Raises pydantic's ValidationError."""
        validated: dict[str, Any] = self.parsed.function_schema.validator.validate_python(arguments)
        return validated

    async def run(self, arguments: dict[str, Any], ctx: Any) -> Any:
        """Call the function with validated arguments; a synchronous one in a thread."""
        call = self.prepare_call(arguments, ctx)
        result = call() if self.is_async else await run_in_thread(noting.get(), call)
        return await result if inspect.isawaitable(result) else result


class ToolRegistry:
    """An ordered collection of tools. What is wrong with one is said when it is registered."""

    def __init__(self, name: str = "tools") -> None:
        self.name = name
        self._bindings: dict[str, ToolBinding] = {}

    def register(self, spec: ToolSpec) -> ToolBinding:
        """Add a tool. Raises ValueError or TypeError, naming the cure."""
        check_spec(spec)
        check_reserved(spec, (binding.spec for binding in self))
        if spec.name in self._bindings:
            raise ValueError(f"Tool {spec.name!r} is registered twice in {self.name!r}: rename one, or pass name=.")
        parsed = parse(spec)
        extensions = x_keys(spec.destructive, spec.category, spec.confirm, spec.summary)
        schema = {**parsed.function_schema.json_schema, **extensions}
        binding = self._bindings[spec.name] = ToolBinding(spec, schema, parsed)
        return binding

    def add(
        self,
        fn: Callable[..., Any] | Tool[Any],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> ToolBinding:
        """Add a function as `@tool` does, or a Tool of pydantic-ai with its options."""
        given: dict[str, Any] = dict(options)
        if isinstance(fn, Tool):
            given = {**options_of(fn), **given}
            name, description, fn = name or fn.name, description or fn.description, fn.function
        name = name or getattr(fn, "__name__", None)
        if not callable(fn) or name is None:
            raise TypeError(f"{fn!r} is no tool: give a function or a Tool, and a name= if it has none.")
        docstring = (inspect.getdoc(fn) or "").strip().split("\n\n")[0]
        description = " ".join((description or docstring).split())
        return self.register(ToolSpec(name=name, fn=fn, description=description, **check_options(name, given)))

    def get(self, name: str) -> ToolBinding:
        """Find a tool. Raises KeyError."""
        try:
            return self._bindings[name]
        except KeyError:
            raise KeyError(f"There is no tool {name!r} in {self.name!r}.") from None

    def call(self, name: str, arguments: dict[str, Any], *, ctx: Any = None) -> Any:
        """Call a synchronous tool from code: validated, but asking nobody for permission or approval."""
        binding = self.get(name)
        if binding.is_async:
            raise TypeError(f"Tool {name!r} is a coroutine function: use `await registry.acall({name!r}, ...)`.")
        return binding.prepare_call(binding.validate(arguments), ctx)()

    async def acall(self, name: str, arguments: dict[str, Any], *, ctx: Any = None) -> Any:
        """Call a tool of either kind, otherwise as `call` does."""
        binding = self.get(name)
        return await binding.run(binding.validate(arguments), ctx)

    def __iter__(self) -> Iterator[ToolBinding]:
        return iter(self._bindings.values())

    def __len__(self) -> int:
        return len(self._bindings)

    def __contains__(self, name: object) -> bool:
        return name in self._bindings


def tool(
    registry: ToolRegistry,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[F], F]:
    """Register the decorated function, which stays as it is.

    The name is the function's, the description its docstring's first paragraph.
    """

    if not isinstance(registry, ToolRegistry):  # Else the function would silently be no tool
        raise TypeError("@tool lacks the registry that the tool belongs to: write @tool(registry).")

    def decorate(fn: F) -> F:
        registry.add(fn, name=name, description=description, **options)
        return fn

    return decorate


# --- How a run calls it


def build_toolset(registry: ToolRegistry, toolset_id: str = "tools") -> "FunctionToolset[AgentDeps]":
    """Build pydantic-ai's tools, once for all runs."""
    return Toolset([build_tool(binding) for binding in registry], id=toolset_id)


def build_tool(binding: ToolBinding) -> "Tool[AgentDeps]":
    """Build pydantic-ai's tool, with all that the engine does around each call."""
    spec, schema = binding.spec, binding.parsed.function_schema
    call = _guard(binding)
    return Tool(
        call,
        name=spec.name,
        description=spec.description,
        function_schema=replace(
            schema, function=call, takes_ctx=True, is_async=True, positional_fields=[], var_positional_field=None
        ),
        max_retries=spec.max_retries,
        strict=spec.strict,
        sequential=spec.sequential,
        # pydantic-ai makes a timeout a retry. A synchronous tool goes on in its thread, so a retry
        # would do its work twice: `_guard` has the clock of those.
        timeout=_timeout_of(spec) if binding.is_async else None,
        defer_loading=bool(spec.defer_loading),
        requires_approval=is_gated(spec),
        prepare=build_prepare(spec),
        args_validator=_build_validator(spec, schema.json_schema),
        tool_kind=spec.tool_kind,
        include_return_schema=spec.include_return_schema,
        metadata=(spec.metadata or {})
        | {key: value for key, value in binding.input_schema.items() if key.startswith("x-")}
        | ({DEFER_KEY: False} if spec.defer_loading is False else {}),
    )


def _build_validator(spec: ToolSpec, parameters: dict[str, Any]) -> Callable[..., Any] | None:
    """What looks at valid arguments before the tool runs: the author's validator, then the user."""
    ask = build_question(spec, parameters) if is_gated(spec) else None
    author = spec.args_validator
    if author is None:
        return ask

    async def validate(ctx: "RunContext[AgentDeps]", /, **arguments: Any) -> None:
        try:
            if inspect.iscoroutinefunction(author):
                await author(ctx, **arguments)
            else:
                await run_in_thread(partial(author, ctx, **arguments))  # It may ask the database
        except CONTROL_FLOW:
            raise
        except Exception as error:
            logger.exception("Tool %r is not called in run %s: its args_validator= failed.", spec.name, ctx.run_id)
            raise ToolFailed(FAILED) from error
        if ask:
            ask(ctx, **arguments)

    return validate


def _timeout_of(spec: ToolSpec) -> float | None:
    return conf.get().tool_timeout_seconds if spec.timeout is None else spec.timeout


def _guard(binding: ToolBinding) -> Callable[..., Awaitable[Any]]:
    """Wrap the function so that whatever happens in it ends its call, not the run."""
    spec = binding.spec
    sync_timeout = None if binding.is_async else _timeout_of(spec)

    async def call(ctx: "RunContext[AgentDeps]", /, **arguments: Any) -> Any:
        if not await is_permitted(spec, getattr(ctx.deps, "user", None), afresh=True):
            return ToolDenied(DENIED)
        clock = asyncio.timeout(sync_timeout)
        try:
            async with clock:
                result = await binding.run(arguments, ctx)
            check_result(result)
        except CONTROL_FLOW:
            raise
        except PermissionDenied:
            return ToolDenied(DENIED)
        except Exception as error:
            timed_out = clock.expired()
            # The log's field run_id says in which run.
            logger.exception("Tool %r %s.", spec.name, "timed out" if timed_out else "failed")
            raise ToolFailed(TIMED_OUT if timed_out else FAILED) from error
        return result

    return call


_any_json: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(ser_json_bytes="base64"))


def check_result(result: Any) -> None:
    """Refuse a result without a JSON form, like a queryset: sending it to the model would end the run."""
    if isinstance(result, ToolReturn):
        result = result.return_value
    if result is None or isinstance(result, str | int | float | ToolDenied):
        return
    cure = f"The result is a {type(result).__name__}, which has no JSON form: return lists, dicts and strings."
    if isinstance(result, Iterator):
        raise TypeError(cure)
    try:
        _any_json.dump_json(result)
    except PydanticSerializationError as error:
        raise TypeError(cure) from error
