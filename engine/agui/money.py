"""Amounts of US dollars, in settings and for people."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _as_written(amount: Any) -> Any:
    """Take a float as it is written: 0.1 means 0.1, not the nearest binary number."""
    if isinstance(amount, bool | str):
        raise ValueError("it should be a number of US dollars")
    if isinstance(amount, float):
        return str(amount)
    return amount


Dollars = Annotated[Decimal, Field(strict=False, allow_inf_nan=False), BeforeValidator(_as_written)]
"""An amount of US dollars, as a number or a Decimal."""


def dollars(cost: Decimal | float | None) -> str:
    """Write an amount for people; "-" for an unknown amount."""
    if cost is None:
        return "-"
    if 0 < cost < Decimal("0.0001"):
        return "< $0.0001"
    if cost == 0 or cost >= 1:
        return f"${cost:,.2f}"
    return f"${cost:.4f}"
