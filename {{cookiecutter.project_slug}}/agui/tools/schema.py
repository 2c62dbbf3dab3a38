"""What a tool is, and how its function becomes the JSON Schema that the model and the client see."""

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict

from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_ai import Tool
from pydantic_ai.exceptions import UserError
from pydantic_ai.tools import DocstringFormat, GenerateToolJsonSchema

X_DESTRUCTIVE_KEY = "x-destructive"
X_CATEGORY_KEY = "x-category"
X_CONFIRM_KEY = "x-confirm"
X_SUMMARY_KEY = "x-summary"
# In a tool's metadata: what people read in the place of the model's description.
X_DESCRIPTION_KEY = "x-description"
# With an approval that waits: the schema of the arguments, to edit them by.
PARAMETERS_KEY = "x-parameters"


class ToolCategory(StrEnum):
    """What a tool touches: advice for a client, nothing is enforced by it."""

    SHELL = "shell"
    INTROSPECT = "introspect"
    NAV = "nav"
    UI_READ = "ui_read"
    UI_WRITE = "ui_write"
    UI_GENERIC = "ui_generic"
    OTHER = "other"


class ToolOptions(TypedDict, total=False):
    """What `@tool` and `ToolRegistry.add` take: the fields of ToolSpec, which explains them, and `retries`."""

    destructive: bool
    category: ToolCategory
    confirm: str | None
    summary: str | None
    permission: str | None
    requires_approval: bool
    sequential: bool
    strict: bool | None
    timeout: float | None
    max_retries: int | None
    retries: int | None
    defer_loading: bool | None
    prepare: Callable[..., Any] | None
    args_validator: Callable[..., Any] | None
    metadata: dict[str, Any] | None
    tool_kind: Any
    include_return_schema: bool | None
    takes_ctx: bool | None
    docstring_format: DocstringFormat
    require_parameter_descriptions: bool
    schema_generator: type[GenerateJsonSchema]
    function_schema: Any


@dataclass(frozen=True)
class ToolSpec:
    """A tool as its author declared it. From `requires_approval` on, the fields are those of pydantic-ai's Tool."""

    name: str
    fn: Callable[..., Any]
    description: str
    destructive: bool = False  # Waits for the user's approval
    category: ToolCategory = ToolCategory.OTHER
    confirm: str | None = None  # The question that the approval asks
    summary: str | None = None  # A label for people; by default the prettified name
    permission: str | None = None  # "app.codename": who lacks it neither sees nor runs the tool
    requires_approval: bool = False  # Waits for approval without being called destructive
    sequential: bool = False  # Runs alone: calls beside it wait
    strict: bool | None = None
    timeout: float | None = None  # Seconds
    # How often the model may correct a call; None is the agent's default
    max_retries: int | None = None
    # Whether the model has to search for it; None is if there are many tools
    defer_loading: bool | None = None
    # Before each request to the model: (ctx, definition) -> the definition, changed or not, or None
    # to hide the tool
    prepare: Callable[..., Any] | None = None
    # Looks at valid arguments, before the user is asked
    args_validator: Callable[..., Any] | None = None
    # For code of yours that looks at tools; the model never sees it
    metadata: dict[str, Any] | None = None
    tool_kind: Any = None
    include_return_schema: bool | None = None  # Whether the model is told what the tool returns
    # Whether the first parameter is the run's context; None finds out
    takes_ctx: bool | None = None
    docstring_format: DocstringFormat = "auto"
    require_parameter_descriptions: bool = False
    schema_generator: type[GenerateJsonSchema] = GenerateToolJsonSchema
    function_schema: Any = None  # Instead of what the function's signature says

    @property
    def label(self) -> str:
        """What people read."""
        return self.summary or prettify(self.name)


def prettify(name: str) -> str:
    """Make a label of a tool's name: "delete_finished_tasks" is "Delete finished tasks"."""
    words = re.sub(r"[_-]+", " ", name).strip() or name
    return words[:1].upper() + words[1:]


def check_spec(spec: ToolSpec) -> None:
    name = spec.name
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise ValueError(
            f"Tool {name!r}: a name has 1 to 64 letters, digits, _ or -: pass another as name=."
        )
    if not spec.description.strip():
        raise ValueError(
            f"Tool {name!r} has no docstring: the model reads it to choose the tool. Write one."
        )
    if spec.category not in tuple(ToolCategory):
        raise ValueError(
            f"Tool {name!r} has category={spec.category!r}: use one of {', '.join(ToolCategory)}."
        )
    if spec.max_retries is not None and spec.max_retries < 1:
        raise ValueError(
            f"Tool {name!r} has max_retries={spec.max_retries}: one wrong argument would end the run. Use 1 or more."
        )
    if spec.timeout is not None and spec.timeout <= 0:
        raise ValueError(
            f"Tool {name!r} has timeout={spec.timeout}: give seconds above 0, or leave it out."
        )
    if spec.prepare is not None and not callable(spec.prepare):
        raise ValueError(
            f"Tool {name!r} has prepare={spec.prepare!r}: give a function of (ctx, definition)."
        )
    if spec.args_validator is not None and not callable(spec.args_validator):
        raise ValueError(
            f"Tool {name!r} has args_validator={spec.args_validator!r}: give a function of ctx and the parameters."
        )
    if spec.metadata is not None and not isinstance(spec.metadata, dict):
        raise ValueError(f"Tool {name!r} has metadata={spec.metadata!r}: give a dict.")
    if spec.permission is not None and not re.fullmatch(r"\w+\.\w+", spec.permission):
        raise ValueError(
            f"Tool {name!r} has permission={spec.permission!r}: write it as 'app_label.codename'."
        )


def build_input_schema(
    fn: Callable[..., Any],
    *,
    destructive: bool = False,
    category: ToolCategory = ToolCategory.OTHER,
    confirm: str | None = None,
    summary: str | None = None,
) -> dict[str, Any]:
    """Derive the JSON Schema of a function's parameters, with the x-* keys at its root."""
    schema = parse(ToolSpec(fn.__name__, fn, "")).function_schema.json_schema
    return {**schema, **x_keys(destructive, category, confirm, summary)}


def x_keys(
    destructive: bool, category: ToolCategory, confirm: str | None, summary: str | None
) -> dict[str, Any]:
    """The x-* keys, without those that say nothing."""
    keys = {
        X_DESTRUCTIVE_KEY: destructive or None,
        X_CATEGORY_KEY: str(category),
        X_CONFIRM_KEY: confirm,
        X_SUMMARY_KEY: summary,
    }
    return {key: value for key, value in keys.items() if value is not None}


def check_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Name options as ToolSpec does. Raises TypeError for one that it does not have, with the cure."""
    named = dict(options)
    if "retries" in named:
        if "max_retries" in named:
            raise TypeError(
                f"Tool {name!r} has retries= and max_retries=, which are the same: leave one out."
            )
        named["max_retries"] = named.pop("retries")
    known = sorted(ToolOptions.__annotations__)
    for option in named:
        if option not in known:
            raise TypeError(
                f"Tool {name!r}: there is no option {option!r}. Use one of {', '.join(known)}. What only pydantic-ai "
                f"knows goes into AgentConfig(toolsets=[FunctionToolset([Tool(..., {option}=...)])])."
            )
    return named


def options_of(tool: Tool[Any]) -> dict[str, Any]:
    """Read the options of a pydantic-ai Tool, whose function was read when it was made."""
    names = set(ToolOptions.__annotations__) & vars(tool).keys()
    return {name: getattr(tool, name) for name in names} | {
        "defer_loading": tool.defer_loading or None
    }


def parse(spec: ToolSpec) -> Tool[Any]:
    """Let pydantic-ai read the function, so that our schema is the one that the model is shown.

    Raises TypeError for what the model could not call, with the cure.
    """
    fn, name = spec.fn, spec.name
    if spec.function_schema is not None:
        return Tool(fn, name=name, function_schema=spec.function_schema)
    _check_signature(fn, name, spec.takes_ctx)
    try:
        with warnings.catch_warnings():
            # A result without a JSON form would end the run later, for no visible reason.
            warnings.filterwarnings("error", message="Could not generate return schema")
            return Tool(
                fn,
                name=name,
                takes_ctx=spec.takes_ctx,
                docstring_format=spec.docstring_format,
                require_parameter_descriptions=spec.require_parameter_descriptions,
                schema_generator=spec.schema_generator,
            )
    except NameError as error:
        raise TypeError(
            f"Tool {name!r}: the type {error.name!r} can't be found. Import it at the top of the module, "
            "outside of TYPE_CHECKING: it is needed at run time."
        ) from error
    except UserWarning as error:
        raise TypeError(
            f"Tool {name!r} returns a type without a JSON form: return a str, a list, a dict, a dataclass "
            f"or a pydantic model. ({error})"
        ) from error
    except (PydanticUserError, UserError) as error:
        if spec.require_parameter_descriptions and "description" in str(error):
            raise TypeError(
                f"Tool {name!r}: describe each parameter in the docstring. ({error})"
            ) from error
        raise TypeError(
            f"Tool {name!r}: a parameter has no JSON form: use a str, a number, a list, a dict, an Enum, "
            f"a Literal, a dataclass or a pydantic model. ({str(error).splitlines()[0]})"
        ) from error


def _check_signature(fn: Callable[..., Any], name: str, takes_ctx: bool | None) -> None:
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise TypeError(f"Tool {name!r} yields: return the whole result, for example as a list.")
    for position, parameter in enumerate(inspect.signature(fn).parameters.values()):
        if takes_ctx and position == 0:
            continue  # The run's context, whatever its type is called
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"Tool {name!r} takes {str(parameter).split(':')[0]}: the model needs a name and a type "
                "for each parameter. Spell them out."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f"Tool {name!r}: parameter {parameter.name!r} is positional-only. Remove the /."
            )
        if parameter.annotation is parameter.empty:
            example = "RunContext[AgentDeps]" if parameter.name == "ctx" else "str"
            raise TypeError(
                f"Tool {name!r}: parameter {parameter.name!r} has no type: the model's schema is made of them. "
                f"Write `{parameter.name}: {example}`, or what it is."
            )
        if position and "RunContext" in str(parameter.annotation):
            raise TypeError(
                f"Tool {name!r}: parameter {parameter.name!r} is the run's context: put it first."
            )
        if getattr(parameter.annotation, "__name__", parameter.annotation) == "AgentDeps":
            raise TypeError(
                f"Tool {name!r}: the model would have to say what {parameter.name!r} is. "
                f"Write `{parameter.name}: RunContext[AgentDeps]` as the first one, and use `{parameter.name}.deps`."
            )
