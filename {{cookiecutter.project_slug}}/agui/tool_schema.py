"""What a tool is, and how its function becomes the JSON Schema that the model and the client see."""

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict

from pydantic.errors import PydanticUserError
from pydantic_ai import Tool
from pydantic_ai.exceptions import UserError

X_DESTRUCTIVE_KEY = "x-destructive"
X_CATEGORY_KEY = "x-category"
X_CONFIRM_KEY = "x-confirm"
X_SUMMARY_KEY = "x-summary"
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
    """What `@tool` and `ToolRegistry.add` take: the fields of ToolSpec, which explains them."""

    destructive: bool
    category: ToolCategory
    confirm: str | None
    summary: str | None
    permission: str | None
    requires_approval: bool
    sequential: bool
    strict: bool | None
    timeout: float | None
    retries: int | None
    defer_loading: bool | None
    prepare: Callable[..., Any] | None


@dataclass(frozen=True)
class ToolSpec:
    """A tool as its author declared it. The last six fields are pydantic-ai's, by their names there."""

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
    retries: int | None = None  # How often the model may correct a call; None is the agent's default
    defer_loading: bool | None = None  # Whether the model has to search for it; None is if there are many tools
    # Before each request to the model: (ctx, definition) -> the definition, changed or not, or None to hide the tool
    prepare: Callable[..., Any] | None = None

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
        raise ValueError(f"Tool {name!r}: a name has 1 to 64 letters, digits, _ or -: pass another as name=.")
    if not spec.description.strip():
        raise ValueError(f"Tool {name!r} has no docstring: the model reads it to choose the tool. Write one.")
    if spec.category not in tuple(ToolCategory):
        raise ValueError(f"Tool {name!r} has category={spec.category!r}: use one of {', '.join(ToolCategory)}.")
    if spec.retries is not None and spec.retries < 1:
        raise ValueError(
            f"Tool {name!r} has retries={spec.retries}: one wrong argument would end the run. Use 1 or more."
        )
    if spec.timeout is not None and spec.timeout <= 0:
        raise ValueError(f"Tool {name!r} has timeout={spec.timeout}: give seconds above 0, or leave it out.")
    if spec.prepare is not None and not callable(spec.prepare):
        raise ValueError(f"Tool {name!r} has prepare={spec.prepare!r}: give a function of (ctx, definition).")
    if spec.permission is not None and not re.fullmatch(r"\w+\.\w+", spec.permission):
        raise ValueError(f"Tool {name!r} has permission={spec.permission!r}: write it as 'app_label.codename'.")


def build_input_schema(
    fn: Callable[..., Any],
    *,
    destructive: bool = False,
    category: ToolCategory = ToolCategory.OTHER,
    confirm: str | None = None,
    summary: str | None = None,
) -> dict[str, Any]:
    """Derive the JSON Schema of a function's parameters, with the x-* keys at its root."""
    return {**parse(fn, fn.__name__).function_schema.json_schema, **x_keys(destructive, category, confirm, summary)}


def x_keys(destructive: bool, category: ToolCategory, confirm: str | None, summary: str | None) -> dict[str, Any]:
    """The x-* keys, without those that say nothing."""
    keys = {
        X_DESTRUCTIVE_KEY: destructive or None,
        X_CATEGORY_KEY: str(category),
        X_CONFIRM_KEY: confirm,
        X_SUMMARY_KEY: summary,
    }
    return {key: value for key, value in keys.items() if value is not None}


def parse(fn: Callable[..., Any], name: str) -> Tool[Any]:
    """Let pydantic-ai read the function, so that our schema is the one that the model is shown.

    Raises TypeError for what the model could not call, with the cure.
    """
    _check_signature(fn, name)
    try:
        with warnings.catch_warnings():
            # A result without a JSON form would end the run later, for no visible reason.
            warnings.filterwarnings("error", message="Could not generate return schema")
            return Tool(fn, name=name)
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
        raise TypeError(
            f"Tool {name!r}: a parameter has no JSON form: use a str, a number, a list, a dict, an Enum, "
            f"a Literal, a dataclass or a pydantic model. ({str(error).splitlines()[0]})"
        ) from error


def _check_signature(fn: Callable[..., Any], name: str) -> None:
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise TypeError(f"Tool {name!r} yields: return the whole result, for example as a list.")
    for position, parameter in enumerate(inspect.signature(fn).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"Tool {name!r} takes {str(parameter).split(':')[0]}: the model needs a name and a type "
                "for each parameter. Spell them out."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"Tool {name!r}: parameter {parameter.name!r} is positional-only. Remove the /.")
        if parameter.annotation is parameter.empty:
            example = "RunContext[AgentDeps]" if parameter.name == "ctx" else "str"
            raise TypeError(
                f"Tool {name!r}: parameter {parameter.name!r} has no type: the model's schema is made of them. "
                f"Write `{parameter.name}: {example}`, or what it is."
            )
        if position and "RunContext" in str(parameter.annotation):
            raise TypeError(f"Tool {name!r}: parameter {parameter.name!r} is the run's context: put it first.")
        if getattr(parameter.annotation, "__name__", parameter.annotation) == "AgentDeps":
            raise TypeError(
                f"Tool {name!r}: the model would have to say what {parameter.name!r} is. "
                f"Write `{parameter.name}: RunContext[AgentDeps]` as the first one, and use `{parameter.name}.deps`."
            )
