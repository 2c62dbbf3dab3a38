import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from agui import clock, conf
from agui.sentences import wording

KEPT = timedelta(days=1)
"""How long a call can be asked about after its decision, or after its deadline."""
LOST_SECONDS = 60
"""How long after the longest call its process must have died."""


class ClientQuestion(models.Model):
    """A question about the call of an MCP client. Its answer counts once.

    The client shows a form with it, or the user decides on our page, and the decision executes the
    call. What is on the page has the arguments and the result of the call, encrypted. What is in a
    form has only a digest of the call.
    """

    class State(models.TextChoices):
        # In a form
        OPEN = "open", wording("open")
        ANSWERED = "answered", wording("answered")
        USED = "used", wording("used")
        DECLINED = "declined", wording("declined")
        # On our page
        PENDING = "pending", wording("waiting for approval")
        EXECUTING = "executing", wording("at work")
        DONE = "done", wording("done")
        FAILED = "failed", wording("failed")
        DENIED = "denied", wording("denied")
        EXPIRED = "expired", wording("expired")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    scope = models.CharField(max_length=255, help_text="The owner, as in a conversation.")
    caller = models.CharField(max_length=64, help_text="A digest of the user and the credential.")
    client = models.CharField(
        max_length=100, blank=True, help_text="The client's own name for itself."
    )
    call = models.CharField(
        max_length=64, help_text="A digest of the tool's name, definition and arguments."
    )
    tool_name = models.CharField(max_length=255)
    kind = models.CharField(max_length=16)
    form = models.JSONField(help_text="What the user is shown.")
    arguments = models.TextField(blank=True, help_text="Those of the call, encrypted.")
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    answer = models.JSONField(null=True, blank=True)
    result = models.TextField(blank=True, help_text="That of the call, encrypted.")
    is_collected = models.BooleanField(
        default=False, help_text="Whether the client has got the result."
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["expires_at"]),
            models.Index(fields=["scope", "state"]),
            models.Index(fields=["caller", "call"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["caller", "call"],
                condition=models.Q(state="pending"),
                name="agui_mcp_call_waits_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.state}"

    @property
    def state_now(self) -> str:
        """The state by now: nobody records that a deadline has passed until it matters."""
        if self.state == self.State.PENDING and self.expires_at <= clock.now():
            return self.State.EXPIRED
        return self.state

    @property
    def state_label(self) -> str:
        return str(self.State(self.state_now).label)

    @property
    def is_lost(self) -> bool:
        """Whether the process that has executed the call must have died meanwhile."""
        if self.state != self.State.EXECUTING or self.decided_at is None:
            return False
        longest = conf.get().run_timeout_seconds or KEPT.total_seconds()
        return self.decided_at + timedelta(seconds=longest + LOST_SECONDS) < clock.now()

    @classmethod
    def outdated(cls) -> "models.QuerySet[ClientQuestion]":
        """Select what is kept no longer."""
        now = clock.now()
        in_form = models.Q(arguments="", expires_at__lt=now)
        return cls.objects.filter(in_form | models.Q(expires_at__lt=now - KEPT))
