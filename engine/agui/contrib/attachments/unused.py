"""Files that no conversation names."""

from datetime import datetime
from typing import Any

from django.db import router, transaction
from django.db.models import Exists, OuterRef

from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.models import get_conversation_model
from agui.part_values import Outdated
from agui.stores.base import store_class
from agui.stores.model import ModelConversationStore
from agui.stores.null import NullConversationStore

Thread = get_conversation_model()


class UnusedFiles(Outdated):
    """Files that are deleted one by one, each after a second look whether a thread names it now."""

    def delete(self, pks: list[Any]) -> int:
        with transaction.atomic(using=router.db_for_write(Attachment)):
            # No thread can begin to name a locked file.
            rows = Attachment.objects.select_for_update().filter(pk__in=pks)
            list(rows.values_list("pk"))
            return super().delete(pks)


def unused_files(before: datetime) -> UnusedFiles:
    """Find files that no conversation names, or only conversations that no longer exist."""
    needed = AttachmentUse.objects.filter(attachment=OuterRef("pk"))
    # Only these two stores let the database know which threads exist.
    if issubclass(store_class(), ModelConversationStore | NullConversationStore):
        threads = Thread.objects.filter(
            thread_id=OuterRef("thread_id"), scope=OuterRef("attachment__scope")
        )
        needed = needed.filter(Exists(threads))
    unused = Attachment.objects.filter(~Exists(needed), created_at__lt=before)
    return UnusedFiles("unused files", unused, batch=1)
