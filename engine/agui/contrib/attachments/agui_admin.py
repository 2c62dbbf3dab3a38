from typing import TYPE_CHECKING, Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agui.contrib.admin.lists import (
    USERNAME,
    RecordAdmin,
    count_of,
    link,
    moment,
    recent,
    row_filter,
)
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.errors import NotFound
from agui.lazy_import import LazyImport
from agui.models import get_conversation_model
from agui.sentences import wording

if TYPE_CHECKING:
    from agui.contrib.attachments import views
else:
    views = LazyImport("agui.contrib.attachments.views")

Thread = get_conversation_model()


@admin.register(Attachment)
class AttachmentAdmin(RecordAdmin):
    list_display = ["name", "media_type", "bytes", "who", "uses", moment("created_at"), "download"]
    list_filter = [
        recent("media_type"),
        "created_at",
        row_filter(Thread, scope="scope", uses__thread_id="thread_id"),
    ]
    list_select_related = ["owner"]
    search_fields = ["name", "=digest", "=id", f"owner__{USERNAME}"]
    search_help_text = wording("A file's name, id or SHA-256, or a user's name")
    fields = ["name", "media_type", "bytes", "digest", "who", "threads", "created_at", "download"]
    readonly_fields = ["bytes", "who", "threads", "download"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attachment]:
        uses = count_of(AttachmentUse, attachment=OuterRef("pk"))
        return super().get_queryset(request).annotate(used=uses)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.send)
        return [
            path("<uuid:pk>/download/", view, name="agui_attachments_attachment_download"),
            *super().get_urls(),
        ]

    def send(self, request: HttpRequest, pk: UUID) -> HttpResponseBase:
        """Send a file as a download, as its owner gets it: no browser shows or runs it."""
        attachment = self.get_object(request, str(pk))
        if attachment is None:
            raise Http404
        if not self.has_view_permission(request, attachment):
            raise PermissionDenied
        try:
            return async_to_sync(views.download)(attachment)
        except NotFound as error:
            raise Http404(str(error)) from None

    @admin.display(description=wording("size"))
    def bytes(self, attachment: Attachment) -> str:
        return filesizeformat(attachment.size)

    @admin.display(description=wording("uses"))
    def uses(self, attachment: Any) -> int:
        return attachment.used or 0

    @admin.display(description=wording("threads"))
    def threads(self, attachment: Attachment) -> SafeString | str:
        used = attachment.uses.values("thread_id")
        threads = Thread.objects.filter(thread_id__in=used, scope=attachment.scope)[:20]
        return format_html_join(", ", "{}", [[link(thread)] for thread in threads]) or "-"

    @admin.display(description=wording("download"))
    def download(self, attachment: Attachment) -> SafeString:
        page = reverse("admin:agui_attachments_attachment_download", args=[attachment.pk])
        return format_html('<a href="{}">{}</a>', page, wording("Download"))
