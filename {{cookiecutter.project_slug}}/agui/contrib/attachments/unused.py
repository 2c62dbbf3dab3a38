"""Files that no conversation names."""

from datetime import datetime
from typing import Any

from django.db import router, transaction
from django.db.models import Exists, OuterRef

from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.models import Thread
from agui.parts import Outdated
from agui.stores.base import store_class
from agui.stores.model import ModelConversationStore
from agui.stores.null import NullConversationStore


class UnusedFiles(Outdated):
    """Each by itself: it is asked again whether somebody just has named it, and nobody can meanwhile."""

    def delete(self, pks: list[Any]) -> int:
        with transaction.atomic(using=router.db_for_write(Attachment)):
            list(Attachment.objects.select_for_update().filter(pk__in=pks).values_list("pk"))
            return super().delete(pks)


def unused_files(before: datetime) -> UnusedFiles:
    """Find what was never named, or only by conversations that went without it."""
    needed = AttachmentUse.objects.filter(attachment=OuterRef("pk"))
    # Where other stores keep their threads, only they know.
    if issubclass(store_class(), ModelConversationStore | NullConversationStore):
        threads = Thread.objects.filter(
            thread_id=OuterRef("thread_id"), scope=OuterRef("attachment__scope")
        )
        needed = needed.filter(Exists(threads))
    return UnusedFiles(
        "unused files", Attachment.objects.filter(~Exists(needed), created_at__lt=before), batch=1
    )
