"""What the engine keeps, in the admin: to find, to read, to delete; tokens to make and to revoke."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui import parts
from agui.admin.lists import (
    RecordAdmin,
    cost,
    cost_of_usage,
    count_of,
    json_of,
    link,
    link_list,
    moment,
    of,
    recent,
    tokens_of_usage,
    used,
)
from agui.later import Later
from agui.models import AuditRecord, Message, Run, Thread

if TYPE_CHECKING:
    from pydantic_ai import conversation_store

    from agui.admin import transcript
    from agui.events import failures
    from agui.runs.live import live
    from agui.stores import base, rows
else:
    failures, live = Later("agui.events.failures"), Later("agui.runs.live", "live")
    base, rows, transcript = (
        Later("agui.stores.base"),
        Later("agui.stores.rows"),
        Later("agui.admin.transcript"),
    )
    conversation_store = Later("pydantic_ai.conversation_store")

USERNAME = get_user_model().USERNAME_FIELD
COST: Any = cost
USAGE_COST: Any = cost_of_usage
USED_TOKENS: Any = tokens_of_usage
# The columns that name a thread, and a run of it. Ids are the clients': only their owner's are
# unique.
PLACE = {"scope": "scope", "thread_id": "thread_id"}
RUN = {**PLACE, "run_id": "run_id"}
TOKENS = [used("input_tokens"), used("output_tokens"), used("requests")]


@admin.register(Thread)
class ThreadAdmin(RecordAdmin):
    list_display = [
        "__str__",
        moment("updated_at"),
        "who",
        "message_count",
        USED_TOKENS,
        USAGE_COST,
    ]
    list_filter = ["updated_at"]
    list_select_related = ["owner"]
    search_fields = ["thread_id"]  # See get_search_results
    search_help_text = "Words of titles and messages, a user's name, or a conversation's id"
    heavy = ["words", "deferred", "branches"]
    fields = [
        "who",
        "thread_id",
        "created_at",
        "updated_at",
        *TOKENS,
        USAGE_COST,
        "forked",
        "related",
    ]
    readonly_fields = ["who", *TOKENS, USAGE_COST, "forked", "related"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Thread]:
        return (
            super()
            .get_queryset(request)
            .annotate(messages_kept=count_of(Message, thread=OuterRef("pk")))
        )

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if Thread.objects.filter(thread_id=search_term.strip()).exists():
            return queryset.filter(thread_id=search_term.strip()), False
        for word in base.search_words(search_term):
            texts = Message.objects.filter(thread=OuterRef("pk"), words__contains=word)
            users = get_user_model()._default_manager.filter(**{f"{USERNAME}__icontains": word})
            queryset = queryset.filter(
                Q(words__contains=word) | Q(owner__in=users.values("pk")) | Exists(texts)
            )
        return queryset, False

    @admin.display(description="messages")
    def message_count(self, thread: Any) -> int:
        return thread.messages_kept or 0

    @admin.display(description="forked from")
    def forked(self, thread: Thread) -> SafeString | str:
        if not thread.forked_from:
            return "-"
        source = Thread.objects.filter(thread_id=thread.forked_from, scope=thread.scope).first()
        return link(source) if source else thread.forked_from

    @admin.display(description="see also")
    def related(self, thread: Thread) -> SafeString:
        place = {"scope": thread.scope, "thread_id": thread.thread_id}
        runs = Run.objects.filter(**place).count()
        calls = AuditRecord.objects.filter(**place).count()
        links = [
            link_list(Run, f"runs ({runs})", of_thread=thread.pk),
            link_list(AuditRecord, f"tool calls ({calls})", of_thread=thread.pk),
        ]
        for part in parts.installed():
            links += part.admin_links(thread)
        return format_html_join(", ", "{}", ([link] for link in links))

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> Any:
        thread: Thread = context["original"]
        end = request.GET.get("end")
        context |= {
            "transcript": transcript.read_transcript(end or thread.head),
            "is_newest": not end,
            "branches": transcript.read_branches(thread),
            "questions": [] if end else transcript.read_questions(thread),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List threads, not each of their messages."""
        return [str(thread) for thread in objs], {"threads": len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Thread) -> None:
        # Not obj.delete(): what a fork uses of its messages has to stay.
        with suppress(conversation_store.ConversationConflict):  # It is gone already.
            rows.delete_thread(obj.thread_id, obj.scope)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Thread]) -> None:
        for thread in queryset:
            self.delete_model(request, thread)


class OfThreadAdmin(RecordAdmin):
    """What happened in a thread."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        thread = Thread.objects.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        columns = {f"of_{name}": Subquery(thread.values(name)) for name in ("pk", "title")}
        return super().get_queryset(request).annotate(**columns)

    @admin.display(description="thread")
    def thread(self, row: Any) -> SafeString | str:
        if row.of_pk is None:
            # A call over MCP has none
            return f"{row.thread_id} (deleted)" if row.thread_id else "-"
        return link(Thread(pk=row.of_pk, title=row.of_title, thread_id=row.thread_id))


@admin.register(Run)
class RunAdmin(OfThreadAdmin):
    list_display = [moment("started_at"), "thread", "who", "ending", USED_TOKENS, COST, "duration"]
    list_filter = [
        "status",
        recent("code"),
        recent("model"),
        "started_at",
        of(Thread, **PLACE),
        of(AuditRecord, **RUN),
    ]
    list_select_related = ["owner"]
    search_fields = ["=thread_id", "=run_id", "=id", f"owner__{USERNAME}"]
    search_help_text = (
        "A user's name, the id of a conversation or run, or the 8 characters that an error shows"
    )
    heavy = ["draft"]
    fields = [
        *(
            "started_at",
            "first_event",
            "duration",
            "thread",
            "who",
            "status",
            "code",
            "cause",
            "model",
            *TOKENS,
            COST,
        ),
        *("id", "run_id", "process", "seen_at", "related"),
    ]
    readonly_fields = ["id", "thread", "who", *TOKENS, COST, "first_event", "duration", "related"]
    actions = ["stop"]

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if found := failures.runs_by_short_id(search_term):
            return queryset.filter(pk__in=found), False
        return super().get_search_results(request, queryset, search_term)

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("agui.change_run")

    @admin.action(description="Stop the selected runs", permissions=["stop"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        on = list(queryset.filter(status=Run.Status.RUNNING))
        stopped = sum(
            async_to_sync(live.logs.stop)(run.scope, run.thread_id, str(run.pk)) for run in on
        )
        messages.success(request, f"Runs told to stop: {stopped}.")
        if stopped < len(on):
            missed = len(on) - stopped
            messages.warning(
                request, f"Out of reach, in another process or on their way to the end: {missed}."
            )

    @admin.display(description="status", ordering="status")
    def ending(self, run: Run) -> str:
        says_it_all = run.code in ("", run.status) or run.status == Run.Status.TIMED_OUT
        return run.status if says_it_all else f"{run.status}: {run.code}"

    @admin.display
    def first_event(self, run: Run) -> str:
        return "-" if run.first_event_ms is None else f"{run.first_event_ms / 1000:,.1f} s"

    @admin.display
    def duration(self, run: Run) -> str:
        return "-" if run.duration_ms is None else f"{run.duration_ms / 1000:,.1f} s"

    @admin.display(description="see also")
    def related(self, run: Run) -> SafeString:
        return link_list(AuditRecord, "tool calls", of_run=run.pk)


@admin.register(AuditRecord)
class AuditRecordAdmin(OfThreadAdmin):
    list_display = [moment("started_at"), "tool_name", "who", "thread", "outcome", "duration"]
    list_filter = [
        recent("tool_name"),
        "outcome",
        "started_at",
        of(Thread, **PLACE),
        of(Run, **RUN),
    ]
    list_select_related = ["user"]
    search_fields = [
        "tool_name",
        "=thread_id",
        "=run_id",
        "=tool_call_id",
        "error",
        f"user__{USERNAME}",
    ]
    search_help_text = "A tool, a user's name, an error, or the id of a conversation, run or call"
    heavy = ["arguments", "proposed"]
    fields = [
        *("started_at", "duration", "tool_name", "user", "thread", "run", "tool_call_id"),
        *("given", "approved_by", "before", "outcome", "error", "result_size"),
    ]
    readonly_fields = ["duration", "thread", "run", "given", "before"]

    @admin.display(description="user")
    def who(self, record: AuditRecord) -> SafeString | str:
        return link(record.user)

    @admin.display
    def duration(self, record: AuditRecord) -> str:
        return f"{record.duration_ms:,.0f} ms"

    @admin.display
    def run(self, record: AuditRecord) -> SafeString:
        return link_list(Run, record.run_id, of_auditrecord=record.pk)

    given = json_of("arguments", "arguments")
    before = json_of("proposed", "changed from")
