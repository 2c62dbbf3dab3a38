"""Files that users add to a conversation: upload, download, delete.

A file's type is found out from its content, never taken from the client. The same content uploaded
again by the same owner is a row of its own, but is stored once; other owners' are never looked at,
so that nobody learns what they have. Down it goes as a download, whole, in chunks and only to its
owner: a browser shows or runs nothing of it.
"""

import codecs
import hashlib
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.core.files import File
from django.core.files.uploadedfile import UploadedFile
from django.db import router, transaction
from django.db.models import Sum
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.utils.http import content_disposition_header

from agui import conf
from agui.actor import Actor
from agui.blocking.executor import release_connections, run_in_thread
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.models import Attachment
from agui.errors import NotFound, TooLarge, UnsupportedMediaType
from agui.http.uploads import FORM_BYTES, check_upload_length, read_upload
from agui.http.views import AgentView

CHUNK_BYTES = 64 * 1024
UNKNOWN_TYPE = "application/octet-stream"
# Control characters that no text holds: all but \a \b \t \n \v \f \r and escape.
NOT_TEXT = bytes({*range(32)} - {*range(7, 14), 27})

# (offset, bytes) that have to be there.
MAGIC: dict[str, tuple[tuple[int, bytes], ...]] = {
    "image/png": ((0, b"\x89PNG\r\n\x1a\n"),),
    "image/jpeg": ((0, b"\xff\xd8\xff"),),
    "image/gif": ((0, b"GIF8"), (5, b"a")),
    "image/webp": ((0, b"RIFF"), (8, b"WEBP")),
    "application/pdf": ((0, b"%PDF-"),),
}


class AttachmentsView(AgentView):
    """Takes a file."""

    methods = frozenset({"POST"})

    def max_body_bytes(self) -> int:
        return conf.part(AttachmentsSettings).max_bytes + FORM_BYTES

    def check_length(self, request: HttpRequest) -> None:
        check_upload_length(request, conf.part(AttachmentsSettings).max_bytes)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        upload = await sync_to_async(read_upload)(request, conf.part(AttachmentsSettings).max_bytes)
        attachment = await sync_to_async(keep_upload)(upload, actor)
        body = {
            "id": str(attachment.pk),
            "name": attachment.name,
            "mime": attachment.media_type,
            "size": attachment.size,
            "url": f"{request.path.rstrip('/')}/{attachment.pk}/",
        }
        return JsonResponse(body, status=201)


class AttachmentView(AgentView):
    """One of the actor's files: to download, to delete."""

    methods = frozenset({"GET", "DELETE"})

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        attachment = await Attachment.objects.filter(
            scope=actor.scope, pk=kwargs["attachment_id"]
        ).afirst()
        if attachment is None:
            raise NotFound("There is no such attachment.")
        if request.method == "DELETE":
            await attachment.adelete()
            return HttpResponse(status=204)
        return await download(attachment, with_content=request.method == "GET")


async def download(attachment: Attachment, *, with_content: bool = True) -> HttpResponseBase:
    """Answer with a file. Raises NotFound when it is gone."""
    headers = {
        "Content-Type": attachment.media_type,
        "Content-Length": str(attachment.size),
        "Content-Disposition": content_disposition_header(True, attachment.name) or "attachment",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
        # Slow readers wait at the proxy: daphne would hold the rest in memory
        "X-Accel-Buffering": "yes",
    }
    try:
        file = await run_in_thread(
            attachment.file.storage.open, attachment.file.name or "", "rb", pool="files"
        )
    except FileNotFoundError:
        raise NotFound("The file of this attachment is gone.") from None
    if with_content:
        await release_connections()  # A slow reader is not to hold one
        return StreamingHttpResponse(Chunks(file), headers=headers)
    file.close()
    return HttpResponse(headers=headers)


def keep_upload(upload: UploadedFile, actor: Actor) -> Attachment:
    """Store an upload for its owner. Raises UnsupportedMediaType for content that the settings don't allow."""
    media_type, digest = inspect(upload)
    accepted = conf.part(AttachmentsSettings).types
    if media_type not in accepted:
        raise UnsupportedMediaType(
            f"This kind of file is not accepted. Accepted are: {', '.join(accepted)}."
        )
    attachment = Attachment(
        id=uuid4(),
        scope=actor.scope,
        owner=actor.user if actor.user.is_authenticated else None,
        name=upload.name or "file",
        media_type=media_type,
        size=upload.size or 0,
        digest=digest,
    )
    if not share_file(attachment):
        # The name on disk is ours: the user's own could be a path, a page or a script.
        file, name = (
            attachment.file,
            attachment.file.field.generate_filename(attachment, str(attachment.pk)),
        )
        try:
            file.name = name = file.storage.save(name, upload)
            attachment.save(force_insert=True)
        except Exception:
            file.storage.delete(name)  # Where the disk is full, a part of it is there
            raise
    check_room(attachment)
    return attachment


def share_file(attachment: Attachment) -> bool:
    """Save an attachment with the file that its owner has of the same content; whether there is one."""
    with transaction.atomic(using=router.db_for_write(Attachment)):
        # Locked: until we are there, too, nobody may delete the last one that has the file.
        rows = Attachment.objects.select_for_update().filter(
            scope=attachment.scope, digest=attachment.digest
        )
        same = rows.first()
        if same is None or not same.file.storage.exists(same.file.name or ""):
            return False
        attachment.file.name = same.file.name
        attachment.save(force_insert=True)
        return True


def check_room(attachment: Attachment) -> None:
    """Take back what is too much. Afterwards, as of many uploads at once each could still find room before."""
    limit = conf.part(AttachmentsSettings).max_total_bytes
    total = (
        Attachment.objects.filter(scope=attachment.scope).aggregate(size=Sum("size"))["size"] or 0
    )
    if limit is not None and total > limit:
        attachment.delete()
        raise TooLarge(
            f"There is no room left: all of your files may have {limit} bytes together.",
            limit=limit,
        )


def inspect(upload: UploadedFile) -> tuple[str, str]:
    """Find out the media type and the SHA-256 of a file, reading it once."""
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    head, is_text = b"", True
    upload.seek(0)
    for chunk in upload.chunks(CHUNK_BYTES):
        digest.update(chunk)
        head = head or chunk[:16]
        try:
            is_text = is_text and len(chunk.translate(None, NOT_TEXT)) == len(chunk)
            decoder.decode(chunk)
        except UnicodeDecodeError:
            is_text = False
    if is_text:
        # A character that was cut off at the end of the file
        is_text = not decoder.getstate()[0]
    return media_type_of(head) or ("text/plain" if is_text else UNKNOWN_TYPE), digest.hexdigest()


def media_type_of(head: bytes) -> str | None:
    """Tell the media type by a file's first 16 bytes; None if they are no known signature."""
    for media_type, marks in MAGIC.items():
        if all(head[offset : offset + len(mark)] == mark for offset, mark in marks):
            return media_type
    return None


class Chunks:
    """An open file, to be read piece by piece and off the event loop. Django closes it, however the response ends."""

    def __init__(self, file: File) -> None:
        self.file = file

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        while chunk := await run_in_thread(self.file.read, CHUNK_BYTES, pool="files"):
            yield chunk

    def close(self) -> None:
        self.file.close()


def delete_file(instance: Attachment, using: str, **kwargs: Any) -> None:
    """Let an attachment's file go with it, however it is deleted: also with its owner, by the database's cascade."""
    storage, name = instance.file.storage, instance.file.name
    same = Attachment.objects.using(using).filter(
        scope=instance.scope, digest=instance.digest, file=name
    )

    def delete_unshared() -> None:
        if name and not same.exists():
            storage.delete(name)

    # Robust: a storage that fails is logged, and other files still go.
    transaction.on_commit(delete_unshared, using=using, robust=True)
