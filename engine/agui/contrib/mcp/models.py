import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from agui import clock, conf
from agui.runs.processes import process_exists
from agui.sentences import wording

KEPT = timedelta(days=1)
"""How long a call can be asked about after its decision, or after its deadline."""
LOST_SECONDS = 60
"""How long after the longest call its process must have died."""
WAITS = timedelta(days=30)
"""How long a definition of a remote tool waits for an operator."""


def longest_call() -> timedelta:
    """Return how long after the start of a call its process must have died."""
    seconds = conf.get().run_timeout_seconds or KEPT.total_seconds()
    return timedelta(seconds=seconds + LOST_SECONDS)


class ClientCall(models.Model):
    """What is kept of a call of an MCP client, and whose it is."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    scope = models.CharField(max_length=255, help_text="The owner, as in a conversation.")
    caller = models.CharField(max_length=64, help_text="A digest of the user and the credential.")
    client = models.CharField(
        max_length=100, blank=True, help_text="The client's own name for itself."
    )
    tool_name = models.CharField(max_length=255)

    class Meta:
        abstract = True


class ClientQuestion(ClientCall):
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

    call = models.CharField(
        max_length=64, help_text="A digest of the tool's name, definition and arguments."
    )
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
        return self.decided_at + longest_call() < clock.now()

    @property
    def is_open(self) -> bool:
        """Whether a call on our page waits for its decision, or is at work after it."""
        if self.state_now == self.State.PENDING:
            return True
        return self.state == self.State.EXECUTING and not self.is_lost

    @classmethod
    def outdated(cls) -> "models.QuerySet[ClientQuestion]":
        """Select what is kept no longer."""
        now = clock.now()
        in_form = models.Q(arguments="", expires_at__lt=now)
        return cls.objects.filter(in_form | models.Q(expires_at__lt=now - KEPT))


class ClientTask(ClientCall):
    """A call of an MCP client that goes on after the client has got a handle for it."""

    class State(models.TextChoices):
        WORKING = "working", wording("at work")
        WAITING = "waiting", wording("waiting for an answer")
        DONE = "done", wording("done")
        FAILED = "failed", wording("failed")
        CANCELLED = "cancelled", wording("cancelled")

    state = models.CharField(max_length=16, choices=State.choices, default=State.WORKING)
    question = models.ForeignKey(
        ClientQuestion,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="What it waits for.",
    )
    process = models.CharField(max_length=255, help_text="Who is at work.")
    is_cancelled = models.BooleanField(
        default=False, help_text="Whether the client has asked to cancel it."
    )
    arguments = models.TextField(
        blank=True, help_text="Those of the call while it waits, encrypted."
    )
    result = models.TextField(blank=True, help_text="The result or the error, encrypted.")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["expires_at"]),
            models.Index(fields=["scope", "state"]),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.state}"

    @property
    def is_lost(self) -> bool:
        """Whether the process that is at work has died, or must have died meanwhile."""
        if self.state != self.State.WORKING:
            return False
        if process_exists(self.process) is False:
            return True
        return self.updated_at + longest_call() < clock.now()

    @property
    def state_label(self) -> str:
        state = self.State.FAILED if self.is_lost else self.State(self.state)
        return str(state.label)

    @classmethod
    def outdated(cls) -> "models.QuerySet[ClientTask]":
        """Select what is kept no longer."""
        return cls.objects.filter(expires_at__lt=clock.now())


class RemoteAccount(models.Model):
    """The account of a user at a remote server whose entry says `"auth": "oauth"`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    server = models.CharField(max_length=32, help_text="The server's name in the file.")
    tokens = models.TextField(
        blank=True, help_text="The tokens, encrypted; empty if there are none."
    )
    is_over = models.BooleanField(
        default=False, help_text="Whether the server has ended the connection."
    )
    connected_at = models.DateTimeField(null=True, blank=True)
    renew_at = models.DateTimeField(null=True, blank=True)
    renewing_until = models.DateTimeField(
        null=True, blank=True, help_text="Until then, one process renews the tokens."
    )
    state = models.CharField(
        max_length=64, blank=True, help_text="A digest of the state of a sign-in that has begun."
    )
    session = models.CharField(
        max_length=64, blank=True, help_text="A digest of what the browser's session has."
    )
    attempt = models.TextField(blank=True, help_text="That sign-in, encrypted.")
    attempt_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["server"]
        constraints = [
            models.UniqueConstraint(fields=["user", "server"], name="agui_mcp_one_account")
        ]

    def __str__(self) -> str:
        return self.server

    @classmethod
    def outdated(cls) -> "models.QuerySet[RemoteAccount]":
        """Select sign-ins that were never finished."""
        unused = cls.objects.filter(tokens="", is_over=False)
        return unused.filter(models.Q(attempt_until=None) | models.Q(attempt_until__lt=clock.now()))


class RemoteClient(models.Model):
    """This project at the sign-in of a remote server, where it has registered itself."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    server = models.CharField(max_length=32, help_text="The server's name in the file.")
    redirect_uri = models.CharField(max_length=500)
    registration = models.TextField(
        blank=True, help_text="What the server has answered, encrypted."
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["server"]
        constraints = [
            models.UniqueConstraint(fields=["server", "redirect_uri"], name="agui_mcp_one_client")
        ]

    def __str__(self) -> str:
        return self.server


class RemoteTool(models.Model):
    """A definition of a remote server's tool, which an operator has accepted or will."""

    server = models.CharField(max_length=32, help_text="The server's name in the file.")
    name = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, help_text="That of the definition.")
    definition = models.JSONField(help_text="What the model would read.")
    seen_at = models.DateTimeField(default=timezone.now)
    accepted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["server", "name", "-seen_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["server", "name", "digest"], name="agui_mcp_one_definition"
            )
        ]

    def __str__(self) -> str:
        return f"{self.server} {self.name}"

    @classmethod
    def outdated(cls) -> "models.QuerySet[RemoteTool]":
        """Select definitions that nobody has accepted, and that the servers may have forgotten."""
        return cls.objects.filter(accepted_at=None, seen_at__lt=clock.now() - WAITS)
