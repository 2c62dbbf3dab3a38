"""Threads in the admin: to find, read and delete."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui import parts
from agui.contrib.admin.lists import (
    USERNAME,
    RecordAdmin,
    cost_of_usage,
    count_of,
    link,
    link_list,
    moment,
    tokens_of_usage,
    used,
)
from agui.lazy_import import LazyImport
from agui.models import AuditRecord, Message, Run, Thread

if TYPE_CHECKING:
    from pydantic_ai import conversation_store

    import agui.contrib.admin.transcript as transcript
    from agui.stores import base, deletion
else:
    base = LazyImport("agui.stores.base")
    deletion = LazyImport("agui.stores.deletion")
    transcript = LazyImport("agui.contrib.admin.transcript")
    conversation_store = LazyImport("pydantic_ai.conversation_store")

COST: Any = cost_of_usage
ALL_TOKENS: Any = tokens_of_usage
TOKENS = [used("input_tokens"), used("output_tokens"), used("requests")]


@admin.register(Thread)
class ThreadAdmin(RecordAdmin):
    list_display = ["__str__", moment("updated_at"), "who", "message_count", ALL_TOKENS, COST]
    list_filter = ["updated_at", "pinned", "archived"]
    list_select_related = ["owner"]
    search_fields = ["thread_id"]  # Django shows a search field; get_search_results searches.
    search_help_text = "Words of titles and messages, a user's name, or a conversation's id"
    heavy = ["words", "deferred", "branches"]
    fields = ["who", "thread_id", "created_at", "updated_at", *TOKENS, COST, "forked", "related"]
    readonly_fields = ["who", *TOKENS, COST, "forked", "related"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Thread]:
        messages_kept = count_of(Message, thread=OuterRef("pk"))
        return super().get_queryset(request).annotate(messages_kept=messages_kept)

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        thread_id = search_term.strip()
        if Thread.objects.filter(thread_id=thread_id).exists():
            return queryset.filter(thread_id=thread_id), False
        user_rows = get_user_model()._default_manager
        for word in base.search_words(search_term):
            texts = Message.objects.filter(thread=OuterRef("pk"), words__contains=word)
            users = user_rows.filter(**{f"{USERNAME}__icontains": word})
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
        of_thread = {"scope": thread.scope, "thread_id": thread.thread_id}
        runs = Run.objects.filter(**of_thread).count()
        calls = AuditRecord.objects.filter(**of_thread).count()
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
        """List the threads alone, without their messages."""
        return [str(thread) for thread in objs], {"threads": len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Thread) -> None:
        # Don't use obj.delete(): it also deletes messages that a fork needs.
        with suppress(conversation_store.ConversationConflict):  # The thread is gone already.
            deletion.delete_thread(obj.thread_id, obj.scope)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Thread]) -> None:
        for thread in queryset:
            self.delete_model(request, thread)
