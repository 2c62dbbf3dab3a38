"""The record of a tool, and the JSON Schema of its function for the model and the client."""

import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict

from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_ai import Tool
from pydantic_ai.exceptions import UserError
from pydantic_ai.tools import DocstringFormat, GenerateToolJsonSchema

X_DESTRUCTIVE_KEY = "x-destructive"
"""At the root of a tool's schema: true if the tool waits for the user's approval."""
X_CATEGORY_KEY = "x-category"
"""At the root of a tool's schema: a value of ToolCategory."""
X_CONFIRM_KEY = "x-confirm"
"""At the root of a tool's schema, or in ApprovalRequired: the question, a text or lines."""
X_SUMMARY_KEY = "x-summary"
"""At the root of a tool's schema: the label of the tool for people."""
# Which arguments the user may change before they approve: false, or the names of some.
X_EDITABLE_KEY = "x-editable"
# In a tool's metadata: a description for people, instead of the model's.
X_DESCRIPTION_KEY = "x-description"
# With an open approval: the schema of the arguments, so that the user can edit them.
PARAMETERS_KEY = "x-parameters"


class ToolCategory(StrEnum):
    """The kind of thing that a tool touches. This is advice for a client, and enforces nothing."""

    SHELL = "shell"
    INTROSPECT = "introspect"
    NAV = "nav"
    UI_READ = "ui_read"
    UI_WRITE = "ui_write"
    UI_GENERIC = "ui_generic"
    OTHER = "other"


class ToolOptions(TypedDict, total=False):
    """The options of `@tool` and `ToolRegistry.add`.

    ToolSpec explains them, except `retries`, which is another name of `max_retries`.
    """

    destructive: bool
    read_only: bool
    idempotent: bool
    open_world: bool
    category: ToolCategory
    confirm: str | Callable[..., Any] | None
    editable: bool | Sequence[str]
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
    """A tool as its author declared it.

    From `requires_approval` on, the fields are those of pydantic-ai's Tool.
    """

    name: str
    fn: Callable[..., Any]
    description: str
    destructive: bool = False
    """Each call needs the user's approval."""
    category: ToolCategory = ToolCategory.OTHER
    confirm: str | Callable[..., Any] | None = None
    """The question that the approval asks, or a function of ctx and the parameters that returns it.

    A question is one line of text; a list has more lines.
    """
    editable: bool | Sequence[str] = True
    """Whether the user may change the arguments before they approve, or the names of those."""
    summary: str | None = None
    """A label for people; by default the prettified name."""
    permission: str | None = None
    """A permission, "app.codename". Users without it neither see nor run the tool."""
    read_only: bool = False
    """The tool changes nothing. Like the next two, this tells clients, and enforces nothing."""
    idempotent: bool = False
    """A second call with the same arguments changes nothing more."""
    open_world: bool = False
    """The tool reaches beyond the project, as one that sends mail or searches the web."""
    requires_approval: bool = False
    """Each call needs the user's approval, though the tool is not destructive."""
    sequential: bool = False
    """The tool runs alone: other calls of the same answer wait."""
    strict: bool | None = None
    timeout: float | None = None
    """Seconds."""
    max_retries: int | None = None
    """The times that the model may correct a call; None is the agent's default."""
    defer_loading: bool | None = None
    """Whether the model has to search for the tool; None if there are many tools."""
    prepare: Callable[..., Any] | None = None
    """Returns the definition to use in a request: (ctx, definition). None hides the tool."""
    args_validator: Callable[..., Any] | None = None
    """Checks valid arguments, before the user is asked."""
    metadata: dict[str, Any] | None = None
    """Data for your own code. The model never sees them."""
    tool_kind: Any = None
    include_return_schema: bool | None = None
    """Whether the model is told what the tool returns."""
    takes_ctx: bool | None = None
    """Whether the first parameter is the run's context; None decides by its type."""
    docstring_format: DocstringFormat = "auto"
    require_parameter_descriptions: bool = False
    schema_generator: type[GenerateJsonSchema] = GenerateToolJsonSchema
    function_schema: Any = None
    """The schema to use instead of the function's signature."""

    @property
    def label(self) -> str:
        """The name for people."""
        return self.summary or prettify(self.name)


def prettify(name: str) -> str:
    """Turn a tool's name into a label: "delete_finished_tasks" is "Delete finished tasks"."""
    words = re.sub(r"[_-]+", " ", name).strip() or name
    return words[:1].upper() + words[1:]


def check_spec(spec: ToolSpec) -> None:
    """Refuse a tool that can't work. Raises ValueError, with the cure."""
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", spec.name):
        rule = "a name has 1 to 64 letters, digits, _ or -"
        raise ValueError(f"Tool {spec.name!r}: {rule}: pass another as name=.")
    mistake = _mistake_in(spec)
    if mistake:
        raise ValueError(f"Tool {spec.name!r} has {mistake}")


def _mistake_in(spec: ToolSpec) -> str | None:
    if not spec.description.strip():
        return "no docstring: the model reads it to choose the tool. Write one."
    if spec.destructive and spec.read_only:
        return "destructive=True and read_only=True: keep the one that is true."
    if spec.category not in tuple(ToolCategory):
        return f"category={spec.category!r}: use one of {', '.join(ToolCategory)}."
    if spec.max_retries is not None and spec.max_retries < 1:
        cure = "one wrong argument would end the run. Use 1 or more."
        return f"max_retries={spec.max_retries}: {cure}"
    if spec.timeout is not None and spec.timeout <= 0:
        return f"timeout={spec.timeout}: give seconds above 0, or leave it out."
    if spec.prepare is not None and not callable(spec.prepare):
        return f"prepare={spec.prepare!r}: give a function of (ctx, definition)."
    if spec.args_validator is not None and not callable(spec.args_validator):
        cure = "give a function of ctx and the parameters."
        return f"args_validator={spec.args_validator!r}: {cure}"
    if isinstance(spec.editable, str):
        return f"editable={spec.editable!r}: give a list of parameters, True or False."
    if spec.metadata is not None and not isinstance(spec.metadata, dict):
        return f"metadata={spec.metadata!r}: give a dict."
    if spec.permission is not None and not re.fullmatch(r"\w+\.\w+", spec.permission):
        return f"permission={spec.permission!r}: write it as 'app_label.codename'."
    return None


def build_input_schema(
    fn: Callable[..., Any],
    *,
    destructive: bool = False,
    category: ToolCategory = ToolCategory.OTHER,
    confirm: str | Callable[..., Any] | None = None,
    summary: str | None = None,
) -> dict[str, Any]:
    """Derive the JSON Schema of a function's parameters, with the x-* keys. Raises TypeError."""
    spec = ToolSpec(fn.__name__, fn, "", destructive, category, confirm, summary=summary)
    return {**parse(spec).function_schema.json_schema, **x_keys(spec)}


def x_keys(spec: ToolSpec) -> dict[str, Any]:
    """Build the x-* keys of a tool, without those that have no value."""
    keys: dict[str, Any] = {}
    if spec.destructive:
        keys[X_DESTRUCTIVE_KEY] = True
    keys[X_CATEGORY_KEY] = str(spec.category)
    if spec.confirm is not None and not callable(spec.confirm):
        keys[X_CONFIRM_KEY] = spec.confirm
    if spec.summary is not None:
        keys[X_SUMMARY_KEY] = spec.summary
    if spec.editable is not True:
        keys[X_EDITABLE_KEY] = list(spec.editable or ()) or False
    return keys


def parse(spec: ToolSpec) -> Tool[Any]:
    """Let pydantic-ai read the function, so that this schema is the one that the model sees.

    Raises TypeError for a function that the model could not call, with the cure.
    """
    fn = spec.fn
    name = spec.name
    if spec.function_schema is not None:
        return Tool(fn, name=name, function_schema=spec.function_schema)
    _check_signature(fn, name, spec.takes_ctx)
    try:
        with warnings.catch_warnings():
            # A result without a JSON form would end the run later, without a visible reason.
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
            f"Tool {name!r}: the type {error.name!r} can't be found. Import it at the top of the "
            "module, outside of TYPE_CHECKING: it is needed at run time."
        ) from error
    except UserWarning as error:
        # pydantic's own words name the cure. pydantic-ai's warning does not repeat them.
        reason = str(error.__context__ or error).splitlines()[0]
        raise TypeError(
            f"Tool {name!r} returns a type without a JSON form: return a str, a list, a dict, a "
            f"dataclass or a pydantic model. ({reason})"
        ) from error
    except (PydanticUserError, UserError) as error:
        if spec.require_parameter_descriptions and "description" in str(error):
            raise TypeError(
                f"Tool {name!r}: describe each parameter in the docstring. ({error})"
            ) from error
        reason = str(error).splitlines()[0]
        raise TypeError(
            f"Tool {name!r}: a parameter has no JSON form: use a str, a number, a list, a dict, an "
            f"Enum, a Literal, a dataclass or a pydantic model. ({reason})"
        ) from error


def _check_signature(fn: Callable[..., Any], name: str, takes_ctx: bool | None) -> None:
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise TypeError(f"Tool {name!r} yields: return the whole result, for example as a list.")
    parameters = list(inspect.signature(fn).parameters.values())
    if takes_ctx:
        # The first parameter is the run's context, whatever its type is called.
        del parameters[:1]
    is_first = not takes_ctx
    for parameter in parameters:
        _check_parameter(parameter, name, is_first)
        is_first = False


def _check_parameter(parameter: inspect.Parameter, name: str, is_first: bool) -> None:
    """Refuse a parameter that the model can't fill. `name` is the tool's."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        spelling = str(parameter).split(":")[0]
        raise TypeError(
            f"Tool {name!r} takes {spelling}: the model needs a name and a type for each "
            "parameter. Spell them out."
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise TypeError(
            f"Tool {name!r}: parameter {parameter.name!r} is positional-only. Remove the /."
        )
    if parameter.annotation is parameter.empty:
        example = "RunContext[AgentDeps]" if parameter.name == "ctx" else "str"
        raise TypeError(
            f"Tool {name!r}: parameter {parameter.name!r} has no type: the model's schema is made "
            f"of them. Write `{parameter.name}: {example}`, or what it is."
        )
    if not is_first and "RunContext" in str(parameter.annotation):
        raise TypeError(
            f"Tool {name!r}: parameter {parameter.name!r} is the run's context: put it first."
        )
    if getattr(parameter.annotation, "__name__", parameter.annotation) == "AgentDeps":
        raise TypeError(
            f"Tool {name!r}: the model would have to say what {parameter.name!r} is. Write "
            f"`{parameter.name}: RunContext[AgentDeps]` as the first one, and use "
            f"`{parameter.name}.deps`."
        )
