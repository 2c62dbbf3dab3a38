"""The images that models and tools make: kept as attachments, and shown where they were made.

A run shows them in activities of the type `images`, which name them. Images between which the model
says nothing share one activity. What is not kept is told with the answer.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.files.uploadedfile import SimpleUploadedFile
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)

from agui import conf
from agui.actor import Actor
from agui.agents.hooks import ServedRun
from agui.blocking.executor import in_database
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.files import IMAGES, inspect, keep, media_type_of
from agui.contrib.attachments.image_sizes import size_of
from agui.contrib.attachments.models import Attachment
from agui.contrib.attachments.references import MADE, use_attachments
from agui.errors import TooLarge
from agui.protocol.types import ActivitySnapshotEvent, BaseEvent
from agui.stores.annotations import annotate

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun

logger = logging.getLogger("agui.runs")

EVENT = "images_not_kept"
ACTIVITY = "images"
KEY = "agui_made_images"
MAX_ALT_CHARS = 500
# How many of the images that are not kept a client is told about.
MAX_TOLD = 20
# The argument in which tools that make images usually get the description.
PROMPT = "prompt"

Row = dict[str, Any]
"""An image as clients get it: id, url, name, mime, size, and if known width, height and alt."""


@dataclass
class Group:
    """Images that one activity shows."""

    id: str
    place: tuple[str, int]
    """What the model has said and answered before them."""
    rows: list[Row] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)
    """The place of each image, by its id: tools that run at once end in any order."""

    def add(self, row: Row, order: int, sketch: str) -> None:
        """Add an image, in the place of its sketch if there is one."""
        self.rows = [shown for shown in self.rows if shown["id"] != sketch]
        self.order[row["id"]] = self.order.get(sketch, order)
        self.rows.append(row)
        self.rows.sort(key=lambda shown: self.order[shown["id"]])


@dataclass
class MadeImages:
    """The images of one run."""

    number: int = 0
    """How many were accepted."""
    refused: list[Row] = field(default_factory=list)
    _ids: dict[int, tuple[BinaryContent, str]] = field(default_factory=dict)
    """By the `id` of the file in memory, which therefore stays there."""
    _by_source: dict[str, list[Row]] = field(default_factory=dict)
    """By the id of a tool call, or by that of the attachment itself if the model made it."""
    _of_parts: dict[str, str] = field(default_factory=dict)
    """The attachments of the model's own ids: a provider sends a sketch before the image."""
    _groups: list[Group] = field(default_factory=list)

    def accept(self, image: BinaryContent, *, is_new: bool = True) -> bool:
        """Whether the image may be kept. A refusal is remembered, for the client."""
        settings = conf.part(AttachmentsSettings)
        if media_type_of(image.data[:1024]) not in IMAGES:
            return self._refuse(image, "unknown_kind")
        if len(image.data) > settings.max_bytes:
            return self._refuse(image, "too_large")
        if is_new and self.number >= settings.max_images:
            return self._refuse(image, "too_many")
        self.number += is_new
        return True

    def _refuse(self, image: BinaryContent, reason: str) -> bool:
        if len(self.refused) < MAX_TOLD:
            size = len(image.data)
            self.refused.append({"mime": image.media_type[:100], "size": size, "reason": reason})
        return False

    def id_of(self, image: BinaryContent) -> str:
        return self._ids.get(id(image), (image, ""))[1]

    async def keep(
        self, run: "ActiveRun", images: Sequence[BinaryContent], source: Any
    ) -> list[BaseEvent]:
        """Store images, and return the event that shows them."""
        group = self._group(run)
        before = list(group.rows)
        for image in images:
            if not self.id_of(image):
                await self._keep(run, image, source, group)
        if group.rows == before:
            return []
        content = {"images": list(group.rows)}
        event = ActivitySnapshotEvent(message_id=group.id, activity_type=ACTIVITY, content=content)
        return [event]

    async def _keep(
        self, run: "ActiveRun", image: BinaryContent, source: Any, group: Group
    ) -> None:
        actor = Actor(run.setup.deps.user, run.log.scope)
        name = _name_of(image, source, len(self._ids) + 1)
        try:
            attachment = await in_database(_store, image, name, actor, run.log.thread_id)
        except TooLarge:
            self._refuse(image, "no_room")
            return
        except Exception:
            logger.exception("Keeping an image of run %s failed", run.log.key)
            self._refuse(image, "failed")
            return
        number, call = _call_of(run, source)
        row = _row(attachment, image, _alt_of(call))
        self._ids[id(image)] = image, row["id"]
        key = source.id if isinstance(source, FilePart) else ""
        sketch = self._of_parts.get(key, "") if key else ""
        if key:
            self._of_parts[key] = row["id"]
        group.add(row, number if call else len(group.order), sketch)
        call_id = source.tool_call_id if isinstance(source, ToolReturnPart) else row["id"]
        self._by_source.setdefault(call_id, []).append(row)
        if sketch:
            await in_database(Attachment.objects.filter(pk=sketch).delete)

    def _group(self, run: "ActiveRun") -> Group:
        answers = sum(isinstance(one, ModelResponse) for one in run.unfinished.captured)
        place = run.text_id, answers
        if not self._groups or self._groups[-1].place != place:
            number = len(self._groups) + 1
            self._groups.append(Group(f"images-{run.log.key}-{number}", place))
        return self._groups[-1]

    def annotate(self, new: Sequence[ModelMessage]) -> None:
        """Keep with each message which images it has."""
        for message in new:
            made = {}
            for part in message.parts:
                source = ""
                if isinstance(part, ToolReturnPart):
                    source = part.tool_call_id
                elif isinstance(part, FilePart):
                    source = part.content.identifier
                if source in self._by_source:
                    made[source] = [_file(row) for row in self._by_source[source]]
            if made:
                annotate(message, **{MADE: made})


def made_by(run: ServedRun) -> MadeImages:
    images: MadeImages = run.kept.setdefault(KEY, MadeImages())
    return images


def _store(image: BinaryContent, name: str, actor: Actor, thread_id: str) -> Attachment:
    upload = SimpleUploadedFile(name, image.data)
    attachment = keep(upload, inspect(upload), actor)
    use_attachments([attachment.pk], thread_id)
    return attachment


def _name_of(image: BinaryContent, source: Any, number: int) -> str:
    stem = source.tool_name if isinstance(source, ToolReturnPart) else "image"
    media_type = media_type_of(image.data[:1024]) or "image/png"
    return f"{stem[:100]}-{number}.{media_type.removeprefix('image/')}"


def _call_of(run: "ActiveRun", source: Any) -> tuple[int, ToolCallPart | None]:
    """Find the call of a tool, and its number among the calls of its answer."""
    if isinstance(source, ToolReturnPart):
        for message in reversed(run.unfinished.captured):
            calls = message.tool_calls if isinstance(message, ModelResponse) else []
            for number, call in enumerate(calls):
                if call.tool_call_id == source.tool_call_id:
                    return number, call
    return 0, None


def _alt_of(call: ToolCallPart | None) -> str:
    """Read the words from which a tool has made an image."""
    prompt = call.args_as_dict().get(PROMPT) if call else None
    return " ".join(prompt.split())[:MAX_ALT_CHARS] if isinstance(prompt, str) else ""


def _row(attachment: Attachment, image: BinaryContent, alt: str) -> Row:
    row = {
        "id": str(attachment.pk),
        "url": f"attachments/{attachment.pk}/",
        "name": attachment.name,
        "mime": attachment.media_type,
        "size": attachment.size,
    }
    size = size_of(image.data, attachment.media_type)
    if size:
        row["width"], row["height"] = size
    if alt:
        row["alt"] = alt
    return row


def _file(row: Row) -> dict[str, Any]:
    """Turn a row into the reference that messages have to files."""
    names = {"id": "id", "name": "name", "mime": "media_type", "size": "size"}
    return {name: row[key] for key, name in names.items()}
