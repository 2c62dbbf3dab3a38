"""The kind of a file, by its content."""

import re
from typing import Any
from zipfile import ZipFile

from agui.contrib.attachments.readers import Encrypted
from agui.contrib.office.kinds import DOCX, KINDS, MAIL, PPTX, XLS, XLSX, ZIP

# A zip file ends with the size of the list of its entries, and a comment.
END_OF_ZIP, END_BYTES, MAX_COMMENT_BYTES = b"PK\x05\x06", 22, 64 * 1024
# Larger lists, of some ten thousand entries, are not read.
MAX_LIST_BYTES = 1024 * 1024
MAIN_ENTRIES = {
    "word/document.xml": DOCX,
    "word/document2.xml": DOCX,  # of Office on the web
    "xl/workbook.xml": XLSX,
    "xl/workbook.bin": XLSX,
    "ppt/presentation.xml": PPTX,
}

# The file system in which Office 97 to 2003, Outlook and encrypted files are.
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
NAMES_OF_SHEETS = ("Workbook", "Book")
ENCRYPTED = "EncryptedPackage"

# A field of a mail's header, with the lines that continue it.
FIELD = re.compile(rb"([!-9;-~]+):.*\n(?:[ \t].*\n)*")
ENVELOPE = re.compile(rb"From .*\n")
HEADER_BYTES = 16 * 1024
FIELDS_OF_MAIL = {
    *(b"from", b"to", b"subject", b"date", b"received", b"message-id", b"mime-version"),
    *(b"return-path", b"delivered-to", b"reply-to", b"cc"),
}


def media_type_of(file: Any, head: bytes) -> str | None:
    """Return the type of a file, `head` is its beginning; None if it is of no kind here.

    Raises Encrypted.
    """
    if head.startswith(ZIP):
        return _type_of_zip(file)
    if head.startswith(COMPOUND):
        return _type_of_compound(file)
    return MAIL if _is_mail(file) else None


def _type_of_zip(file: Any) -> str | None:
    if _list_bytes(file) > MAX_LIST_BYTES:
        return None
    try:
        with ZipFile(file) as archive:
            names = set(archive.namelist())
            for name, media_type in MAIN_ENTRIES.items():
                if name in names:
                    return media_type
            return _type_of_open_document(archive) if "mimetype" in names else None
    except Encrypted:
        raise
    except Exception:  # zipfile raises a dozen kinds for broken files
        return None


def _list_bytes(file: Any) -> int:
    file.seek(max(file.size - END_BYTES - MAX_COMMENT_BYTES, 0))
    tail = file.read()
    end = tail.rfind(END_OF_ZIP)
    return int.from_bytes(tail[end + 12 : end + 16], "little")


def _type_of_open_document(archive: ZipFile) -> str | None:
    with archive.open("mimetype") as entry:
        media_type = entry.read(100).decode("latin-1").strip()
    if media_type not in KINDS:
        return None
    with archive.open("META-INF/manifest.xml") as manifest:
        if b"encryption-data" in manifest.read(MAX_LIST_BYTES):
            raise Encrypted
    return media_type


def _type_of_compound(file: Any) -> str | None:
    file.seek(0)
    data = file.read()
    if _has_entry(data, ENCRYPTED):
        raise Encrypted
    return XLS if any(_has_entry(data, name) for name in NAMES_OF_SHEETS) else None


def _has_entry(data: bytes, name: str) -> bool:
    return name.encode("utf-16-le") + b"\0\0" in data


def _is_mail(file: Any) -> bool:
    """Whether a text begins with the header of a mail. A note about one has fewer fields."""
    file.seek(0)
    head = file.read(HEADER_BYTES)
    envelope = ENVELOPE.match(head)
    position = envelope.end() if envelope else 0
    names = set()
    while field := FIELD.match(head, position):
        names.add(field[1].lower())
        position = field.end()
    return len(names & FIELDS_OF_MAIL) >= 3
