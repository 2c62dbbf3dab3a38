from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agui.models import CONVERSATION_MODEL
from agui.sentences import wording


class Feedback(models.Model):
    """A user's rating of an answer. The thread has the user."""

    class Value(models.IntegerChoices):
        GOOD = 1, wording("good")
        BAD = -1, wording("bad")

    thread = models.ForeignKey(
        CONVERSATION_MODEL, on_delete=models.CASCADE, related_name="feedback"
    )
    message_id = models.CharField(
        max_length=255, help_text=_("The answer's id, as clients know it.")
    )
    entry = models.CharField(max_length=36, help_text="The message that holds it.")
    run = models.UUIDField(null=True, blank=True, help_text="The run that gave it, if one did.")
    value = models.IntegerField(choices=Value.choices)
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-updated_at"]
        verbose_name_plural = wording("feedback")
        indexes = [models.Index(fields=["updated_at"])]
        constraints = [
            models.UniqueConstraint(fields=["thread", "message_id"], name="agui_feedback_once")
        ]

    def __str__(self) -> str:
        if not self.comment:
            return self.get_value_display()
        return f"{self.get_value_display()}: {self.comment}"
