"""Faster copies of pydantic-ai's RunContext.

pydantic-ai copies it for each capability before each step: a hundred times in a short answer.
`copy.copy` finds out each time how a class without `__copy__` is copied. docs/upstream.md in the
template's repository proposes this to pydantic-ai.
"""

import logging
from typing import Any

from pydantic_ai import RunContext

logger = logging.getLogger("agui.runs")


def copy_fields(context: Any) -> Any:
    """Make a shallow copy, as `copy.copy` does of any object with a `__dict__`."""
    new = object.__new__(type(context))
    new.__dict__.update(context.__dict__)
    return new


def make_copies_fast() -> None:
    """Give RunContext a `__copy__`, unless it has one, or keeps its fields in slots."""
    own = getattr(RunContext, "__copy__", None)
    if own is None and "__slots__" not in vars(RunContext):
        RunContext.__copy__ = copy_fields  # type: ignore[attr-defined]
    elif own is not copy_fields:
        logger.info("This pydantic-ai copies RunContext in its own way.")
