"""The files of attachments: what an upload is, how it is stored, and when it is deleted.

The type of a file is found out from its content, never taken from the client. If its owner uploads
the same content again, it gets a row of its own but is stored once. Files of other owners are never
compared, so that nobody learns what they have.
"""

import codecs
import hashlib
import re
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.core.files.uploadedfile import UploadedFile
from django.db import router, transaction
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.actor import Actor
from agui.contrib.attachments import readers
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.encodings import encoding_of
from agui.contrib.attachments.models import Attachment
from agui.errors import TooLarge, UnsupportedMediaType
from agui.sentences import fill_lazy

CHUNK_BYTES = 64 * 1024
UNKNOWN_TYPE = "application/octet-stream"
# Control characters that no text in UTF-8 has: all but \a \b \t \n \v \f \r and escape.
NOT_TEXT = bytes({*range(32)} - {*range(7, 14), 27})

# Each (offset, bytes) has to be there.
MAGIC: dict[str, tuple[tuple[int, bytes], ...]] = {
    "image/png": ((0, b"\x89PNG\r\n\x1a\n"),),
    "image/jpeg": ((0, b"\xff\xd8\xff"),),
    "image/gif": ((0, b"GIF8"), (5, b"a")),
    "image/webp": ((0, b"RIFF"), (8, b"WEBP")),
}
PDF = "application/pdf"
# Mailers and printers put blanks, a byte order mark or lines of their own before it. A text that
# speaks of PDF files has no end of one.
HEAD_BYTES = 1024
PDF_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*%PDF-")
PDF_WITHIN = re.compile(rb"%PDF-\d\.\d")
PDF_END = b"%%EOF"

IMAGES = frozenset(MAGIC)

# What users call the types that the settings name.
KINDS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
    PDF: "PDF",
    "text/plain": "texts",
}


@dataclass
class Content:
    """The kind of a file by its content. `encoding` is "" for a text whose letters are not sure."""

    media_type: str
    digest: str
    encoding: str = "utf-8"


class UnknownKind(UnsupportedMediaType):
    """Refuses a file of a kind that the settings don't accept."""

    code = "unknown_kind"

    def __init__(self, accepted: list[str]) -> None:
        named = {**KINDS, **readers.kinds()}
        kinds = [named.get(media_type, media_type) for media_type in accepted]
        super().__init__(
            f"This kind of file can't be read. You can send: {', '.join(kinds)}.",
            accepted=accepted,
            kinds=kinds,
        )


class UnknownEncoding(UnsupportedMediaType):
    """Refuses a text whose letters could be others."""

    code = "unknown_encoding"
    message = "The encoding of this text is unclear. Save it as UTF-8 and send it again."


def keep_upload(upload: UploadedFile, actor: Actor) -> Attachment:
    """Store an upload for its owner.

    Raises UnknownKind for content that the settings don't accept, UnknownEncoding and TooLarge.
    """
    content = inspect(upload)
    accepted = [*conf.part(AttachmentsSettings).types, *readers.kinds()]
    if content.media_type not in accepted:
        raise UnknownKind(accepted)
    if not content.encoding:
        raise UnknownEncoding
    return keep(upload, content, actor)


def keep(upload: UploadedFile, content: Content, actor: Actor) -> Attachment:
    """Store a file for its owner. Raises TooLarge."""
    attachment = Attachment(
        id=uuid4(),
        scope=actor.scope,
        owner=actor.user if actor.user.is_authenticated else None,
        name=upload.name or "file",
        media_type=content.media_type,
        encoding=content.encoding,
        size=upload.size or 0,
        digest=content.digest,
    )
    if not share_file(attachment):
        save_file(attachment, upload)
    check_room(attachment)
    return attachment


def share_file(attachment: Attachment) -> bool:
    """Save an attachment with a file that its owner already has. Return whether there is one."""
    with transaction.atomic(using=router.db_for_write(Attachment)):
        # The lock keeps others from deleting the last row of this file before it has a new one.
        rows = Attachment.objects.select_for_update()
        same = rows.filter(scope=attachment.scope, digest=attachment.digest).first()
        if same is None or not same.file.storage.exists(same.file.name or ""):
            return False
        attachment.file.name = same.file.name
        attachment.save(force_insert=True)
        return True


def save_file(attachment: Attachment, upload: UploadedFile) -> None:
    """Save an attachment with the uploaded file."""
    file = attachment.file
    # The user's own name for the file could be a path, a page or a script.
    name = file.field.generate_filename(attachment, str(attachment.pk))
    try:
        name = file.storage.save(name, upload)
        file.name = name
        attachment.save(force_insert=True)
    except Exception:
        # If the disk is full, a part of the file may be on it.
        file.storage.delete(name)
        raise


def check_room(attachment: Attachment) -> None:
    """Delete an attachment that exceeds its owner's limit. Raises TooLarge.

    It is checked after the file is stored: before, each of several uploads at once would fit.
    """
    limit = conf.part(AttachmentsSettings).max_total_bytes
    own = Attachment.objects.filter(scope=attachment.scope)
    total = own.aggregate(size=Sum("size"))["size"] or 0
    if limit is not None and total > limit:
        attachment.delete()
        raise TooLarge(
            fill_lazy(
                _("There is no room left: all of your files may have {limit} bytes together."),
                limit=limit,
            ),
            limit=limit,
        )


def inspect(upload: UploadedFile) -> Content:
    """Find out what a file is. Only a text in another encoding than UTF-8 is read at once."""
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    head, end, is_utf8 = b"", b"", True
    upload.seek(0)
    for chunk in upload.chunks(CHUNK_BYTES):
        digest.update(chunk)
        head = head or chunk[:HEAD_BYTES]
        end = (end + chunk)[-HEAD_BYTES:]
        # ISO 2022, an encoding of Japanese, has escapes and nothing but ASCII.
        if len(chunk.translate(None, NOT_TEXT)) != len(chunk) or b"\x1b$" in chunk:
            is_utf8 = False
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            is_utf8 = False
    pending, _ = decoder.getstate()
    media_type = media_type_of(head, end) or readers.media_type_of(upload, head)
    if media_type:
        return Content(media_type, digest.hexdigest())
    if is_utf8 and not pending:  # else the file ends within a character
        return Content("text/plain", digest.hexdigest())
    return _other_text(upload, digest.hexdigest())


def _other_text(upload: UploadedFile, digest: str) -> Content:
    is_small = (upload.size or 0) <= conf.get().max_read_bytes
    upload.seek(0)
    encoding = encoding_of(upload.read()) if is_small else ""
    # The client's word decides only how the file is refused.
    is_text = encoding or (upload.content_type or "").startswith("text/")
    return Content("text/plain", digest, encoding) if is_text else Content(UNKNOWN_TYPE, digest)


def media_type_of(head: bytes, end: bytes = b"") -> str | None:
    """Return the media type that a file's first and last 1024 bytes tell; None if unknown."""
    for media_type, marks in MAGIC.items():
        if all(head[offset : offset + len(mark)] == mark for offset, mark in marks):
            return media_type
    if PDF_BEGIN.match(head) or (PDF_WITHIN.search(head) and PDF_END in end):
        return PDF
    return None


def delete_file(instance: Attachment, using: str, **kwargs: Any) -> None:
    """Delete an attachment's file after its row, unless another row has the same file.

    As a signal, it also sees rows that the database's cascade deletes with their owner.
    """
    storage, name = instance.file.storage, instance.file.name
    own = Attachment.objects.using(using).filter(scope=instance.scope)
    same = own.filter(digest=instance.digest, file=name)

    def delete_unshared() -> None:
        if name and not same.exists():
            storage.delete(name)

    # Robust: the failure of a storage is logged, and other files are still deleted.
    transaction.on_commit(delete_unshared, using=using, robust=True)
