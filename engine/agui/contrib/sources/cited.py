"""The sources of an answer: those that tools have named, then those that the provider has cited."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import (
    CitationSource,
    ModelMessage,
    TextPart,
    ToolReturnPart,
    WebCitationSource,
)

from agui.contrib.sources.cite import METADATA_KEY, NumberedSource, Source, Sources
from agui.stores.tree import prompt_id

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun

_rows: TypeAdapter[list[NumberedSource]] = TypeAdapter(list[NumberedSource])


def named_by_tools(run: "ActiveRun") -> Sources:
    """Collect the sources that tools have named since the user's last message.

    The run may go on after an approval: the model then knows the numbers of the run before.
    """
    sources = Sources()
    for part in _parts_of_turn(run):
        if isinstance(part, ToolReturnPart) and isinstance(part.metadata, dict):
            try:
                named = _rows.validate_python(part.metadata.get(METADATA_KEY, []))
            except ValidationError:
                continue  # A remote server of tools may send anything.
            for source in named:
                sources.add(source, source.number)
    return sources


def sources_of(run: "ActiveRun") -> list[dict[str, Any]]:
    """List the sources of the run's answer, as clients get them."""
    sources = named_by_tools(run)
    for part in _parts_of_turn(run):
        if isinstance(part, TextPart):
            for citation in part.citations or ():
                for cited in citation.sources:
                    sources.add(_source(cited))
    return sources.rows()


def _parts_of_turn(run: "ActiveRun") -> Iterator[Any]:
    before: list[ModelMessage] = []
    for message in reversed(run.turn.history):
        if prompt_id(message):
            break
        before.insert(0, message)
    for message in (*before, *run.messages()):
        yield from message.parts


def _source(cited: CitationSource) -> Source:
    quote = "\n\n".join(cited.excerpts)
    if isinstance(cited, WebCitationSource):
        return Source(title=cited.title or cited.url, url=cited.url, quote=quote)
    return Source(title=cited.title or cited.document_id or quote[:80], quote=quote)
