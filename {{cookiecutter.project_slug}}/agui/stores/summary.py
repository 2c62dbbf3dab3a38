"""Title, preview and cursor of a list of threads."""

import re
import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypedDict, TypeVar

from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, TextPart, UserPromptPart

from agui.errors import BadRequest

UNTITLED = "New conversation"
TITLE_CHARS = 60
PREVIEW_CHARS = 120
SEARCH_CHARS = 100_000
MAX_KEY_CHARS = 255
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

K = TypeVar("K")


class ThreadSummary(TypedDict):
    """A row of a list of threads."""

    thread_id: str
    title: str
    preview: str
    updated_at: str
    """ISO 8601."""
    unread: bool
    """Whether an answer has ended that nobody has said to have seen."""


def summarize(
    thread_id: str, title: str, preview: str, updated_at: datetime, unread: bool = False
) -> ThreadSummary:
    return ThreadSummary(
        thread_id=thread_id,
        title=title or UNTITLED,
        preview=preview,
        updated_at=updated_at.isoformat(),
        unread=unread,
    )


def ends_in_an_answer(messages: Sequence[ModelMessage]) -> bool:
    """Whether the newest message is not the user's own."""
    return bool(messages) and not any(
        isinstance(part, UserPromptPart) for part in messages[-1].parts
    )


def title_of(messages: Iterable[ModelMessage]) -> str:
    """Cut a title out of the first text of the user; '' if there is none."""
    prompts = (message for message in messages if isinstance(message, ModelRequest))
    return shorten(next((text for message in prompts for text in _texts(message)), ""), TITLE_CHARS)


def preview_of(messages: Sequence[ModelMessage]) -> str:
    """Cut a preview out of the newest text, whoever wrote it; '' if there is none."""
    return shorten(
        next((text for message in reversed(messages) for text in reversed([*_texts(message)])), ""),
        PREVIEW_CHARS,
    )


def words_of(message: ModelMessage) -> str:
    """The text of a message as a search reads it; '' if it has none."""
    return fold("\n".join(_texts(message)))


def fold(text: str) -> str:
    """Make texts comparable: case, width and ligatures make no difference. Databases fold ASCII alone, or none."""
    return unicodedata.normalize("NFKC", clean(" ".join(text[:SEARCH_CHARS].split()))).casefold()


def _texts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, TextPart):
            yield from [part.content] if part.content.strip() else []
        elif isinstance(part, UserPromptPart):
            contents = [part.content] if isinstance(part.content, str) else part.content
            texts = (item.content if isinstance(item, TextContent) else item for item in contents)
            yield from (text for text in texts if isinstance(text, str) and text.strip())


def shorten(text: str, limit: int) -> str:
    """Make one line of at most `limit` characters, cut between words if possible."""
    # Far more than the limit, far less than a pasted book: white space folds and words are dropped.
    line = clean(" ".join(text[: 20 * limit].split()))
    if len(line) <= limit:
        return line
    head, _, _ = line[:limit].rpartition(" ")
    return f"{head or line[: limit - 1]}…"


def clean(text: str) -> str:
    """Replace what a text column refuses or nobody can read: NUL, controls, lone surrogates."""
    return _UNREADABLE.sub("\ufffd", text)


def write_cursor(updated_at: datetime, key: object) -> str:
    return urlsafe_b64encode(f"{updated_at.isoformat()} {key}".encode()).decode()


def read_cursor(cursor: str, key_type: Callable[[str], K]) -> tuple[datetime, K]:
    try:
        moment, _, key = urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        updated_at = datetime.fromisoformat(moment)
        if updated_at.tzinfo is None:
            raise ValueError("The cursor's time has no zone.")
        if not key or len(key) > MAX_KEY_CHARS:
            raise ValueError("The cursor's key is none of ours.")
        # In UTC, as databases want it: a moment out of their range is an OverflowError here.
        return updated_at.astimezone(UTC), key_type(key)
    except (ValueError, OverflowError):
        raise BadRequest("The cursor is not one that a list of threads gave.") from None
