"""The figures of past hours and days."""

from django.db import models


class RunSpan(models.Model):
    """The figures of all runs of an hour, or of a day, that is over."""

    begin = models.DateTimeField(primary_key=True)
    is_day = models.BooleanField(
        default=False, help_text="A day of the site's time zone, and not an hour."
    )
    figures = models.JSONField(help_text="As the dashboard counts them.")

    class Meta:
        ordering = ["begin"]

    def __str__(self) -> str:
        return f"{self.begin:%Y-%m-%d %H:%M}"
