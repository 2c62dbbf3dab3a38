from django.db import models
from django.utils import timezone

from agui.models import Owned
from agui.sentences import wording


class QueuedMessage(Owned):
    """A message that a user has sent beside a thread, until the agent reads it."""

    class Mode(models.TextChoices):
        QUEUE = "queue", wording("after the run")
        STEER = "steer", wording("during the run")

    class State(models.TextChoices):
        WAITING = "waiting", wording("waiting")
        READ = "read", wording("read by the agent")
        TAKEN_BACK = "taken_back", wording("taken back")

    thread_id = models.CharField(max_length=255)
    message_id = models.CharField(max_length=255, help_text="Chosen by the client.")
    mode = models.CharField(max_length=8, choices=Mode.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    position = models.PositiveIntegerField(help_text="Its place among those that wait.")
    changes = models.PositiveIntegerField(default=0, help_text="How often it was edited.")
    data = models.TextField(
        blank=True, help_text="AG-UI's message as JSON; empty once it is in the thread."
    )
    run = models.UUIDField(
        null=True, blank=True, help_text="The run that has read it, or should read it."
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["position", "pk"]
        indexes = [models.Index(fields=["run"]), models.Index(fields=["created_at"])]
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "thread_id", "message_id"], name="agui_queue_message_once"
            )
        ]

    def __str__(self) -> str:
        return self.message_id
