"""What the dashboard shows of hours that are over."""

from django.db import models


class RunSpan(models.Model):
    """Totals of all users' runs in one past hour or day: a few rows for the dashboard to read."""

    begin = models.DateTimeField(primary_key=True)
    is_day = models.BooleanField(
        default=False, help_text="A day of the site's time zone, and not an hour."
    )
    figures = models.JSONField(help_text="As the dashboard counts them.")

    class Meta:
        ordering = ["begin"]

    def __str__(self) -> str:
        return f"{self.begin:%Y-%m-%d %H:%M}"
