"""Thoughts that a model writes between tags into its text, wherever its provider cuts the text."""

import re
from collections.abc import Iterator

TICK = "`"
QUOTES = ("`", '"', "'", "“", "«", "„")


class TaggedText:
    """Reads a text that comes in pieces, and tells thoughts from text.

    A tag counts where models write it: the opening one begins a line. A closing one alone ends a
    thought that the prompt has begun. In code and in quotes, a tag is what the model talks about.
    """

    def __init__(
        self, tags: tuple[str, str], *, is_thought: bool = False, follows_thought: bool = False
    ) -> None:
        self._tags = tags
        self._pattern = re.compile("|".join(map(re.escape, tags)))
        self._is_thought = is_thought
        self._has_tags = is_thought or follows_thought
        self._held = ""
        """The end of the text, if a tag may begin there."""
        self._is_trimming = follows_thought
        """Whether white space is dropped: models leave some after a tag."""
        self._ticks = 0
        self._line = ""

    def add_plain(self, text: str) -> bool:
        """Read a text that is one piece, as it is; returns False if it may not be."""
        if self._held or self._is_thought or self._is_trimming or "<" in text:
            return False
        self._follow(text)
        return True

    def read(self, text: str, *, is_last: bool = False) -> Iterator[tuple[bool, str] | None]:
        """Yield pieces, each with whether it is a thought.

        None says that all before it was a thought.
        """
        text, self._held = self._held + text, ""
        start = 0
        if "<" in text:
            for match in self._pattern.finditer(text):
                before = text[start : match.start()]
                if not self._counts(match[0], before):
                    continue
                yield from self._pass(before)
                start = match.end()
                if not self._has_tags and match[0] == self._tags[1]:
                    yield None
                self._is_thought = match[0] == self._tags[0]
                self._has_tags = self._is_trimming = True
            if not is_last:
                text = self._hold(text, start)
        yield from self._pass(text[start:])

    def _counts(self, tag: str, before: str) -> bool:
        """Whether a tag is one, and not what the text is about."""
        if self._is_thought:
            return tag == self._tags[1]
        line = (self._line + before).rpartition("\n")[2]
        if (self._ticks + before.count(TICK)) % 2 or line.endswith(QUOTES):
            return False
        if tag == self._tags[0]:
            return not line.strip()
        return not self._has_tags

    def _hold(self, text: str, start: int) -> str:
        """Hold the end of a text back if it may be the beginning of a tag."""
        cut = text.rfind("<", start)
        if cut >= 0 and any(tag.startswith(text[cut:]) for tag in self._tags):
            self._held = text[cut:]
            return text[:cut]
        return text

    def _pass(self, text: str) -> Iterator[tuple[bool, str]]:
        if self._is_trimming:
            text = text.lstrip()
        if not text:
            return
        self._is_trimming = False
        self._follow(text)
        yield self._is_thought, text

    def _follow(self, text: str) -> None:
        self._ticks += text.count(TICK)
        _, newline, line = text.rpartition("\n")
        self._line = line if newline else self._line + line
