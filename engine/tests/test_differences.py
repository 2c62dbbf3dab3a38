"""JSON Patches of the state and of activities: right, quick, and never more than the value itself."""

import json
import random
from copy import deepcopy
from typing import Any

import jsonpatch
import pytest

from agui.events.differences import MAX_OPERATIONS, difference
from agui.stores.codec import same_json
from tests.conftest import counted

KEYS = ["a", "b/c", "d~e", "", "~1", "0", "-"]


def any_value(source: random.Random, depth: int = 3) -> Any:
    kind = source.randrange(8 if depth else 6)
    if kind == 6:
        return [any_value(source, depth - 1) for _ in range(source.randrange(5))]
    if kind == 7:
        return {source.choice(KEYS): any_value(source, depth - 1) for _ in range(source.randrange(5))}
    return [None, True, False, source.randrange(3), float(source.randrange(3)), source.choice("xyz")][kind]


def changed(source: random.Random, value: Any) -> Any:
    """The value with something else in it, somewhere."""
    if isinstance(value, list) and source.random() < 0.9:
        place = source.randrange(len(value) + 1)
        match source.randrange(4):
            case 0:
                value.insert(place, any_value(source, 1))
            case 1 if value:
                del value[place % len(value)]
            case 2:
                source.shuffle(value)
            case _ if value:
                value[place % len(value)] = changed(source, value[place % len(value)])
        return value
    if isinstance(value, dict) and source.random() < 0.9:
        key = source.choice([*value, *KEYS])
        if key in value and source.random() < 0.4:
            del value[key]
        else:
            value[key] = changed(source, value.get(key))
        return value
    return any_value(source, 2)


def test_patch_makes_the_old_value_the_new_one():
    source = random.Random(17)  # noqa: S311 # The same values each time
    for _ in range(3000):
        old = any_value(source, 4)
        new = deepcopy(old)
        for _ in range(source.randrange(4)):
            new = changed(source, new)
        patch = difference(old, new)
        assert patch is not None
        assert same_json(jsonpatch.apply_patch(deepcopy(old), deepcopy(patch)), new), (old, new, patch)
        assert (patch == []) == same_json(old, new)


def test_patch_says_only_what_has_changed():
    rows = [{"id": number, "done": False} for number in range(500)]
    assert difference(rows, [*rows, {"id": 500}]) == [{"op": "add", "path": "/500", "value": {"id": 500}}]
    assert difference(rows, [{"id": -1}, *rows]) == [{"op": "add", "path": "/0", "value": {"id": -1}}]
    assert difference(rows, rows[1:]) == [{"op": "remove", "path": "/0"}]
    ticked = [*rows[:7], {"id": 7, "done": True}, *rows[8:]]
    assert difference(rows, ticked) == [{"op": "replace", "path": "/7/done", "value": True}]


NUMBERS = [number * 37 % 20_011 for number in range(20_000)]
CHART = {f"line {line}": [[x, x * line] for x in range(5000)] for line in range(12)}
WHOLE = {
    "a chart all new": (CHART, {name: [[x, y + 1] for x, y in line] for name, line in CHART.items()}),
    "a shuffled list": (NUMBERS, sorted(NUMBERS)),
    "a table reversed": ([[n] * 6 for n in range(5000)], [[n] * 6 for n in reversed(range(5000))]),
    "other keys": ({f"a{n}": n for n in range(5000)}, {f"b{n}": n for n in range(5000)}),
    "a long text": ({"text": "a" * 5000}, {"text": "b" * 5000}),
    "one new item that is nearly all": ([1], [1, "b" * 5000]),
}


@pytest.mark.parametrize(("old", "new"), WHOLE.values(), ids=WHOLE)
def test_change_that_is_large_is_sent_whole(old, new):
    size = len(json.dumps(old)) + len(json.dumps(new))
    with counted(size):
        assert difference(old, new) is None


def test_last_place_of_a_large_chart_is_found_in_one_pass():
    moved = deepcopy(CHART)
    moved["line 11"][2500] = [0, 0]
    with counted(3 * len(json.dumps(CHART))):
        patch = difference(CHART, moved)
    assert patch is not None
    assert len(patch) <= 2 < MAX_OPERATIONS


def test_depth_that_python_can_not_follow_is_sent_whole():
    old: Any = 0
    new: Any = 1
    for _ in range(5000):
        old = [old]
        new = [new]
    assert difference(old, new) is None
