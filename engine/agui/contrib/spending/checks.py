from typing import Any

from django.core import checks

from agui import conf
from agui.agents.prices import models_without_price
from agui.contrib.spending.conf import SpendingSettings


def register() -> None:
    checks.register(check_prices)


def check_prices(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of models without a known price: budgets in dollars don't limit these."""
    settings = conf.part(SpendingSettings)
    if settings.day.cost is settings.week.cost is settings.month.cost is None:
        return []
    messages: list[checks.CheckMessage] = []
    for name in models_without_price():
        warning = checks.Warning(
            f"The price of {name!r} in AGENT_MODEL is unknown, "
            "so budgets in US dollars have no effect.",
            hint="Also set 'TOKENS' of SPENDING.",
            id="agui_spending.W001",
        )
        messages.append(warning)
    return messages
