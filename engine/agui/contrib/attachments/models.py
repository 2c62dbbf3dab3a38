import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agui.models import Owned


class Attachment(Owned):
    """A file that somebody uploaded into a conversation, or an image that was made in one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=100)
    encoding = models.CharField(max_length=20, default="utf-8", help_text="Of a text.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    digest = models.CharField(max_length=64, help_text=_("SHA-256 of the content, in hexadecimal."))
    file = models.FileField(upload_to="attachments/%Y/%m/", max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["scope", "digest"]),
            models.Index(fields=["created_at"]),
        ]

    def __str__(self) -> str:
        return self.name


class AttachmentUse(models.Model):
    """A thread whose messages name an attachment. The row exists while both do."""

    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="uses")
    thread_id = models.CharField(max_length=255, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attachment", "thread_id"], name="agui_attachment_use")
        ]

    def __str__(self) -> str:
        return f"{self.attachment_id} in {self.thread_id}"
