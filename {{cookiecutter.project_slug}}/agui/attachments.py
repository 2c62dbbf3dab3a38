"""Files that users add to a conversation: upload, download, delete.

A file's type is found out from its content, never taken from the client. The same content uploaded
again by the same owner is a row of its own, but is stored once. Down it goes as a download, in
chunks and only to its owner: a browser shows or runs nothing of it.
"""

import asyncio
import codecs
import hashlib
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import Storage
from django.core.files.uploadedfile import UploadedFile
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils.http import content_disposition_header

from agui import conf
from agui.auth import Actor
from agui.errors import BadRequest, MethodNotAllowed, NotFound, TooLarge, UnsupportedMediaType
from agui.models import Attachment
from agui.views import AgentView

CHUNK_BYTES = 64 * 1024
# What a multipart body may hold next to the file: boundaries, headers, a CSRF token.
FORM_BYTES = 16 * 1024
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
    """POST a file to the collection; GET or DELETE one."""

    methods = frozenset({"GET", "POST", "DELETE"})

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        attachment_id: UUID | None = kwargs.get("attachment_id")
        allowed = {"POST"} if attachment_id is None else {"DELETE", "GET"}
        if request.method not in allowed:
            raise MethodNotAllowed(headers={"Allow": ", ".join(sorted(allowed))})
        if attachment_id is None:
            return await self.upload(request, actor)
        attachment = await Attachment.objects.filter(scope=actor.scope, pk=attachment_id).afirst()
        if attachment is None:
            raise NotFound("There is no such attachment.")
        if request.method == "DELETE":
            await sync_to_async(delete_attachment)(attachment)
            return HttpResponse(status=204)
        return await self.download(attachment)

    async def upload(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        length = request.headers.get("Content-Length", "")
        check_size((int(length) if length.isdecimal() else 0) - FORM_BYTES)
        upload = await sync_to_async(read_upload)(request)
        attachment = await sync_to_async(keep_upload)(upload, actor)
        body = {
            "id": str(attachment.pk),
            "name": attachment.name,
            "mime": attachment.media_type,
            "size": attachment.size,
            "url": f"{request.path.rstrip('/')}/{attachment.pk}/",
        }
        return JsonResponse(body, status=201, headers={"Cache-Control": "no-store"})

    async def download(self, attachment: Attachment) -> StreamingHttpResponse:
        storage, path = attachment.file.storage, attachment.file.name or ""
        if not await sync_to_async(storage.exists)(path):
            raise NotFound("The file of this attachment is gone.")
        headers = {
            "Content-Type": attachment.media_type,
            "Content-Length": str(attachment.size),
            "Content-Disposition": content_disposition_header(True, attachment.name) or "attachment",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        }
        return StreamingHttpResponse(read_chunks(storage, path), headers=headers)


def check_size(size: int) -> None:
    limit = conf.get().max_upload_bytes
    if size > limit:
        raise TooLarge(f"The file is too large: at most {limit} bytes.", limit=limit)


def read_upload(request: HttpRequest) -> UploadedFile:
    """Take the one file out of a multipart body. Django keeps what is large on disk, not in memory."""
    if request.content_type != "multipart/form-data":
        raise UnsupportedMediaType("Send multipart/form-data with a file in the field 'file'.")
    try:
        uploads = request.FILES.getlist("file")
    except (MultiPartParserError, SuspiciousOperation):
        raise BadRequest("The form could not be read.") from None
    if len(uploads) != 1:
        raise BadRequest(f"Send one file in the field 'file', not {len(uploads)}.")
    check_size(uploads[0].size or 0)
    if not uploads[0].size:
        raise BadRequest("The file is empty.")
    return uploads[0]


def keep_upload(upload: UploadedFile, actor: Actor) -> Attachment:
    """Store an upload for its owner. Raises UnsupportedMediaType for content that the settings don't allow."""
    media_type, digest = inspect(upload)
    accepted = conf.get().upload_types
    if media_type not in accepted:
        raise UnsupportedMediaType(f"This kind of file is not accepted. Accepted are: {', '.join(accepted)}.")
    attachment = Attachment(
        id=uuid4(),
        scope=actor.scope,
        owner=actor.user if actor.user.is_authenticated else None,
        name=upload.name or "file",
        media_type=media_type,
        size=upload.size or 0,
        digest=digest,
    )
    same = Attachment.objects.filter(scope=actor.scope, digest=digest).first()
    if same is not None and same.file.storage.exists(same.file.name or ""):
        attachment.file.name = same.file.name
        attachment.save()
    else:
        # The name on disk is ours: the user's own could be a path, a page or a script.
        attachment.file.save(str(attachment.pk), upload)
    return attachment


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


async def read_chunks(storage: Storage, path: str) -> AsyncIterator[bytes]:
    """Read a file piece by piece, off the event loop."""
    # Opened here: a response that is never read leaves nothing open.
    file = await asyncio.to_thread(storage.open, path, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
    finally:
        file.close()


def delete_attachment(attachment: Attachment) -> None:
    """Delete an attachment, and its file if no other one has it."""
    storage, name = attachment.file.storage, attachment.file.name
    database = router.db_for_write(Attachment)
    with transaction.atomic(using=database):
        attachment.delete()
        if name and not Attachment.objects.filter(file=name).exists():
            transaction.on_commit(lambda: storage.delete(name), using=database)
