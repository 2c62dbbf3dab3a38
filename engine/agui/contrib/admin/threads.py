"""Conversations in the admin: to find, read and delete."""

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.module_loading import module_has_submodule
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
from agui.models import AbstractConversation, AuditRecord, Message, Run, get_conversation_model
from agui.sentences import fill, wording

if TYPE_CHECKING:
    from pydantic_ai import conversation_store

    import agui.contrib.admin.transcript as transcript
    from agui.stores import base, deletion
else:
    base = LazyImport("agui.stores.base")
    deletion = LazyImport("agui.stores.deletion")
    transcript = LazyImport("agui.contrib.admin.transcript")
    conversation_store = LazyImport("pydantic_ai.conversation_store")

Thread = get_conversation_model()

COST: Any = cost_of_usage
ALL_TOKENS: Any = tokens_of_usage
TOKENS: list[Any] = [used("input_tokens"), used("output_tokens"), used("requests")]
SHOWN = ["who", "thread_id", "created_at", "updated_at", *TOKENS, COST, "forked", "related"]


class ConversationAdmin(RecordAdmin):
    """The admin of the project's conversations, with the fields that it has added.

    Only these can be changed. A project registers a subclass of its own in its admin.py, if it
    wants more than that.
    """

    change_form_template = "admin/agui/conversation/change_form.html"
    list_display = ["__str__", moment("updated_at"), "who", "message_count", ALL_TOKENS, COST]
    list_filter = ["updated_at", "pinned", "archived"]
    list_select_related = ["owner"]
    search_fields = ["thread_id"]  # Django shows a search field; get_search_results searches.
    search_help_text = wording(
        "Words of titles and messages, a user's name, or a conversation's id"
    )
    heavy = ["words", "deferred", "branches"]
    fields = readonly_fields = SHOWN

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [*super().get_fields(request, obj), *(field.name for field in _own_fields())]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        fixed = [field.name for field in _own_fields() if not field.editable]
        return [*super().get_readonly_fields(request, obj), *fixed]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(_own_fields()) and admin.ModelAdmin.has_change_permission(self, request, obj)

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        columns = {field.name for field in Thread._meta.concrete_fields}
        # A run may write the others meanwhile.
        obj.save(update_fields=columns.intersection(form.changed_data))

    def get_queryset(self, request: HttpRequest) -> QuerySet[AbstractConversation]:
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

    @admin.display(description=wording("messages"))
    def message_count(self, thread: Any) -> int:
        return thread.messages_kept or 0

    @admin.display(description=wording("forked from"))
    def forked(self, thread: AbstractConversation) -> SafeString | str:
        if not thread.forked_from:
            return "-"
        source = Thread.objects.filter(thread_id=thread.forked_from, scope=thread.scope).first()
        return link(source) if source else thread.forked_from

    @admin.display(description=wording("see also"))
    def related(self, thread: AbstractConversation) -> SafeString:
        of_thread = {"scope": thread.scope, "thread_id": thread.thread_id}
        runs = Run.objects.filter(**of_thread).count()
        calls = AuditRecord.objects.filter(**of_thread).count()
        links = [
            link_list(Run, fill(wording("runs ({number})"), number=runs), of=thread),
            link_list(AuditRecord, fill(wording("tool calls ({number})"), number=calls), of=thread),
        ]
        for part in parts.installed():
            links += part.admin_links(thread)
        return format_html_join(", ", "{}", ([link] for link in links))

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> Any:
        thread: AbstractConversation = context["original"]
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
        return [str(thread) for thread in objs], {wording("threads"): len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: AbstractConversation) -> None:
        # Don't use obj.delete(): it also deletes messages that a fork needs.
        with suppress(conversation_store.ConversationConflict):  # The thread is gone already.
            deletion.delete_thread(obj.thread_id, obj.scope)

    def delete_queryset(
        self, request: HttpRequest, queryset: QuerySet[AbstractConversation]
    ) -> None:
        for thread in queryset:
            self.delete_model(request, thread)


def _own_fields() -> list[Any]:
    engine = {"id", *(field.name for field in AbstractConversation._meta.get_fields())}
    fields = [*Thread._meta.fields, *Thread._meta.many_to_many]
    return [field for field in fields if field.name not in engine]


def register_conversations() -> None:
    """Register the project's conversations, unless its admin.py does it."""
    own = apps.get_app_config(Thread._meta.app_label)
    if module_has_submodule(own.module, "admin"):
        import_module(f"{own.name}.admin")
    if not admin.site.is_registered(Thread):
        admin.site.register(Thread, ConversationAdmin)
