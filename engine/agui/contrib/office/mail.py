"""Mails: their header as people see it, their text, and the names of what is attached."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from agui.contrib.office.html_text import markdown_of

FIELDS = ("From", "To", "Cc", "Reply-To", "Date", "Subject")
MAX_DEPTH = 5


def read(data: bytes, media_type: str) -> str:
    if data.startswith(b"From "):
        data = data.partition(b"\n")[2]
    return _mail(message_from_bytes(data, policy=policy.default), MAX_DEPTH)


def _mail(mail: Any, depth: int) -> str:
    lines = []
    for name in FIELDS:
        value = " ".join(str(mail.get(name, "")).split())
        if value:
            lines.append(f"{name}: {value}")
    texts = ["\n".join(lines)]
    body = mail.get_body(("plain", "html"))
    if body is not None:
        texts.append(_text(body).strip())
    attached = []
    mails = []
    for part in mail.iter_attachments():
        if part.get_content_type() == "message/rfc822" and depth:
            mails.append(part.get_content())
        else:
            name = part.get_filename() or "without a name"
            attached.append(f"- {' '.join(name.split())} ({part.get_content_type()})")
    if attached:
        texts.append("Attached files, which are not part of this text:\n\n" + "\n".join(attached))
    for inner in mails:
        texts.append("---\n\nA mail that is attached:\n\n" + _mail(inner, depth - 1))
    return "\n\n".join(texts)


def _text(body: EmailMessage) -> str:
    try:
        text = body.get_content()
    except LookupError:  # an unknown encoding
        text = body.get_payload(decode=True).decode("utf-8", "replace")  # type: ignore[union-attr]
    if body.get_content_subtype() == "html":
        return markdown_of(text)
    return str(text)
