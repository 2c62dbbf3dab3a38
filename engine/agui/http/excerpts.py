"""Where the threads of a search have its words: a message, and an excerpt of its text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, TypedDict

from agui.protocol.outbound import wire_messages
from agui.stores.summary import SEARCH_CHARS, Match, clean

EXCERPT_CHARS = 120
# Text before the word, so that a narrow page still shows the word itself.
BEFORE_CHARS = 40
# The longest run of letters without a space that is not cut.
LONG_WORD = 24
# Markdown that an answer is written in, and that a reader does not see.
_MARKS = re.compile(
    r"\[([^][]*)\]\([^()\s]*\)|^[ |:-]+$|^ *(?:#{1,6} |> ?|[-+*] |\| ?)| ?\|$"
    r"|\*\*|~~|`+|(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*])",
    re.MULTILINE,
)


class Hit(TypedDict):
    """What a search adds to a row of a list of threads."""

    message_id: str | None
    """The message that has the words; None if only the title has them."""
    excerpt: str


NO_HIT = Hit(message_id=None, excerpt="")


def find_hits(matches: dict[str, Match], words: Sequence[str]) -> dict[str, Hit]:
    """Cut excerpts out of the matches of threads."""
    return {thread_id: hit_of(match, words) for thread_id, match in matches.items()}


def hit_of(match: Match, words: Sequence[str]) -> Hit:
    """Cut the excerpt out of a match, as plain text."""
    if match.message is None:
        return Hit(message_id=match.message_id or None, excerpt=excerpt_of(match.piece, words))
    for message in wire_messages([match.message]):
        for text in _texts(message):
            is_answer = message["role"] == "assistant"
            shown = _MARKS.sub(r"\1", text[:SEARCH_CHARS]) if is_answer else text
            # What only an address has is not shown.
            excerpt = excerpt_of(shown, words) or excerpt_of(text, words)
            if excerpt:
                return Hit(message_id=message["id"], excerpt=excerpt)
    return NO_HIT  # The message is one that clients don't see.


def _texts(message: dict[str, Any]) -> Iterator[str]:
    if message["role"] not in ("user", "assistant"):
        return
    content = message.get("content") or ""
    if isinstance(content, str):
        yield content
        return
    for part in content:
        if part.get("type") == "text":
            yield part["text"]


def excerpt_of(text: str, words: Sequence[str]) -> str:
    """Cut a line around the first of the words out of a text; '' if the text has none of them."""
    line = clean(" ".join(text[:SEARCH_CHARS].split()))
    place = _find(line, words)
    if place is None:
        return ""
    start = max(0, min(place - BEFORE_CHARS, len(line) - EXCERPT_CHARS))
    end = start + EXCERPT_CHARS
    before = after = ""
    if start:
        before = "…"
        space = line.find(" ", start, min(place, start + LONG_WORD))
        start = space + 1 or start
    if end < len(line):
        after = "…"
        space = line.rfind(" ", max(place + 1, end - LONG_WORD), end)
        if space > 0:
            end = space
    return f"{before}{line[start:end]}{after}"


def _find(line: str, words: Sequence[str]) -> int | None:
    """Find the first of the words, which are folded as a search reads them (summary.py)."""
    folded = _fold(line)
    places = [folded.find(word) for word in words if word in folded]
    if not places:
        return None
    place = min(places)
    if line.isascii():
        return place
    # A character may become several, or one with the next.
    ends = accumulate(len(_fold(char)) for char in line)
    return next((index for index, end in enumerate(ends) if end > place), len(line) - 1)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
