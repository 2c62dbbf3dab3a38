"""Amounts of US dollars: as settings give them, and as people read them."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _as_written(amount: Any) -> Any:
    """0.1 is meant as 0.1, not as the nearest float."""
    if isinstance(amount, bool | str):
        raise ValueError("it should be a number of US dollars")
    return str(amount) if isinstance(amount, float) else amount


Dollars = Annotated[Decimal, Field(strict=False, allow_inf_nan=False), BeforeValidator(_as_written)]
"""An amount of US dollars, as a number or a Decimal."""


def dollars(cost: Decimal | float | None) -> str:
    """Write an amount as people read it; "-" for one that is not known."""
    if cost is None:
        return "-"
    if 0 < cost < Decimal("0.0001"):
        return "< $0.0001"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
