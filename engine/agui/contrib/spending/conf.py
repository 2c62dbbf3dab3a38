from pydantic import Field

from agui.conf_sections import Section
from agui.money import Dollars


class Allowance(Section):
    """The limits of a user in a period; None means no limit."""

    cost: Dollars | None = Field(
        None, ge=0, description="US dollars; needs models with a known price."
    )
    tokens: int | None = Field(None, ge=0, description="Tokens that the models read and write.")


class SpendingSettings(Section):
    """The budgets of users, and whether they are told their usage.

    `day`, `week` and `month` are for users without a budget of their own or of a group.
    """

    day: Allowance = Field(
        default_factory=Allowance, description="From midnight in the site's time zone."
    )
    week: Allowance = Field(default_factory=Allowance, description="From Monday.")
    month: Allowance = Field(default_factory=Allowance, description="From the first of the month.")
    retention_days: int | None = Field(
        None,
        gt=0,
        description="The age in days at which `manage.py prune_agent_data` deletes what users "
        "spent; None means never.",
    )
    show_usage: bool = Field(
        False,
        description="Adds to each answer its tokens, its price and how full the model's context "
        "is, as a CUSTOM event and metadata named `usage`.",
    )
