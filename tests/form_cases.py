"""Print forms as pydantic makes them: for each a JSON Schema and values that fit it, as lines of JSON.

Run with the environment of a generated project: `python form_cases.py SEED COUNT`.
"""

import json
import random
import sys
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, Union

from pydantic import BaseModel, Field, HttpUrl, NaiveDatetime, SecretStr, create_model

TEXTS = [
    "",
    " ",
    "one line",
    "Dear Grace,\nthank you.\n\n- one\n- two\n",
    "with\r\nother\r\nbreaks",
    '\ttab, "quotes", back\\slash and </textarea><b>',
    "ünïcödé 日本語 🙂 \u202eright to left\u2028line separator",
    "12",
    "null",
    "2026-01-05T10:00:30",
    "x" * 300,
]


Colour = Enum("Colour", {"RED": "red", "BLUE": "blue"})
Level = IntEnum("Level", {"LOW": 1, "HIGH": 2})
Cat = create_model("Cat", kind=(Literal["cat"], "cat"), lives=(int, 9))
Dog = create_model("Dog", kind=(Literal["dog"], ...), name=(str, ...))
Open = create_model("Open", __config__={"extra": "allow"}, known=(str, "x"))


class Pair(NamedTuple):
    name: str
    count: int = 3


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Cases:
    """Draws types and values of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 (the same cases each time)
        self.models = 0

    def moment(self) -> datetime:
        moment = datetime(2026, 1, 5, 10) + timedelta(seconds=self.random.randrange(10**8))
        return moment.replace(
            second=self.random.choice([0, 0, 30, 59]), microsecond=self.random.choice([0, 0, 500_000, 123_456])
        )

    def aware(self) -> datetime:
        zone = self.random.choice([UTC, timezone(timedelta(hours=1)), timezone(-timedelta(hours=3, minutes=30))])
        return self.moment().replace(tzinfo=zone)

    def leaf(self) -> tuple[Any, Any]:
        """A type that is one input, and a value of it."""
        draw = self.random
        text = draw.choice(TEXTS)
        return draw.choice(
            [
                (str, text),
                (str, draw.choice(TEXTS)),
                (Annotated[str, Field(max_length=20, pattern=r"^[A-Z]+-\d+$")], "AB-12"),
                (Annotated[str, Field(min_length=2, max_length=400)], "ab\ncd"),
                (int, draw.choice([0, 1, -7, 2**53 + 1, 12345678901234567890, draw.randrange(1000)])),
                (Annotated[int, Field(ge=0, le=10)], draw.randrange(11)),
                (Annotated[int, Field(multiple_of=5)], 5 * draw.randrange(5)),
                (float, draw.choice([0.0, 1.0, -0.5, 0.1 + 0.2, 1e-7, 1e21, 1.7976931348623157e308, draw.random()])),
                (Annotated[float, Field(gt=0, lt=1)], 0.30000000000000004),
                (Annotated[float, Field(multiple_of=0.1)], 0.30000000000000004),
                (bool, draw.random() < 0.5),
                (Decimal, Decimal(draw.choice(["12.50", "0.1", "-3", "1000000.000001"]))),
                (Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)], Decimal("19.90")),
                (datetime, self.moment()),
                (datetime, self.aware()),
                (NaiveDatetime, self.moment()),
                (date, self.moment().date()),
                (time, self.moment().time()),
                (time, self.aware().timetz()),
                (timedelta, timedelta(seconds=draw.randrange(10**6))),
                (uuid.UUID, uuid.UUID(int=draw.getrandbits(128), version=4)),
                (bytes, b"some bytes"),
                (SecretStr, SecretStr("secret")),
                (HttpUrl, HttpUrl("https://example.com/ü?q=1#x")),
                (Colour, draw.choice(list(Colour))),
                (Level, draw.choice(list(Level))),
                (Literal["a", 1, True], draw.choice(["a", 1, True])),
                (Literal["only"], "only"),
                (None, None),
                (Any, draw.choice([None, "text", 5, [1, "a"], {"a": {"b": 1.0}}])),
                (Annotated[str, Field(json_schema_extra={"format": "email"})], "ann@example.com"),
            ]
        )

    def drawn(self, depth: int = 0) -> tuple[Any, Any]:
        """Any type, and a value of it."""
        draw = self.random
        if depth > 3 or draw.random() < 0.45:
            return self.leaf()
        match draw.randrange(12):
            case 0:
                kind, value = self.drawn(depth + 1)
                return Union[kind, None], draw.choice([None, value])  # noqa: UP007 (None | None is none)
            case 1:
                kind, value = self.drawn(depth + 1)
                return list[kind], [value] * draw.randrange(3)
            case 2:
                pairs = [self.drawn(depth + 1) for _ in range(draw.randrange(1, 4))]
                return tuple[tuple(kind for kind, _ in pairs)], tuple(value for _, value in pairs)
            case 3:
                kind, value = self.drawn(depth + 1)
                keys = draw.sample(["a", "b c", "", "constructor", "__proto__", "ü"], draw.randrange(4))
                return dict[str, kind], dict.fromkeys(keys, value)
            case 4:
                (one, first), (two, second) = self.drawn(depth + 1), self.drawn(depth + 1)
                return Union[one, two], draw.choice([first, second])  # noqa: UP007
            case 5:
                pet = Annotated[Cat | Dog, Field(discriminator="kind")]
                return pet, draw.choice([Cat(), Cat(kind="cat", lives=3), Dog(kind="dog", name="Rex")])
            case 6:
                return Node, Node(name="root", children=[Node(name="a"), Node(name="b", children=[Node(name="c")])])
            case 7:
                return list[Colour], [Colour.BLUE, Colour.RED, Colour.BLUE][: draw.randrange(4)]
            case 8:
                return Pair, Pair("n", 5)
            case 9:
                return Open, Open(known="k", unknown={"deep": [1.0]})
            case 10:
                return set[int], {1, 2}
        model = self.model(depth + 1)
        return type(model), model

    def model(self, depth: int = 0) -> BaseModel:
        """A model with a few fields, some of which keep their default."""
        fields: dict[str, Any] = {}
        values: dict[str, Any] = {}
        names = ["title", "body_text", "when", "amount", "constructor_", "to"]
        for name in self.random.sample(names, self.random.randrange(1, 5)):
            kind, value = self.drawn(depth)
            fields[name] = (kind, value) if self.random.random() < 0.4 else (kind, ...)
            if fields[name][1] is ... or self.random.random() < 0.5:
                values[name] = value
        self.models += 1
        return create_model(f"Model{self.models}", **fields).model_construct(_fields_set=set(values), **values)


def main(seed: int, count: int) -> None:
    cases = Cases(seed)
    while count:
        model = cases.model()
        given = model.model_dump_json(exclude_unset=True, warnings=False)
        try:
            model.model_validate_json(given)
        except ValueError:
            continue  # Masked secrets fit, but a union may take a value for another kind
        print(json.dumps({"schema": model.model_json_schema(), "given": given}))
        count -= 1


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
