"""Files that users add to a conversation: upload, download, delete.

A file is sent as a download, whole, in chunks and only to its owner, so that no browser shows or
runs anything in it.
"""

from collections.abc import AsyncGenerator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.files import File
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.actor import Actor
from agui.blocking.executor import release_connections, run_in_thread
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.files import CHUNK_BYTES, keep_upload
from agui.contrib.attachments.forms import keep_names
from agui.contrib.attachments.models import Attachment
from agui.errors import NotFound
from agui.http.uploads import FORM_BYTES, check_upload_length, read_upload
from agui.http.views import AgentView


class AttachmentsView(AgentView):
    """POST a file."""

    methods = frozenset({"POST"})

    def max_body_bytes(self) -> int:
        return conf.part(AttachmentsSettings).max_bytes + FORM_BYTES

    def check_length(self, request: HttpRequest) -> None:
        check_upload_length(request, conf.part(AttachmentsSettings).max_bytes)
        keep_names(request)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        upload = await sync_to_async(read_upload)(request, conf.part(AttachmentsSettings).max_bytes)
        attachment = await sync_to_async(keep_upload)(upload, actor)
        body = {
            "id": str(attachment.pk),
            "name": attachment.name,
            "mime": attachment.media_type,
            "size": attachment.size,
            "url": f"{request.path.rstrip('/')}/{attachment.pk}/",
        }
        return JsonResponse(body, status=201)


class AttachmentView(AgentView):
    """GET or DELETE one of the actor's files."""

    methods = frozenset({"GET", "DELETE"})

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        own = Attachment.objects.filter(scope=actor.scope)
        attachment = await own.filter(pk=kwargs["attachment_id"]).afirst()
        if attachment is None:
            raise NotFound(_("There is no such attachment."))
        if request.method == "DELETE":
            await attachment.adelete()
            return HttpResponse(status=204)
        return await download(attachment, with_content=request.method == "GET")


async def download(attachment: Attachment, *, with_content: bool = True) -> HttpResponseBase:
    """Answer with a file. Raises NotFound if its content is gone."""
    headers = {
        "Content-Type": attachment.media_type,
        "Content-Length": str(attachment.size),
        "Content-Disposition": content_disposition_header(True, attachment.name) or "attachment",
        "X-Content-Type-Options": "nosniff",
        "Content-Encoding": "identity",
        "Cache-Control": "private, no-store",
        # The proxy buffers for slow readers: daphne would hold the rest in memory.
        "X-Accel-Buffering": "yes",
    }
    storage, name = attachment.file.storage, attachment.file.name or ""
    try:
        file = await run_in_thread(storage.open, name, "rb", pool="files")
    except FileNotFoundError:
        raise NotFound(_("The file of this attachment is gone.")) from None
    if with_content:
        # A slow reader must not keep a database connection busy.
        await release_connections()
        return StreamingHttpResponse(Chunks(file), headers=headers)
    file.close()
    return HttpResponse(headers=headers)


class Chunks:
    """An open file, read in chunks and off the event loop. Django closes it with the response."""

    def __init__(self, file: File) -> None:
        self.file = file

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        while chunk := await run_in_thread(self.file.read, CHUNK_BYTES, pool="files"):
            yield chunk

    def close(self) -> None:
        self.file.close()
