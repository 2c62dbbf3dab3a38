"""Titles, previews and cursors for lists of threads, and the words that a search compares."""

import re
import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict, TypeVar

from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, TextPart, UserPromptPart

from agui.errors import BadRequest
from agui.sentences import wording

UNTITLED = wording("New conversation")
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
    """Whether the thread has a finished answer that no client has marked as seen."""
    pinned: bool
    """Whether lists show the thread before all others."""
    archived: bool
    """Whether only the list of archived threads has the thread."""


class Marks(TypedDict, total=False):
    """A user's marks on a conversation, as ThreadSummary explains."""

    unread: bool
    pinned: bool
    archived: bool


@dataclass(frozen=True)
class Match:
    """A message that has words of a search. Of a very long one, there is only a piece."""

    message: ModelMessage | None
    message_id: str = ""
    """The client's id of a very long message, if it is the user's."""
    piece: str = ""
    """The place of the first word in a very long message, as a search reads it."""


def summarize(
    thread_id: str,
    title: str,
    preview: str,
    updated_at: datetime,
    *,
    unread: bool = False,
    pinned: bool = False,
    archived: bool = False,
) -> ThreadSummary:
    return ThreadSummary(
        thread_id=thread_id,
        title=title or str(UNTITLED),
        preview=preview,
        updated_at=updated_at.isoformat(),
        unread=unread,
        pinned=pinned,
        archived=archived,
    )


def ends_in_an_answer(messages: Sequence[ModelMessage]) -> bool:
    """Whether the newest message is not the user's."""
    if not messages:
        return False
    return not any(isinstance(part, UserPromptPart) for part in messages[-1].parts)


def title_of(messages: Iterable[ModelMessage]) -> str:
    """Cut a title out of the user's first text; '' if there is none."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for text in _texts(message):
                return shorten(text, TITLE_CHARS)
    return ""


def preview_of(messages: Sequence[ModelMessage]) -> str:
    """Cut a preview out of the newest text of user or model; '' if there is none."""
    for message in reversed(messages):
        texts = list(_texts(message))
        if texts:
            return shorten(texts[-1], PREVIEW_CHARS)
    return ""


def words_of(message: ModelMessage) -> str:
    """Fold the text of a message for a search; '' if it has none."""
    return fold("\n".join(_texts(message)))


def fold(text: str) -> str:
    """Make texts comparable: case, width and ligatures make no difference.

    Databases fold ASCII at most.
    """
    line = clean(" ".join(text[:SEARCH_CHARS].split()))
    return unicodedata.normalize("NFKC", line).casefold()


def _texts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        if not isinstance(part, TextPart | UserPromptPart):
            continue
        contents: Sequence[Any] = part.content
        if isinstance(part.content, str):
            contents = [part.content]
        for content in contents:
            text = content.content if isinstance(content, TextContent) else content
            if isinstance(text, str) and text.strip():
                yield text


def shorten(text: str, limit: int) -> str:
    """Make one line of at most `limit` characters, cut between words if possible."""
    # Runs of white space become one space, so read far more than the limit; but not a pasted book.
    line = clean(" ".join(text[: 20 * limit].split()))
    if len(line) <= limit:
        return line
    head, _, _ = line[:limit].rpartition(" ")
    return f"{head or line[: limit - 1]}…"


def clean(text: str) -> str:
    """Replace characters that a text column refuses: NUL, controls, lone surrogates."""
    return _UNREADABLE.sub("\ufffd", text)


def write_cursor(pinned: bool, updated_at: datetime, key: object) -> str:
    return urlsafe_b64encode(f"{pinned:d} {updated_at.isoformat()} {key}".encode()).decode()


def read_cursor(cursor: str, key_type: Callable[[str], K]) -> tuple[bool, datetime, K]:
    """Read what `write_cursor` has written. Raises BadRequest for anything else."""
    try:
        text = urlsafe_b64decode(cursor.encode()).decode()
        pinned, moment, key = text.split(" ", 2)
        if pinned not in ("0", "1"):
            raise ValueError("The cursor does not say whether its thread is pinned.")
        updated_at = datetime.fromisoformat(moment)
        if updated_at.tzinfo is None:
            raise ValueError("The cursor's time has no zone.")
        if not key or len(key) > MAX_KEY_CHARS:
            raise ValueError("The cursor's key is none of ours.")
        # Databases want UTC. A moment outside their range raises OverflowError here.
        return pinned == "1", updated_at.astimezone(UTC), key_type(key)
    except (ValueError, OverflowError):
        raise BadRequest("The cursor is not one that a list of threads gave.") from None
