"""What the engine keeps, in the admin: to find, to read, to delete; tokens to make and to revoke."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import linebreaksbr, truncatechars
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import BaseToolCallPart, BaseToolReturnPart, ModelMessage

from agui import conf
from agui.attachments import delete_attachment
from agui.models import ApiToken, Attachment, AuditRecord, Run, Thread
from agui.stores.model import delete_thread, read_entries
from agui.tokens import MAX_DAYS, mint

TRANSCRIPT_MESSAGES = 200
TRANSCRIPT_CHARS = 5000
USERNAME = get_user_model().USERNAME_FIELD


class RecordAdmin(admin.ModelAdmin):
    """What nobody writes by hand."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Thread)
class ThreadAdmin(RecordAdmin):
    list_display = ["__str__", "preview", "owner", "scope", "updated_at"]
    list_filter = ["updated_at"]
    list_select_related = ["owner"]
    search_fields = ["title", "preview", "=thread_id", f"owner__{USERNAME}"]
    fields = ["title", "owner", "scope", "thread_id", "forked_from", "created_at", "updated_at", "usage", "transcript"]
    readonly_fields = ["transcript"]

    @admin.display(description=f"The last {TRANSCRIPT_MESSAGES} messages")
    def transcript(self, thread: Thread) -> SafeString | str:
        try:
            entries = read_entries(thread.head, TRANSCRIPT_MESSAGES) if thread.head else []
        except LookupError:
            return "Some of its messages are gone."
        rows = (row for entry in entries for row in _transcribe(entry.message))
        return format_html_join("", "<p><strong>{}</strong><br>{}</p>", rows) or "-"

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List threads, not each of their messages."""
        return [str(thread) for thread in objs], {"threads": len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Thread) -> None:
        # Not obj.delete(): what a fork uses of its messages has to stay.
        with suppress(ConversationConflict):  # It is gone already.
            delete_thread(obj.thread_id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Thread]) -> None:
        for thread in queryset:
            self.delete_model(request, thread)


def _transcribe(message: ModelMessage) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        who = part.part_kind.replace("-", " ").capitalize()
        if isinstance(part, BaseToolCallPart):
            text = f"{part.tool_name} {part.args_as_json_str()}"
        elif isinstance(part, BaseToolReturnPart):
            text = f"{part.tool_name} {part.outcome}: {part.model_response_str()}"
        else:
            text = _read(getattr(part, "content", None) or "")
        yield who, linebreaksbr(truncatechars(text, TRANSCRIPT_CHARS), autoescape=True)


def _read(content: Any) -> str:
    """Say what a prompt holds: its texts, and for files that there are some."""
    if isinstance(content, str):
        return content
    items: Iterable[Any] = content if isinstance(content, list | tuple) else [content]
    return "\n".join(item if isinstance(item, str) else _name(item) for item in items)


def _name(item: Any) -> str:
    text = getattr(item, "content", None)
    return text if isinstance(text, str) else f"[{getattr(item, 'media_type', None) or type(item).__name__}]"


@admin.register(Run)
class RunAdmin(RecordAdmin):
    list_display = ["started_at", "thread_id", "owner", "status", "code", "model", "duration_ms"]
    list_filter = ["status", "started_at"]
    list_select_related = ["owner"]
    search_fields = ["=thread_id", "=run_id", "code", "model", f"owner__{USERNAME}"]


@admin.register(AuditRecord)
class AuditRecordAdmin(RecordAdmin):
    list_display = ["started_at", "tool_name", "user", "thread_id", "outcome", "duration_ms"]
    list_filter = ["outcome", "started_at"]
    list_select_related = ["user"]
    search_fields = ["tool_name", "=thread_id", "=run_id", "=tool_call_id", "error", f"user__{USERNAME}"]


@admin.register(Attachment)
class AttachmentAdmin(RecordAdmin):
    list_display = ["name", "media_type", "size", "owner", "scope", "created_at"]
    list_filter = ["media_type", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["name", "=digest", f"owner__{USERNAME}"]
    fields = ["name", "media_type", "size", "digest", "owner", "scope", "created_at"]

    def delete_model(self, request: HttpRequest, obj: Attachment) -> None:
        delete_attachment(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Attachment]) -> None:
        for attachment in queryset:
            delete_attachment(attachment)


class ApiTokenForm(forms.ModelForm):
    days = forms.IntegerField(
        min_value=1, max_value=MAX_DAYS, required=False, help_text="How long it lives. Empty: it does not expire."
    )

    class Meta:
        model = ApiToken
        fields = ["user", "name"]


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    form = ApiTokenForm
    list_display = ["prefix", "name", "user", "created_at", "expires_at", "revoked_at", "last_used_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter), "expires_at", "last_used_at"]
    list_select_related = ["user"]
    search_fields = ["prefix", "name", f"user__{USERNAME}"]
    raw_id_fields = ["user"]
    actions = ["revoke"]

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        return ["user", "name", "days"] if obj is None else self.list_display

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        return [] if obj is None else self.list_display

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"days": conf.get().token_days, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        if not change:
            text = mint(obj, form.cleaned_data["days"])
            messages.warning(request, f"This is the token. It can't be shown again: {text}")
        super().save_model(request, obj, form, change)

    @admin.action(description="Revoke the selected tokens", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        revoked = queryset.filter(revoked_at=None).update(revoked_at=timezone.now())
        messages.success(request, f"Tokens revoked: {revoked}.")
