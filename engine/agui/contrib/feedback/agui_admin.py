from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agui.contrib.admin.lists import USERNAME, RecordAdmin, change_page, link, moment
from agui.contrib.admin.threads import ConversationAdmin
from agui.contrib.feedback.models import Feedback
from agui.models import Run
from agui.sentences import wording


@admin.register(Feedback)
class FeedbackAdmin(RecordAdmin):
    scope_field = "thread__scope"
    list_display = [moment("updated_at"), "value", "remark", "who", "thread_title"]
    list_filter = ["value", ("comment", admin.EmptyFieldListFilter), "updated_at"]
    search_fields = ["comment", "=thread__thread_id", "=message_id", f"thread__owner__{USERNAME}"]
    search_help_text = wording(
        "Words of a comment, a user's name, or the id of a conversation or answer"
    )
    fields = [
        "updated_at",
        "value",
        "comment",
        "who",
        "thread_title",
        "answer",
        "answered_by",
        "message_id",
    ]
    readonly_fields = ["who", "thread_title", "answer", "answered_by"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Feedback]:
        heavy = [f"thread__{name}" for name in (*ConversationAdmin.heavy, "usage")]
        return super().get_queryset(request).select_related("thread__owner").defer(*heavy)

    @admin.display(description=wording("comment"), ordering="comment")
    def remark(self, feedback: Feedback) -> str:
        return truncatechars(feedback.comment, 120) or "-"

    @admin.display(description=wording("owner"))
    def who(self, feedback: Feedback) -> SafeString | str:
        return super().who(feedback.thread)

    @admin.display(description=wording("thread"))
    def thread_title(self, feedback: Feedback) -> SafeString | str:
        return link(feedback.thread)

    @admin.display(description=wording("answer"))
    def answer(self, feedback: Feedback) -> SafeString:
        """Link to the version of the conversation that ends with the answer."""
        page = change_page(feedback.thread)
        text = wording("The conversation up to it")
        return format_html('<a href="{}?end={}">{}</a>', page, feedback.entry, text)

    @admin.display(description=wording("run"))
    def answered_by(self, feedback: Feedback) -> SafeString | str:
        if feedback.run is None:
            return "-"
        run = Run.objects.filter(pk=feedback.run).first()
        if run is None:
            return "-"
        return format_html("{} {}", link(run), run.model)
