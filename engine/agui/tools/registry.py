"""The registry of tools: plain functions, registered with a decorator, for a run to call.

    registry = ToolRegistry()

    @tool(registry, destructive=True, confirm="Delete all finished tasks?")
    def delete_finished_tasks(ctx: RunContext[AgentDeps]) -> str:
        '''Delete the user's finished tasks.'''

Type hints are the schema, the docstring is the description; `ctx` is optional, and the model never
sees it. A registry knows no run: `build_toolset` turns it into what pydantic-ai calls.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, Unpack

from pydantic_ai import Tool

from agui.blocking.executor import run_in_thread
from agui.tools.schema import (
    ToolOptions,
    ToolSpec,
    check_spec,
    parse,
    x_keys,
)
from agui.tools.search import check_reserved
from agui.tools.times import make_arguments_aware

call_wrapper: ContextVar[Callable[[Callable[[], Any]], Any]] = ContextVar(
    "call_wrapper", default=lambda call: call()
)
"""Calls a synchronous tool in its thread, and may record there what the tool has done."""

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
        positional = []
        if self.parsed.takes_ctx:
            if ctx is None:
                raise TypeError(f"Tool {self.spec.name!r} takes a RunContext: pass it as ctx=.")
            positional.append(ctx)
        named = dict(make_arguments_aware(self.spec.fn, arguments))
        schema = self.parsed.function_schema
        for name in schema.positional_fields:
            positional.append(named.pop(name))
        if schema.var_positional_field:
            positional += named.pop(schema.var_positional_field)
        return partial(self.spec.fn, *positional, **named)

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Turn JSON values into what the function expects. Raises pydantic's ValidationError."""
        validated: dict[str, Any] = self.parsed.function_schema.validator.validate_python(arguments)
        return validated

    async def run(self, arguments: dict[str, Any], ctx: Any) -> Any:
        """Call the function with validated arguments; a synchronous function in a thread."""
        call = self.prepare_call(arguments, ctx)
        if self.is_async:
            result = call()
        else:
            result = await run_in_thread(call_wrapper.get(), call)
        if inspect.isawaitable(result):
            return await result
        return result


class ToolRegistry:
    """An ordered collection of tools. A mistake in a tool is reported when it is registered."""

    def __init__(self, name: str = "tools") -> None:
        self.name = name
        self._bindings: dict[str, ToolBinding] = {}

    def register(self, spec: ToolSpec) -> ToolBinding:
        """Add a tool. Raises ValueError or TypeError, naming the cure."""
        check_spec(spec)
        check_reserved(spec, (binding.spec for binding in self))
        if spec.name in self._bindings:
            raise ValueError(
                f"Tool {spec.name!r} is registered twice in {self.name!r}: rename one, or pass "
                "name=."
            )
        parsed = parse(spec)
        schema = {**parsed.function_schema.json_schema, **x_keys(spec)}
        binding = ToolBinding(spec, schema, parsed)
        self._bindings[spec.name] = binding
        return binding

    def add(
        self,
        fn: Callable[..., Any] | Tool[Any],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> ToolBinding:
        """Add a function as `@tool` does, or a pydantic-ai Tool with its options."""
        given: dict[str, Any] = dict(options)
        if isinstance(fn, Tool):
            # Options that are given here win over those of the Tool.
            given = {**options_of(fn), **given}
            name = name or fn.name
            description = description or fn.description
            fn = fn.function
        name = name or getattr(fn, "__name__", None)
        if not callable(fn) or name is None:
            raise TypeError(
                f"{fn!r} is no tool: give a function or a Tool, and a name= if it has none."
            )
        if not description:
            description = (inspect.getdoc(fn) or "").strip().split("\n\n")[0]
        fields = check_options(name, given)
        fields["description"] = " ".join(description.split())
        return self.register(ToolSpec(name=name, fn=fn, **fields))

    def get(self, name: str) -> ToolBinding:
        """Find a tool. Raises KeyError."""
        try:
            return self._bindings[name]
        except KeyError:
            raise KeyError(f"There is no tool {name!r} in {self.name!r}.") from None

    def call(self, name: str, arguments: dict[str, Any], *, ctx: Any = None) -> Any:
        """Call a synchronous tool from code. Arguments are validated, permissions are not."""
        binding = self.get(name)
        if binding.is_async:
            raise TypeError(
                f"Tool {name!r} is a coroutine function: use `await registry.acall({name!r}, ...)`."
            )
        return binding.prepare_call(binding.validate(arguments), ctx)()

    async def acall(self, name: str, arguments: dict[str, Any], *, ctx: Any = None) -> Any:
        """Call any tool, otherwise as `call` does."""
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
    """Register the decorated function, and return it unchanged.

    The name is the function's, and the description is the first paragraph of its docstring.
    """
    # Without this check, `@tool` alone would silently register nothing.
    if not isinstance(registry, ToolRegistry):
        raise TypeError("@tool lacks the registry that the tool belongs to: write @tool(registry).")

    def decorate(fn: F) -> F:
        registry.add(fn, name=name, description=description, **options)
        return fn

    return decorate


def check_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Rename options to ToolSpec's fields. Raises TypeError for an unknown one, with the cure."""
    named = dict(options)
    if "retries" in named:
        if "max_retries" in named:
            raise TypeError(
                f"Tool {name!r} has retries= and max_retries=, which are the same: leave one out."
            )
        named["max_retries"] = named.pop("retries")
    for option in named:
        if option not in ToolOptions.__annotations__:
            options_text = ", ".join(sorted(ToolOptions.__annotations__))
            raise TypeError(
                f"Tool {name!r}: there is no option {option!r}. Use one of {options_text}. What "
                "only pydantic-ai knows goes into "
                f"AgentConfig(toolsets=[FunctionToolset([Tool(..., {option}=...)])])."
            )
    return named


def options_of(tool: Tool[Any]) -> dict[str, Any]:
    """Read the options of a pydantic-ai Tool."""
    names = set(ToolOptions.__annotations__) & vars(tool).keys()
    options = {name: getattr(tool, name) for name in names}
    options["defer_loading"] = tool.defer_loading or None
    return options
