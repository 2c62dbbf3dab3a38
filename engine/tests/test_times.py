"""A time that a model writes without an offset is one in TIME_ZONE. (test_own_code.py has a run with one.)"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict, NaiveDatetime
from pydantic.dataclasses import dataclass as checked_dataclass

from agui import ToolRegistry

NAIVE = "2026-07-01T08:30:00"
PARIS = datetime(2026, 7, 1, 8, 30, tzinfo=ZoneInfo("Europe/Paris"))


class Visit(BaseModel):
    model_config = ConfigDict(frozen=True)
    at: datetime
    as_written: NaiveDatetime | None = None
    day: date = date(2026, 7, 1)


@checked_dataclass(frozen=True)
class Slot:
    begin: datetime


@dataclass
class Range:
    ends: list[datetime]


class Pair(NamedTuple):
    first: datetime
    second: str


@pytest.fixture(autouse=True)
def paris(settings):
    settings.TIME_ZONE = "Europe/Paris"


def received(hint: Any, value: Any) -> Any:
    """What a tool with this parameter gets."""
    registry = ToolRegistry()

    def show(value):
        """Show it."""
        return value

    show.__annotations__ = {"value": hint}
    registry.add(show)
    return registry.call("show", {"value": value})


@pytest.mark.parametrize(
    ("hint", "value", "find"),
    [
        (datetime, NAIVE, lambda value: value),
        (list[datetime], [NAIVE], lambda value: value[0]),
        (frozenset[datetime], [NAIVE], lambda value: next(iter(value))),
        (dict[str, datetime], {"a": NAIVE}, lambda value: value["a"]),
        (Visit, {"at": NAIVE}, lambda value: value.at),
        (list[Visit], [{"at": NAIVE}], lambda value: value[0].at),
        (Slot, {"begin": NAIVE}, lambda value: value.begin),
        (Range, {"ends": [NAIVE]}, lambda value: value.ends[0]),
        (Pair, [NAIVE, "x"], lambda value: value.first),
    ],
)
def test_naive_time_is_one_in_the_time_zone_of_the_site(hint, value, find):
    found = find(received(hint, value))
    assert found == PARIS
    assert found.utcoffset() == timedelta(hours=2)


def test_what_has_an_offset_stays_as_it_is():
    assert received(datetime, NAIVE + "Z") == datetime(2026, 7, 1, 8, 30, tzinfo=UTC)
    assert received(datetime, NAIVE + "+09:00").utcoffset() == timedelta(hours=9)


def test_hint_of_a_naive_time_is_kept():
    assert received(NaiveDatetime, NAIVE) == datetime(2026, 7, 1, 8, 30)
    visit = received(Visit, {"at": NAIVE, "as_written": NAIVE})
    assert (visit.at, visit.as_written) == (PARIS, datetime(2026, 7, 1, 8, 30))


def test_dates_and_other_values_stay_the_same_objects():
    visit = Visit(at=PARIS)
    assert received(date, "2026-07-01") == date(2026, 7, 1)
    assert received(time, "08:30") == time(8, 30)
    assert received(Visit, visit) is visit


def test_without_time_zones_times_stay_naive(settings):
    settings.USE_TZ = False
    assert received(datetime, NAIVE) == datetime(2026, 7, 1, 8, 30)
