"""What every conversation has, and the engine's tables: messages, runs, the audit trail, tokens.

The table of conversations is the project's own: AGUI["CONVERSATION_MODEL"] names a model that is a
subclass of `AbstractConversation`.
"""

import uuid
from functools import cache
from typing import ClassVar, Self

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agui.sentences import wording


class Owned(models.Model):
    """A row that belongs to somebody: a user, or an anonymous visitor's session."""

    scope = models.CharField(
        max_length=255, help_text="The owner as one string: 'user:<pk>' or 'session:<key>'."
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        abstract = True


class AbstractConversation(Owned):
    """One conversation: where its history ends, and the data that no message has.

    A subclass may have more fields, if they have defaults or may be null: the engine makes the
    rows, and changes them without calling `save`.
    """

    thread_id = models.CharField(
        max_length=255, help_text=_("Chosen by the client; unique for its owner.")
    )
    title = models.CharField(max_length=255, blank=True)
    preview = models.CharField(max_length=255, blank=True)
    words = models.TextField(blank=True, help_text="The title as a search reads it.")
    head = models.CharField(
        max_length=36, null=True, blank=True, help_text="The newest message of the history."
    )
    branches = models.JSONField(
        default=list, blank=True, help_text="The last messages of the histories left behind."
    )
    usage = models.JSONField(default=dict, blank=True)
    deferred = models.JSONField(
        null=True, blank=True, help_text="The tool calls that the thread waits on."
    )
    forked_from = models.CharField(max_length=255, blank=True)
    forked_at = models.CharField(max_length=36, blank=True)
    unread = models.BooleanField(
        default=False, help_text="An answer has ended that no page has shown to its owner."
    )
    # The database has these defaults, too: an older process writes rows without the columns.
    pinned = models.BooleanField(
        default=False, db_default=False, help_text=_("Lists show it before all others.")
    )
    archived = models.BooleanField(
        default=False, db_default=False, help_text=_("Only the list of archived threads has it.")
    )
    revision = models.CharField(
        max_length=36, help_text="Changes with every save: two writers can't both win."
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[models.Manager[Self]] = models.Manager()

    class Meta:
        abstract = True
        ordering = ["-updated_at", "-pk"]
        indexes = [
            models.Index(
                fields=["scope", "archived", "-pinned", "-updated_at"],
                name="agui_conversation_listed",
            ),
            models.Index(fields=["updated_at"]),
            # Deleting a thread asks this, too: a new fork has no message of its own yet.
            models.Index(
                fields=["forked_at"],
                condition=~models.Q(forked_at=""),
                name="agui_conversation_forked_at",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["thread_id", "scope"], name="agui_conversation_of_owner"
            )
        ]

    def __str__(self) -> str:
        return self.title or self.thread_id


CONVERSATION_MODEL: str = getattr(settings, "AGUI", {}).get(
    "CONVERSATION_MODEL", "assistant.Conversation"
)


@cache
def get_conversation_model() -> type[AbstractConversation]:
    """The project's model of conversations.

    Raises:
        ImproperlyConfigured: there is no such model, or it is none of conversations
    """
    try:
        model = apps.get_model(CONVERSATION_MODEL, require_ready=False)
    except (LookupError, ValueError) as error:
        raise ImproperlyConfigured(f"AGUI['CONVERSATION_MODEL']: {error}") from error
    if not issubclass(model, AbstractConversation):
        raise ImproperlyConfigured(
            f"AGUI['CONVERSATION_MODEL']: {model} is no subclass of AbstractConversation."
        )
    return model


class Message(models.Model):
    """One message of a history, linked to the one before it. Written once, never changed."""

    id = models.CharField(primary_key=True, max_length=36)
    thread = models.ForeignKey(
        CONVERSATION_MODEL, on_delete=models.CASCADE, related_name="messages"
    )
    parent = models.CharField(max_length=36, null=True, blank=True)
    prompt_id = models.CharField(
        max_length=255, blank=True, help_text="The client's id of it, if it is the user's."
    )
    data = models.TextField(help_text="pydantic-ai's ModelMessage as JSON.")
    words = models.TextField(blank=True, help_text="Its text as a search reads it.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            # Deleting a thread asks which forks continue its messages. (With db_index, PostgreSQL
            # would have two indexes.)
            models.Index(fields=["parent"]),
            models.Index(
                fields=["prompt_id"],
                condition=~models.Q(prompt_id=""),
                name="agui_message_prompt_id",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Run(Owned):
    """One run of the agent: how it ended, how long it took, what it used."""

    class Status(models.TextChoices):
        RUNNING = "running", wording("Running")
        FINISHED = "finished", wording("Finished")
        PAUSED = "paused", wording("waiting for an answer")
        FAILED = "failed", wording("Failed")
        CANCELLED = "cancelled", wording("Cancelled")
        TIMED_OUT = "timed_out", wording("Timed Out")
        INTERRUPTED = "interrupted", wording("its server stopped")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    thread_id = models.CharField(max_length=255)
    run_id = models.CharField(max_length=255, help_text=_("Chosen by the client; not unique."))
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.RUNNING)
    code = models.CharField(
        max_length=64, blank=True, help_text=_("The code of the error that ended it.")
    )
    cause = models.TextField(blank=True, help_text=_("What the provider or the exception said."))
    prompt_id = models.CharField(
        max_length=255, blank=True, help_text="The client's id of the message it answers."
    )
    model = models.CharField(max_length=255, blank=True)
    usage = models.JSONField(default=dict, blank=True)
    cost = models.DecimalField(
        max_digits=20,
        decimal_places=10,
        null=True,
        blank=True,
        help_text=_("US dollars. Empty: no price is known."),
    )
    unpriced = models.PositiveIntegerField(
        default=0, help_text=_("Requests whose price nobody knows.")
    )
    started_at = models.DateTimeField(default=timezone.now)
    first_event_ms = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="How long until the model's first word, thought or tool call.",
    )
    duration_ms = models.PositiveBigIntegerField(null=True, blank=True)
    process = models.CharField(
        max_length=255, blank=True, help_text=_("Who runs it: place, process id, a random word.")
    )
    seen_at = models.DateTimeField(
        default=timezone.now, help_text=_("When that process last said that it is alive.")
    )
    revision = models.CharField(
        max_length=36, blank=True, help_text="The thread's, when the run began."
    )
    draft = models.JSONField(
        null=True, blank=True, help_text="What it has added so far, until that is stored."
    )

    class Meta:
        ordering = ["-started_at"]
        indexes = [
            models.Index(fields=["thread_id", "scope", "status"]),
            models.Index(fields=["started_at"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["thread_id", "scope"],
                condition=models.Q(status="running"),
                name="agui_run_one_of_a_thread",
            )
        ]

    def __str__(self) -> str:
        return f"{self.thread_id} {self.status}"


class AuditRecord(models.Model):
    """One tool call, as `ModelAuditLogger` keeps it."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    scope = models.CharField(
        max_length=255, blank=True, help_text="The owner as one string, as in a conversation."
    )
    thread_id = models.CharField(max_length=255)
    run_id = models.CharField(max_length=255)
    tool_call_id = models.CharField(max_length=255)
    tool_name = models.CharField(max_length=255)
    arguments = models.JSONField(default=dict)
    started_at = models.DateTimeField()
    duration_ms = models.FloatField()
    outcome = models.CharField(
        max_length=16,
        choices=[
            ("success", wording("success")),
            ("failed", wording("failed")),
            ("denied", wording("denied")),
        ],
    )
    error = models.TextField(blank=True)
    result_size = models.PositiveBigIntegerField(
        null=True, blank=True, help_text=_("Characters of the result as JSON.")
    )
    approved_by = models.CharField(max_length=255, blank=True)
    proposed = models.JSONField(
        null=True, blank=True, help_text="The model's arguments, if the approver changed them."
    )
    via = models.CharField(
        max_length=255, blank=True, default="", db_default="", help_text="The client, if not a run."
    )

    class Meta:
        ordering = ["-started_at"]
        indexes = [models.Index(fields=["started_at"]), models.Index(fields=["thread_id", "scope"])]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.outcome}"


class ApiToken(models.Model):
    """A bearer token. The token itself is shown once, when it is made; only its digest is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(
        max_length=12, help_text=_("The first characters, to tell tokens apart.")
    )
    digest = models.CharField(
        max_length=64, unique=True, help_text="SHA-256 of the token, in hexadecimal."
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Empty: it does not expire.")
    )
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text=_("To the minute."))

    class Meta:
        verbose_name = wording("API token")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}".strip()
