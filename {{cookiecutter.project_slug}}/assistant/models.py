"""The conversations with the agent, and the example's own data. Replace the tasks with yours."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from agui import AbstractConversation


class Conversation(AbstractConversation):
    """A user's conversation with an agent. Add fields that your site needs."""


class Task(models.Model):
    """Something to do, owned by one user."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tasks"
    )
    title = models.CharField(max_length=200)
    category = models.CharField(max_length=50, default="general")
    done = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["done", "created_at", "pk"]

    def __str__(self) -> str:
        return self.title
