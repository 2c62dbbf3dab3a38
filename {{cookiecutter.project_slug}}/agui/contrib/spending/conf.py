from pydantic import Field

from agui.conf_sections import Section
from agui.money import Dollars


class Allowance(Section):
    """What a user may spend in a period; None is no limit."""

    cost: Dollars | None = Field(
        None, ge=0, description="In US dollars; needs models with a known price."
    )
    tokens: int | None = Field(None, ge=0, description="In tokens, in and out.")


class SpendingSettings(Section):
    """Budgets of users who have none of their own or a group's in the admin; above it 429."""

    day: Allowance = Field(
        default_factory=Allowance, description="From midnight in the site's time zone."
    )
    week: Allowance = Field(default_factory=Allowance, description="From Monday.")
    month: Allowance = Field(default_factory=Allowance, description="From the first.")
    retention_days: int | None = Field(
        None,
        gt=0,
        description="Days after which `manage.py prune_agent_data` deletes what was spent; "
        "None is never.",
    )
