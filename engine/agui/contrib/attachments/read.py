"""`read_file`: a file that the user attached, for tools of the project's own."""

from dataclasses import dataclass
from uuid import UUID

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed

from agui.contrib.attachments import readers
from agui.contrib.attachments.models import Attachment
from agui.deps import AgentDeps


@dataclass(frozen=True)
class UserFile:
    """A file of the user for whom the agent acts."""

    id: str
    name: str
    media_type: str
    """The type that the content has, whatever the client said."""
    data: bytes
    encoding: str = "utf-8"
    """Of a text."""

    @property
    def text(self) -> str:
        """The text of a text file, in whatever encoding it came, and of what a part can read.

        It converts other files than texts, so a coroutine function calls it in a thread.
        """
        reader = readers.reader_of(self.media_type)
        if reader:
            return reader.text_of(self.id, self.media_type, self.data)
        return self.data.decode(self.encoding, "replace").removeprefix("\ufeff")


def read_file(ctx: RunContext[AgentDeps], attachment_id: str | None = None) -> UserFile:
    """Read a file of the user's: by its id, or the one that the conversation named last.

    Raises ToolFailed, which the model reads, if there is no such file or if it is another user's.
    It asks the database, so a coroutine function calls it with `sync_to_async`.
    """
    return file_of(find_attachment(ctx, attachment_id))


def file_of(attachment: Attachment) -> UserFile:
    return UserFile(
        id=str(attachment.pk),
        name=attachment.name,
        media_type=attachment.media_type,
        data=read_bytes(attachment, 0, attachment.size),
        encoding=attachment.encoding,
    )


def find_attachment(ctx: RunContext[AgentDeps], attachment_id: str | None) -> Attachment:
    """Find a file of the user's. Raises ToolFailed."""
    if attachment_id is None:
        attachment_id = ctx.deps.attachments[-1]["id"] if ctx.deps.attachments else ""
    try:
        return Attachment.objects.get(pk=UUID(attachment_id), scope=ctx.deps.scope)
    except (ValueError, Attachment.DoesNotExist):
        raise ToolFailed("There is no such attachment.") from None


def read_bytes(attachment: Attachment, offset: int, size: int) -> bytes:
    """Read a part of a file. Raises ToolFailed."""
    try:
        with attachment.file.storage.open(attachment.file.name or "", "rb") as file:
            file.seek(offset)
            data: bytes = file.read(size)
    except FileNotFoundError:
        raise ToolFailed("The file of this attachment is gone.") from None
    return data
