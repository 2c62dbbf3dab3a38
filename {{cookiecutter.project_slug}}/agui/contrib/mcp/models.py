import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone


class ClientQuestion(models.Model):
    """An approval or a question that an MCP client shows to its user. Its answer counts once.

    The row has no argument of the call, only a digest.
    """

    class State(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        USED = "used"
        DECLINED = "declined"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    scope = models.CharField(max_length=255, help_text="The owner, as in a conversation.")
    caller = models.CharField(max_length=64, help_text="A digest of the user and the credential.")
    call = models.CharField(
        max_length=64, help_text="A digest of the tool's name, definition and arguments."
    )
    tool_name = models.CharField(max_length=255)
    kind = models.CharField(max_length=16)
    form = models.JSONField(help_text="What the client shows.")
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    answer = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["expires_at"])]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.state}"
