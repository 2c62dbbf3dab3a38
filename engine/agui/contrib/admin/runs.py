"""Runs and tool calls in the admin: to find and read, and to stop a run."""

from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agui.contrib.admin.lists import (
    USERNAME,
    RecordAdmin,
    cost,
    json_of,
    link,
    link_list,
    moment,
    recent,
    row_filter,
    tokens_of_usage,
    used,
)
from agui.lazy_import import LazyImport
from agui.models import AuditRecord, Run, get_conversation_model
from agui.sentences import fill, wording

if TYPE_CHECKING:
    from agui.events import failures
    from agui.runs.live import live
else:
    failures = LazyImport("agui.events.failures")
    live = LazyImport("agui.runs.live", "live")

Thread = get_conversation_model()

COST: Any = cost
ALL_TOKENS: Any = tokens_of_usage
TOKENS = [used("input_tokens"), used("output_tokens"), used("requests")]
# The columns that identify a thread, and a run of it. Clients choose the ids, which are therefore
# unique for one owner only.
THREAD_COLUMNS = {"scope": "scope", "thread_id": "thread_id"}
RUN_COLUMNS = {**THREAD_COLUMNS, "run_id": "run_id"}


class OfThreadAdmin(RecordAdmin):
    """Rows about what happened in a thread."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        thread = Thread.objects.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        rows = super().get_queryset(request)
        return rows.annotate(
            of_pk=Subquery(thread.values("pk")), of_title=Subquery(thread.values("title"))
        )

    @admin.display(description=wording("thread"))
    def thread(self, row: Any) -> SafeString | str:
        if not row.thread_id:  # A call over MCP has no thread.
            return "-"
        if row.of_pk is None:
            return fill(wording("{thread} (deleted)"), thread=row.thread_id)
        of_thread = Thread(title=row.of_title, thread_id=row.thread_id)
        of_thread.pk = row.of_pk
        return link(of_thread)


@admin.register(Run)
class RunAdmin(OfThreadAdmin):
    list_display = [moment("started_at"), "thread", "who", "ending", ALL_TOKENS, COST, "duration"]
    list_filter = [
        "status",
        recent("code"),
        recent("model"),
        "started_at",
        row_filter(Thread, **THREAD_COLUMNS),
        row_filter(AuditRecord, **RUN_COLUMNS),
    ]
    list_select_related = ["owner"]
    search_fields = ["=thread_id", "=run_id", "=id", f"owner__{USERNAME}"]
    search_help_text = wording(
        "A user's name, the id of a conversation or run, or the 8 characters that an error shows"
    )
    heavy = ["draft"]
    fields = [
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
        "id",
        "run_id",
        "process",
        "seen_at",
        "related",
    ]
    readonly_fields = ["id", "thread", "who", *TOKENS, COST, "first_event", "duration", "related"]
    actions = ["stop"]

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        runs = failures.runs_by_short_id(search_term)
        if runs:
            return queryset.filter(pk__in=runs), False
        return super().get_search_results(request, queryset, search_term)

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("agui.change_run")

    @admin.action(description=wording("Stop the selected runs"), permissions=["stop"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        stop_run = async_to_sync(live.logs.stop)
        stopped = missed = 0
        for run in queryset.filter(status=Run.Status.RUNNING):
            if stop_run(run.scope, run.thread_id, str(run.pk)):
                stopped += 1
            else:
                missed += 1
        messages.success(
            request, fill(_("Runs that were asked to stop: {number}."), number=stopped)
        )
        if missed:
            messages.warning(
                request,
                fill(
                    _("Not stopped, because they are ending or out of reach: {number}."),
                    number=missed,
                ),
            )

    @admin.display(description=wording("status"), ordering="status")
    def ending(self, run: Run) -> str:
        if run.code in ("", run.status) or run.status == Run.Status.TIMED_OUT:
            return run.get_status_display()
        return f"{run.get_status_display()}: {run.code}"

    @admin.display(description=wording("first event"))
    def first_event(self, run: Run) -> str:
        return _seconds(run.first_event_ms)

    @admin.display(description=wording("duration"))
    def duration(self, run: Run) -> str:
        return _seconds(run.duration_ms)

    @admin.display(description=wording("see also"))
    def related(self, run: Run) -> SafeString:
        return link_list(AuditRecord, wording("tool calls"), of=run)


def _seconds(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds / 1000:,.1f} s"


@admin.register(AuditRecord)
class AuditRecordAdmin(OfThreadAdmin):
    list_display = [
        moment("started_at"),
        "tool_name",
        "who",
        "via",
        "thread",
        "outcome",
        "duration",
    ]
    list_filter = [
        recent("tool_name"),
        "outcome",
        "started_at",
        recent("via"),
        row_filter(Thread, **THREAD_COLUMNS),
        row_filter(Run, **RUN_COLUMNS),
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
    search_help_text = wording(
        "A tool, a user's name, an error, or the id of a conversation, run or call"
    )
    heavy = ["arguments", "proposed"]
    fields = [
        "started_at",
        "duration",
        "tool_name",
        "user",
        "thread",
        "run",
        "via",
        "tool_call_id",
        "given",
        "approved_by",
        "before",
        "outcome",
        "error",
        "result_size",
    ]
    readonly_fields = ["duration", "thread", "run", "given", "before"]

    @admin.display(description=wording("user"))
    def who(self, record: AuditRecord) -> SafeString | str:
        return link(record.user)

    @admin.display(description=wording("duration"))
    def duration(self, record: AuditRecord) -> str:
        return f"{record.duration_ms:,.0f} ms"

    @admin.display(description=wording("run"))
    def run(self, record: AuditRecord) -> SafeString:
        return link_list(Run, record.run_id, of=record)

    given = json_of("arguments", wording("arguments"))
    before = json_of("proposed", wording("changed from"))
