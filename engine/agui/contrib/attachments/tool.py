"""The tool with which the model reads the files that the user attached."""

import codecs
from typing import Annotated, Any

from pydantic import Field
from pydantic_ai import BinaryContent, FunctionToolset, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition

from agui import conf
from agui.contrib.attachments import readers
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.files import PDF
from agui.contrib.attachments.models import Attachment
from agui.contrib.attachments.read import file_of, find_attachment, read_bytes
from agui.deps import AgentDeps
from agui.tools.call import build_toolset
from agui.tools.registry import ToolRegistry, tool

READ_ATTACHMENT = "read_attachment"

registry = ToolRegistry("attachments")


@tool(registry, name=READ_ATTACHMENT, defer_loading=False)
def read_attachment(
    ctx: RunContext[AgentDeps],
    attachment_id: str | None = None,
    offset: Annotated[int, Field(ge=0)] = 0,
) -> Any:
    """Read an attachment, a file of the user's: by its id, or the newest one.
    A long text says how to read on.
    """
    attachment = find_attachment(ctx, attachment_id)
    if attachment.media_type == "text/plain" or readers.reader_of(attachment.media_type):
        return _read_text(attachment, offset)
    if attachment.media_type.startswith("image/") or attachment.media_type == PDF:
        return _read_whole(attachment)
    raise ToolFailed(f"A file of the type {attachment.media_type} can't be read.")


def _read_text(attachment: Attachment, offset: int) -> dict[str, Any]:
    """Read a page of a text. The text is a JSON string, so it can't fake the note beside it."""
    limit, size = conf.part(AttachmentsSettings).read_page_bytes, attachment.size
    if attachment.encoding == "utf-8" and attachment.media_type == "text/plain":
        data = read_bytes(attachment, min(offset, size), limit)
    else:
        # Offsets count bytes of UTF-8, as for any other text.
        whole = file_of(attachment).text.encode()
        data, size = whole[offset : offset + limit], len(whole)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    following = offset + len(data)
    text = decoder.decode(data, final=following >= size)
    # The next page begins with the character that the end of this one has cut.
    cut, _ = decoder.getstate()
    following -= len(cut)
    # PostgreSQL stores no zero byte.
    page = {"text": text.removeprefix("\ufeff").replace("\0", "\ufffd"), "bytes": size}
    if data and following < size:
        page["note"] = (
            "This is not all of the text. "
            f"To read on, call {READ_ATTACHMENT} with offset={following}."
        )
    return page


def _read_whole(attachment: Attachment) -> BinaryContent:
    limit = conf.get().max_read_bytes
    if attachment.size > limit:
        raise ToolFailed(
            f"The file is too large to be read: it has {attachment.size} bytes, "
            f"{limit} are the limit."
        )
    data = read_bytes(attachment, 0, attachment.size)
    if attachment.media_type == PDF:
        data = data[max(data.find(b"%PDF-"), 0) :]  # providers expect no junk before it
    return BinaryContent(data, media_type=attachment.media_type, identifier=str(attachment.pk))


def attachment_toolset() -> FunctionToolset[AgentDeps]:
    """Build the tool. An agent of your own, AGUI["AGENT_FACTORY"], can use it, too."""
    toolset = build_toolset(registry, "attachments")
    toolset.tools[READ_ATTACHMENT].prepare = _if_there_are_any
    return toolset


async def _if_there_are_any(
    ctx: RunContext[AgentDeps], definition: ToolDefinition
) -> ToolDefinition | None:
    return definition if getattr(ctx.deps, "attachments", None) else None
