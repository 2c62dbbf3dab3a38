"""What parts and the core tell each other."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.db.models.fields.files import FieldFile
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RunUsage


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended, as parts see it."""

    key: str
    """The primary key of its row."""
    scope: str
    owner_id: Any
    """The primary key of its user; None for an anonymous visitor."""
    thread_id: str
    model: str
    """The name of the requested model."""
    status: str
    usage: "RunUsage"
    messages: "list[ModelMessage]"
    """The messages that it has added to the thread. If its process died, its last draft."""
    delivered: "Sequence[ModelMessage]" = ()
    """Those of them that the user has sent while it was active. Unknown if its process died."""
    is_deleted: bool = False
    """Whether its thread was deleted while it was active: its row is gone, too."""


@dataclass(frozen=True)
class Addition:
    """A value of an answer: clients get it as a CUSTOM event, and find it in the metadata."""

    name: str
    """The name of the event and of the metadata, such as "follow_ups"."""
    field: str
    """The name of the value in the event, beside `messageId`, such as "suggestions"."""
    value: Any


@dataclass(frozen=True)
class NamedFile:
    """A file that a message names."""

    name: str
    about: str
    """A short description, or that the file is gone."""
    page: str = ""
    """The address of its page in the admin, if it has one."""


@dataclass(frozen=True)
class PersonalData:
    """Rows that a part keeps of one owner."""

    name: str
    """The key of the rows in the document, such as "attachments"."""
    rows: "QuerySet[Any]"
    hidden: Collection[str] = ()
    """Fields that the document leaves out: keys, digests."""

    def extra(self, row: Any) -> dict[str, Any]:
        """Return fields of the document that are not fields of the row."""
        return {}

    def file(self, row: Any) -> "tuple[str, FieldFile] | None":
        """Return the owner's name for a row's file, and the file, for the export to copy."""
        return None


@dataclass(frozen=True)
class Outdated:
    """Rows that a part keeps no longer."""

    name: str
    """The name of the rows in the command's output: "spending"."""
    rows: "QuerySet[Any]"
    batch: int = 200
    """The number of rows that are deleted at once. A batch that fails stops no other."""

    def delete(self, pks: list[Any]) -> int:
        """Delete a batch, but no row that is needed again by now."""
        _, deleted = self.rows.filter(pk__in=pks).delete()
        return deleted.get(self.rows.model._meta.label, 0)
