"""Documents that the page shows beside the conversation, with their versions.

A tool that writes a report while a model streams it:

    report = await show_document(ctx, "report", title="Report")
    async for text in texts:
        await report.append(text)
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args
from uuid import uuid4

from pydantic_ai import RunContext

from agui.deps import AgentDeps
from agui.events.activities import as_table
from agui.events.progress import ProtocolEvent, show_activity
from agui.protocol.types import ActivityDeltaEvent
from agui.stores.codec import to_json

DocumentKind = Literal["markdown", "code", "table", "image", "page"]
Rows = Sequence[Mapping[str, Any]]

ACTIVITY = "document"
MAX_CHARS = 1_000_000
"""The length of a text, or of the rows of a table in JSON."""
MAX_NAME_CHARS = 200
MAX_COLUMNS = 60  # The page draws no more.
LANGUAGE = re.compile(r"[\w+#.-]{0,40}")
# Browsers drop tabs and line ends, and read a backslash as a slash: "/\t/host" is another host.
PATH = re.compile(r"/(?![/\\])[^\s\\\x00-\x1f\x7f]{0,2000}")


class Document:
    """A document that a tool has shown."""

    def __init__(self, ctx: RunContext[AgentDeps], message_id: str, chars: int | None) -> None:
        self._ctx = ctx
        self._message_id = message_id
        self._chars = chars
        """The length of the text; None if the document is no text."""

    async def append(self, text: str) -> None:
        """Add to the text of the document, for no more than the new text costs.

        Raises ValueError if the document is no text, or becomes too long.
        """
        if self._chars is None:
            raise ValueError("Only a document of the kind 'markdown' or 'code' can grow.")
        if not text:
            return
        chars = self._chars + len(text)
        _check_length(chars)
        event = ActivityDeltaEvent(
            message_id=self._message_id,
            activity_type=ACTIVITY,
            patch=[{"op": "add", "path": "/text/-", "value": text}],
        )
        await self._ctx.emit(ProtocolEvent(event=event))
        self._chars = chars


async def show_document(
    ctx: RunContext[AgentDeps],
    id: str,
    content: str | Rows = "",
    *,
    title: str = "",
    kind: DocumentKind = "markdown",
    language: str = "",
) -> Document:
    """Show a document beside the conversation; the same `id` again makes a new version of it.

    `content` is the text, for a table its rows, and for an image or a page its path on this site.
    `language` is that of code, such as "python". Raises ValueError for what the page can't show.
    """
    if kind not in get_args(DocumentKind):
        kinds = ", ".join(get_args(DocumentKind))
        raise ValueError(f"There is no document of kind {kind!r}: use one of {kinds}.")
    if not 0 < len(id) <= MAX_NAME_CHARS:
        raise ValueError(f"The id of a document has 1 to {MAX_NAME_CHARS} characters, not {id!r}.")
    if len(title) > MAX_NAME_CHARS:
        raise ValueError(f"The title {title[:40]!r}... is longer than {MAX_NAME_CHARS} characters.")
    if not LANGUAGE.fullmatch(language):
        raise ValueError(f"{language!r} is no language: write a name such as 'python' or 'c++'.")
    shown = {"id": id, "title": title, "kind": kind, "language": language, **_shown(kind, content)}
    message_id = f"{ACTIVITY}-{uuid4()}"
    # An empty title or language is left out.
    filled = {key: value for key, value in shown.items() if value != ""}
    await show_activity(ctx, ACTIVITY, filled, message_id=message_id)
    is_text = kind in ("markdown", "code")
    return Document(ctx, message_id, len(content) if is_text else None)


def _shown(kind: DocumentKind, content: str | Rows) -> dict[str, Any]:
    """Put the content into the form that the page reads."""
    if kind == "table":
        if isinstance(content, str):
            raise ValueError("A table needs rows: give a list of mappings.")
        table = to_json(as_table(content))
        if len(table["columns"]) > MAX_COLUMNS:
            raise ValueError(
                f"The table has {len(table['columns'])} columns: {MAX_COLUMNS} can be shown."
            )
        _check_length(len(json.dumps(table["rows"], ensure_ascii=False)))
        return dict(table)
    if not isinstance(content, str):
        raise ValueError(f"A document of kind {kind!r} needs a text, not {type(content).__name__}.")
    if kind in ("image", "page"):
        if not PATH.fullmatch(content):
            raise ValueError(f"{content[:80]!r} is no path of this site, such as '/reports/7/'.")
        return {"path": content}
    _check_length(len(content))
    # Pieces, because a JSON Patch can add to a list and not to a text.
    return {"text": [content] if content else []}


def _check_length(chars: int) -> None:
    if chars > MAX_CHARS:
        raise ValueError(
            f"The document has {chars} characters: {MAX_CHARS} can be shown. Show a part of it."
        )
