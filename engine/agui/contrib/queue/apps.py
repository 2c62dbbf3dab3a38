import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from agui import clock, conf
from agui.blocking.executor import in_database
from agui.contrib.queue.conf import QueueSettings
from agui.lazy_import import LazyImport
from agui.part_values import EndedRun, Outdated, PersonalData
from agui.parts import Part
from agui.sentences import fill, wording

if TYPE_CHECKING:
    from django.utils.safestring import SafeString
    from pydantic_ai.messages import ModelMessage

    from agui.actor import Actor
    from agui.contrib.admin import lists
    from agui.contrib.queue import next_run, rows, steering
    from agui.contrib.queue.models import QueuedMessage
    from agui.models import AbstractConversation
    from agui.runs import live
    from agui.stores import base, model
else:
    # These modules import models, which don't exist yet when Django imports this one.
    base = LazyImport("agui.stores.base")
    model = LazyImport("agui.stores.model")
    lists = LazyImport("agui.contrib.admin.lists")
    live = LazyImport("agui.runs.live")
    next_run = LazyImport("agui.contrib.queue.next_run")
    QueuedMessage = LazyImport("agui.contrib.queue.models", "QueuedMessage")
    rows = LazyImport("agui.contrib.queue.rows")
    steering = LazyImport("agui.contrib.queue.steering")

# Messages that were read are kept so long, for requests that are sent again.
KEPT_DAYS = 7
MAX_HELD = 1000


class QueueConfig(Part):
    name = "agui.contrib.queue"
    label = "agui_queue"
    verbose_name = "Agent: queue"
    settings = QueueSettings
    page_modules = {
        "metadata:read_in_run": "agui_queue/read-in-run.js",
        "thread:queue": "agui_queue/attend.js",
    }

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._held: set[tuple[str, str]] = set()
        """The threads in which messages wait although no run is active."""
        self._is_loaded = False
        """Whether these include the threads in which messages waited before this process began."""

    def routes(self) -> dict[str, tuple[str, str]]:
        view = "agui.contrib.queue.views.ThreadMessagesView"
        return {"thread-messages": ("threads/<path:thread_id>/messages/", view)}

    def modules_of_page(self, agent: str) -> Mapping[str, str]:
        return self.page_modules if self.modes() else {}

    def page_attributes(self, agent: str) -> dict[str, Any]:
        if not self.modes():
            return {}
        limit = conf.part(QueueSettings).max_messages
        return {"data-queue": json.dumps({"modes": self.modes(), "max": limit})}

    def client_capabilities(self) -> dict[str, Any]:
        limit = conf.part(QueueSettings).max_messages
        return {"queue": {"modes": self.modes(), "max_messages": limit}} if self.modes() else {}

    def modes(self) -> list[str]:
        """List the modes that users may choose; none if the store has no rows of threads."""
        return [*conf.part(QueueSettings).modes] if _has_rows() else []

    async def messages_arrived(
        self, new: "list[ModelMessage]", thread_id: str, actor: "Actor"
    ) -> Callable[[], None] | None:
        sent = next_run.sending.get()
        if sent is None or not any(map(sent.has, new)):
            return None

        def claim() -> None:
            rows.check_not_paused(rows.Queue(actor.scope, thread_id), sent.key)
            rows.claim(sent.rows, sent.key, is_stored=True)

        return claim

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        return self._serving(run)

    @contextmanager
    def _serving(self, run: Any) -> Iterator[None]:
        yield
        thread = (run.log.scope, run.log.thread_id)
        some_wait = thread in self._held or self._is_full()
        if (some_wait or self._may_wait(run)) and not next_run.go_on(run):
            self.hold(*thread)

    def hold(self, scope: str, thread_id: str) -> None:
        """Remember that messages wait in a thread: its next run hears of it."""
        if not self._is_full():
            self._held.add((scope, thread_id))

    def _is_full(self) -> bool:
        """Return whether there are too many threads, so that some are not remembered."""
        return len(self._held) >= MAX_HELD

    async def before_request(self, run: Any, ctx: Any, request: Any) -> None:
        if self.label not in run.served.kept:
            run.served.kept[self.label] = True
            if await self._waited_before(run):
                run.log.has_news = True
            await steering.announce(run, next_run.sending.get())
        if self._may_wait(run):
            await steering.read_waiting(run, ctx, request)

    async def _waited_before(self, run: Any) -> bool:
        """Return whether messages may have waited before a run began.

        Other processes may have added them while the thread waited for an answer.
        """
        if not self._is_loaded:
            self._held.update(await in_database(rows.threads_with_messages, MAX_HELD))
            self._is_loaded = True
        thread = (run.log.scope, run.log.thread_id)
        if not self._is_full():
            if thread not in self._held and run.turn.answers is None:
                return False
            self._held.discard(thread)
        has_some: bool = await in_database(rows.Queue(*thread).waiting().exists)
        return has_some

    def _may_wait(self, run: Any) -> bool:
        """Return whether messages may wait. A worker does not hear of those that came before it."""
        return run.log.has_news or run.journal is not None

    def run_ended(self, run: EndedRun) -> None:
        if run.is_deleted:
            return
        # A message may have been read whose record's answer the database could not deliver, and
        # the process of an interrupted run may have died at any point.
        if run.delivered or run.status not in ("finished", "paused"):
            rows.settle(run)
        if live.live.logs.is_shared:
            rows.look_after_commit(rows.Queue(run.scope, run.thread_id))

    def thread_deleted(self, thread_id: str, scope: str) -> None:
        QueuedMessage.objects.filter(thread_id=thread_id, scope=scope).delete()

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        own = QueuedMessage.objects.filter(scope=actor.scope).order_by("created_at")
        yield PersonalData(
            "queued_messages", own, hidden=("id", "scope", "owner", "changes", "run")
        )

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        old = QueuedMessage.objects.filter(created_at__lt=clock.now() - timedelta(days=KEPT_DAYS))
        yield Outdated("messages that were read", old.exclude(state="waiting"))

    def admin_links(self, thread: "AbstractConversation") -> "list[SafeString]":
        own = QueuedMessage.objects.filter(scope=thread.scope, thread_id=thread.thread_id)
        text = fill(wording("queued messages ({number})"), number=own.count())
        return [lists.link_list(QueuedMessage, text, of=thread)]

    async def shutdown(self) -> None:
        await next_run.stop_all()


def _has_rows() -> bool:
    store = base.store_class()
    return issubclass(store, model.ModelConversationStore) and not store.needs_request
