"""The files of an owner and of a conversation, as the export and the admin show them."""

from collections.abc import Sequence
from typing import Any

from django.db.models.fields.files import FieldFile
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from pydantic_ai.messages import ModelMessage

from agui.actor import Actor
from agui.contrib.attachments.models import Attachment
from agui.contrib.attachments.references import File, made_in, named_in
from agui.part_values import NamedFile, PersonalData
from agui.stores.annotations import annotation


class FilesOfOwner(PersonalData):
    """Files, each with the ids of the threads that name it."""

    def extra(self, row: Any) -> dict[str, Any]:
        return {"threads": [use.thread_id for use in row.uses.all()]}

    def file(self, row: Any) -> tuple[str, FieldFile]:
        return row.name, row.file


def files_of(actor: Actor) -> PersonalData:
    own = Attachment.objects.filter(scope=actor.scope)
    rows = own.order_by("created_at").prefetch_related("uses")
    return FilesOfOwner("attachments", rows, hidden=("scope", "owner", "file"))


def named_files(messages: Sequence[ModelMessage]) -> list[list[NamedFile]]:
    """List the files that each message names, and say which of them are deleted."""
    ids = {file["id"] for file in named_in(messages)}
    existing: set[str] = set()
    if ids:
        pks = Attachment.objects.filter(pk__in=ids).values_list("pk", flat=True)
        existing.update(map(str, pks))
    lists = []
    for message in messages:
        files = [*(annotation(message, "attachments") or ()), *made_in(message)]
        lists.append([_named_file(file, existing) for file in files])
    return lists


def _named_file(file: File, existing: set[str]) -> NamedFile:
    name = str(file["name"])
    if file["id"] not in existing:
        return NamedFile(name, "deleted")
    page = reverse("admin:agui_attachments_attachment_change", args=[file["id"]])
    return NamedFile(name, f"{file['media_type']}, {filesizeformat(file['size'])}", page)
