"""The files of an owner and of a conversation, as the export and the admin show them."""

from collections.abc import Sequence
from typing import Any

from django.db.models.fields.files import FieldFile
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from pydantic_ai.messages import ModelMessage

from agui.actor import Actor
from agui.contrib.attachments.models import Attachment
from agui.parts import NamedFile, PersonalData
from agui.stores.annotations import annotation


class FilesOfOwner(PersonalData):
    """Files, each with the ids of the threads that name it."""

    def extra(self, row: Any) -> dict[str, Any]:
        return {"threads": [use.thread_id for use in row.uses.all()]}

    def file(self, row: Any) -> tuple[str, FieldFile]:
        return row.name, row.file


def files_of(actor: Actor) -> PersonalData:
    rows = (
        Attachment.objects.filter(scope=actor.scope).order_by("created_at").prefetch_related("uses")
    )
    return FilesOfOwner("attachments", rows, hidden=("scope", "owner", "file"))


def named_files(messages: Sequence[ModelMessage]) -> list[list[NamedFile]]:
    """Tell which files each message names, and which of them are still there."""
    named: list[list[dict[str, Any]]] = [
        annotation(message, "attachments") or [] for message in messages
    ]
    ids = {one["id"] for files in named for one in files}
    known = Attachment.objects.filter(pk__in=ids).values_list("pk", flat=True) if ids else ()
    there = {str(pk) for pk in known}
    return [[_named_file(one, there) for one in files] for files in named]


def _named_file(one: dict[str, Any], there: set[str]) -> NamedFile:
    if one["id"] not in there:
        return NamedFile(str(one["name"]), "deleted")
    page = reverse("admin:agui_attachments_attachment_change", args=[one["id"]])
    return NamedFile(str(one["name"]), f"{one['media_type']}, {filesizeformat(one['size'])}", page)
