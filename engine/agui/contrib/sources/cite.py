"""Name the sources of a tool's result: `return cite(result, Source(title="Hours"))`.

The model reads the result and the numbers of its sources. Clients get the sources with the answer.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel
from pydantic_ai import ToolReturn

T = TypeVar("T")

MAX_SOURCES = 50
MAX_TITLE_CHARS = 300
MAX_URL_CHARS = 2000
MAX_QUOTE_CHARS = 1000
# In the metadata of a tool's result.
METADATA_KEY = "agui_sources"
# An http(s) address, or a path of this site. Browsers read "/\" as "//": another site.
_SAFE_URL = re.compile(r"(https?://|/(?![/\\]))[^\s<>\x00-\x1f\x7f]*", re.IGNORECASE)


def _safe_url(url: str) -> str:
    is_safe = len(url) <= MAX_URL_CHARS and _SAFE_URL.fullmatch(url)
    return url if is_safe else ""


class Source(BaseModel, frozen=True):
    """The source of a statement: a page, a document, a row.

    Sources with one URL are one source, and so are those with one title and no URL.
    """

    title: Annotated[str, AfterValidator(lambda text: text.strip()[:MAX_TITLE_CHARS])]
    url: Annotated[str, AfterValidator(_safe_url)] = ""
    """An http(s) address, or a path of this site. Any other address is left out."""
    quote: Annotated[str, AfterValidator(lambda text: text.strip()[:MAX_QUOTE_CHARS])] = ""
    """The passage that supports the statement."""


class NumberedSource(Source, frozen=True):
    number: int


class Sources:
    """The sources of one turn, numbered from 1 in the order in which they were named."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sources: dict[int, Source] = {}
        # Tools may run at once, in threads.
        self._lock = threading.Lock()

    def add(self, source: Source, number: int = 0) -> int:
        """Return the number of a source; 0 if it has no text, or if there are too many sources.

        `number` is the number that a new source has already.
        """
        key = source.url or source.title
        with self._lock:
            if key in self._numbers:
                number = self._numbers[key]
                earlier = self._sources[number]
                if source.quote not in earlier.quote:
                    quote = f"{earlier.quote}\n\n{source.quote}"
                    self._sources[number] = Source(
                        title=earlier.title, url=earlier.url, quote=quote
                    )
                return number
            if not key or len(self._sources) >= MAX_SOURCES:
                return 0
            if not number or number in self._sources:
                number = max(self._sources, default=0) + 1
            self._numbers[key] = number
            self._sources[number] = source
            return number

    def rows(self) -> list[dict[str, Any]]:
        """List the sources as clients get them."""
        rows = []
        for number, source in sorted(self._sources.items()):
            rows.append({"number": number, **source.model_dump(exclude_defaults=True)})
        return rows


_sources: ContextVar[Sources | None] = ContextVar("agui_sources", default=None)


@contextmanager
def numbering(sources: Sources) -> Iterator[None]:
    """Let the tools of a run number their sources together."""
    token = _sources.set(sources)
    try:
        yield
    finally:
        _sources.reset(token)


def cite(result: T, *sources: Source) -> ToolReturn[T]:
    """Return a tool's result with its sources.

    The model reads `{"result": ..., "cite_as": {"[1]": "the source's title"}}`, or only the result
    if there are no sources.
    """
    numbers = _sources.get() or Sources()
    labels = {}
    rows = []
    for source in sources:
        number = numbers.add(source)
        if number:
            labels[f"[{number}]"] = source.title or source.url
            rows.append({"number": number, **source.model_dump()})
    if not rows:
        return ToolReturn(result)
    return ToolReturn({"result": result, "cite_as": labels}, metadata={METADATA_KEY: rows})
