"""What of a test's many values is tried by day."""

from collections.abc import Iterable
from typing import Any

import pytest


def at_night(*values: object) -> list[Any]:
    """The parameters of a test that is run with these values every night only."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


def rows_at_night(*rows: Iterable[Any]) -> list[Any]:
    """The same for a test of several parameters, whose values each row has."""
    return [pytest.param(*row, marks=pytest.mark.nightly) for row in rows]


def by_day(values: Iterable[Any], every: int = 3) -> list[Any]:
    """The values of a test's parameter. By day it is run with one of `every` values, from the first."""
    return [value if n % every == 0 else at_night(value)[0] for n, value in enumerate(values)]
