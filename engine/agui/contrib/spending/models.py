"""Spending of users by day, and their budgets."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from agui.models import Owned
from agui.sentences import wording


class Spending(Owned):
    """Usage of a model by a user or a visitor on a day. It outlives runs and conversations."""

    day = models.DateField(help_text=_("In the site's time zone."))
    model = models.CharField(max_length=255)
    requests = models.PositiveBigIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    unpriced = models.PositiveBigIntegerField(
        default=0, help_text=_("Requests whose price nobody knows.")
    )
    cost = models.DecimalField(
        max_digits=20,
        decimal_places=10,
        null=True,
        blank=True,
        help_text=_("US dollars, of the other requests."),
    )

    class Meta:
        ordering = ["-day", "-pk"]
        verbose_name_plural = wording("spending")
        indexes = [models.Index(fields=["day"])]
        constraints = [
            models.UniqueConstraint(fields=["scope", "day", "model"], name="agui_spending_once")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.model}"


class RunSpending(Owned):
    """The share of a run that has not ended in Spending.

    The row is deleted when the run ends, and not with the run's own row: a run may end after that
    was deleted.
    """

    run = models.UUIDField(primary_key=True)
    spent = models.JSONField(default=dict, help_text="By model.")
    noted_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "spending of runs"

    def __str__(self) -> str:
        return str(self.run)


class Budget(models.Model):
    """The budget of a user, or of each user of a group, in a period."""

    class Period(models.TextChoices):
        DAY = "day", wording("Day")
        WEEK = "week", wording("week, from Monday")
        MONTH = "month", wording("Month")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    group = models.ForeignKey(
        "auth.Group", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    period = models.CharField(max_length=8, choices=Period.choices, default=Period.MONTH)
    cost = models.DecimalField(
        max_digits=12,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_(
            "US dollars. Empty: as the next budget says. It needs models whose price is known."
        ),
    )
    tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text=_("In and out. Empty: as the next budget says.")
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user=None) ^ models.Q(group=None),
                name="agui_budget_of_one",
                violation_error_message=_("Name a user, or a group, and not both."),
            ),
            models.CheckConstraint(
                condition=models.Q(cost__isnull=False) | models.Q(tokens__isnull=False),
                name="agui_budget_of_something",
                violation_error_message=_("Say how much: a cost, tokens, or both."),
            ),
            models.UniqueConstraint(
                fields=["user", "period"],
                name="agui_budget_of_user",
                violation_error_message=_("This user has a budget for this period: change that."),
            ),
            models.UniqueConstraint(
                fields=["group", "period"],
                name="agui_budget_of_group",
                violation_error_message=_("This group has a budget for this period: change that."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group}: {self.get_period_display()}"
