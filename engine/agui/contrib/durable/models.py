from django.db import models

from agui.models import Run


class RunOrder(models.Model):
    """What workers need to execute a run, until it has ended."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="order"
    )
    content = models.JSONField(help_text="What is neither in the thread nor in the run's row.")
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="How many workers have begun to execute the run."
    )

    def __str__(self) -> str:
        return str(self.run_id)


class ToolOutcome(models.Model):
    """The outcome of a tool call. A worker that takes over the run does not call the tool again."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="outcomes")
    tool_call_id = models.CharField(max_length=255)
    outcome = models.JSONField(help_text="What the tool returned, or told the model.")
    state = models.JSONField(help_text="The shared state after it.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "tool_call_id"], name="agui_tool_outcome_once")
        ]

    def __str__(self) -> str:
        return self.tool_call_id
