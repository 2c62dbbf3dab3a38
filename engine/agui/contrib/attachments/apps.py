from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db.models.signals import post_delete
from django.urls import reverse

from agui import clock, conf
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.lazy_import import LazyImport
from agui.part_values import Addition, NamedFile, Outdated, PersonalData
from agui.parts import Part
from agui.sentences import fill, wording

if TYPE_CHECKING:
    from django.utils.safestring import SafeString
    from pydantic_ai.messages import BinaryContent, ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import AbstractToolset

    from agui.actor import Actor
    from agui.contrib.admin import lists
    from agui.contrib.attachments import (
        files,
        images_in_history,
        made_images,
        model_files,
        models,
        records,
        references,
        tool,
        unused,
    )
    from agui.deps import AgentDeps
    from agui.models import AbstractConversation
    from agui.part_values import EndedRun
    from agui.protocol.types import BaseEvent
    from agui.stores import annotations
else:
    # These modules import models, which don't exist yet when Django imports this one.
    annotations = LazyImport("agui.stores.annotations")
    files = LazyImport("agui.contrib.attachments.files")
    lists = LazyImport("agui.contrib.admin.lists")
    images_in_history = LazyImport("agui.contrib.attachments.images_in_history")
    made_images = LazyImport("agui.contrib.attachments.made_images")
    model_files = LazyImport("agui.contrib.attachments.model_files")
    models = LazyImport("agui.contrib.attachments.models")
    records = LazyImport("agui.contrib.attachments.records")
    references = LazyImport("agui.contrib.attachments.references")
    tool = LazyImport("agui.contrib.attachments.tool")
    unused = LazyImport("agui.contrib.attachments.unused")


class AttachmentsConfig(Part):
    name = "agui.contrib.attachments"
    label = "agui_attachments"
    verbose_name = wording("Agent: attachments")
    settings = AttachmentsSettings
    takes_files = True
    page_modules = {
        "activity:images": "agui_attachments/images.js",
        "composer:attachments": "agui_attachments/intake.js",
        "metadata:attachments": "agui_attachments/sent-files.js",
        "metadata:files_left_out": "agui_attachments/sent-files.js",
        "metadata:images_not_kept": "agui_attachments/sent-files.js",
        "call:read_attachment": "agui_attachments/read-call.js",
        "upload": "agui_attachments/files.js",
    }

    def ready(self) -> None:
        # Only a signal also reports the rows that a cascade deletes.
        post_delete.connect(
            lambda **kwargs: files.delete_file(**kwargs),
            sender=self.get_model("Attachment"),
            weak=False,
            dispatch_uid="agui.delete_file",  # Tests that change INSTALLED_APPS call ready() again
        )

    def routes(self) -> dict[str, tuple[str, str]]:
        return {
            "attachments": ("attachments/", "agui.contrib.attachments.views.AttachmentsView"),
            "attachment": (
                "attachments/<uuid:attachment_id>/",
                "agui.contrib.attachments.views.AttachmentView",
            ),
        }

    def page_attributes(self, agent: str) -> dict[str, Any]:
        return {
            "data-attachments-url": reverse(f"{agent}:attachments"),
            "data-max-upload-bytes": conf.part(AttachmentsSettings).max_bytes,
        }

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        if tool.READ_ATTACHMENT in taken:
            return []
        return [tool.attachment_toolset()]

    async def messages_arrived(
        self, new: "list[ModelMessage]", thread_id: str, actor: "Actor"
    ) -> Callable[[], None] | None:
        ids = await references.name_attachments(new, actor)
        if not ids:
            return None
        return partial(references.use_attachments, ids, thread_id)

    def prepare_history(self, messages: "list[ModelMessage]") -> "list[ModelMessage]":
        messages = model_files.without_unread(images_in_history.with_places(messages))
        return references.with_manifests(messages)

    def read_again(self, tool_name: str, identifier: str) -> str:
        if tool_name != tool.READ_ATTACHMENT:
            return ""
        return f"call {tool_name} with attachment_id={identifier} to see it again"

    def fill_deps(self, deps: "AgentDeps", messages: "list[ModelMessage]") -> None:
        deps.attachments = references.named_in(messages)

    def wrap_model(self, model: "Model", run: Any) -> "Model":
        files = run.kept.setdefault(self.label, model_files.ReadableFiles())
        own = images_in_history.ImagesInHistory(run.run.log.scope)
        images = run.kept.setdefault(self.name, own)
        return model_files.FilesModel(model, files, images)

    def keeps_file(self, run: Any, file: "BinaryContent", earlier: "BinaryContent | None") -> bool:
        return made_images.made_by(run).accept(file, is_new=earlier is None)

    async def files_made(
        self, run: Any, files: "Sequence[BinaryContent]", source: Any
    ) -> "Sequence[BaseEvent]":
        images = made_images.made_by(run.served)
        tool_name = getattr(source, "tool_name", None)
        if tool_name == tool.READ_ATTACHMENT:
            return []
        if tool_name:
            files = [file for file in files if file.is_image and images.accept(file)]
        return await images.keep(run, files, source)

    def file_id(self, run: Any, file: "BinaryContent") -> str:
        return made_images.made_by(run).id_of(file)

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        additions = []
        left_out = self._left_out(run)
        if left_out:
            additions.append(Addition(model_files.EVENT, "files", list(left_out.values())))
        refused = made_images.made_by(run.served).refused
        if refused:
            additions.append(Addition(made_images.EVENT, "images", refused))
        return additions

    def annotate_answer(self, run: Any, new: "list[ModelMessage]") -> None:
        made_images.made_by(run.served).annotate(new)
        left_out = self._left_out(run)
        if left_out:
            annotations.annotate(new[-1], **{model_files.UNREAD: list(left_out)})

    def _left_out(self, run: Any) -> dict[str, Any]:
        files = run.served.kept.get(self.label)
        return files.left_out if files else {}

    def run_ended(self, run: "EndedRun") -> None:
        if run.is_deleted:
            references.delete_late(run.thread_id, run.scope)

    def thread_forked(self, source_id: str, thread_id: str, scope: str) -> None:
        references.copy_uses(source_id, thread_id, scope)

    def thread_deleted(self, thread_id: str, scope: str) -> None:
        references.delete_unused(thread_id, scope)

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        yield records.files_of(actor)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        hours = conf.part(AttachmentsSettings).retention_hours
        if hours is None:
            return []
        return [unused.unused_files(clock.now() - timedelta(hours=hours))]

    def named_files(self, messages: "Sequence[ModelMessage]") -> list[list[NamedFile]]:
        return records.named_files(messages)

    def admin_links(self, thread: "AbstractConversation") -> "list[SafeString]":
        own = models.Attachment.objects.filter(scope=thread.scope)
        number = own.filter(uses__thread_id=thread.thread_id).count()
        return [
            lists.link_list(
                models.Attachment, fill(wording("files ({number})"), number=number), of=thread
            )
        ]
