import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agui.models import Owned
from agui.sentences import wording


class NotificationChoice(models.Model):
    """How a user wants to be told. Without a row, the settings say."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    mail = models.BooleanField()
    webhook = models.CharField(
        max_length=1000, blank=True, help_text="The address; empty: there is none."
    )
    webhook_seed = models.CharField(
        max_length=32, blank=True, help_text="Makes the secret, together with the SECRET_KEY."
    )
    webhook_gone_at = models.DateTimeField(
        null=True, blank=True, help_text="When the receiver said that it is gone for good."
    )
    language = models.CharField(
        max_length=16, blank=True, help_text="The language in which the user chose."
    )
    updated_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return str(self.user_id)


class Notification(Owned):
    """One message to a user about the end of a run, by one channel, and whether it was sent."""

    class Kind(models.TextChoices):
        FINISHED = "run.finished", wording("Finished")
        FAILED = "run.failed", wording("Failed")
        WAITING = "run.waiting", wording("waiting for an answer")

    class Channel(models.TextChoices):
        MAIL = "mail", wording("mail")
        WEBHOOK = "webhook", wording("webhook")

    class State(models.TextChoices):
        PENDING = "pending", wording("to be sent")
        SENT = "sent", wording("sent")
        GIVEN_UP = "given_up", wording("given up")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    thread_id = models.CharField(max_length=255)
    run = models.UUIDField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    channel = models.CharField(max_length=8, choices=Channel.choices)
    language = models.CharField(max_length=16, blank=True, help_text="That of the run.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(
        default=timezone.now, help_text=_("When it is sent, or tried again.")
    )
    error = models.CharField(
        max_length=32, blank=True, help_text=_("Why the last attempt has failed.")
    )
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=models.Q(state="pending"),
                name="agui_notification_due",
            ),
            models.Index(fields=["thread_id", "scope"]),
            models.Index(fields=["created_at"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "kind", "channel"], name="agui_notification_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.channel} {self.state}"
