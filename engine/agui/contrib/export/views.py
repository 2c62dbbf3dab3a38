"""The download of everything that the agent keeps of a user."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from agui import clock
from agui.actor import Actor
from agui.blocking.executor import in_database, owner, release_connections
from agui.contrib.export.document import read_threads, write_document
from agui.http.views import AgentView
from agui.stores.base import open_store
from agui.stores.model import ModelConversationStore


class ExportView(AgentView):
    """GET the document of the actor."""

    async def respond(
        self, request: HttpRequest, actor: Actor, **kwargs: Any
    ) -> StreamingHttpResponse:
        store = open_store(request, actor.scope)
        threads = None
        if not isinstance(store, ModelConversationStore):
            threads = await read_threads(store, actor)
        name = f"agent-data-{clock.now():%Y-%m-%d}.json"
        headers = {
            "Content-Type": "application/json",
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
            "Content-Encoding": "identity",
            "Cache-Control": "private, no-store",
            # The proxy buffers for slow readers: daphne would hold the rest in memory.
            "X-Accel-Buffering": "yes",
        }
        chunks = _stream(actor, write_document(actor, threads))
        return StreamingHttpResponse(chunks, headers=headers)


async def _stream(actor: Actor, document: Iterator[str]) -> AsyncIterator[str]:
    # A middleware may have called the view in another context.
    owner.set(actor.scope)
    await release_connections()
    while True:
        chunk = await in_database(next, document, None, pool="reading")
        if chunk is None:
            return
        yield chunk
