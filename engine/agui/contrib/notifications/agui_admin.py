from django.contrib import admin

from agui.contrib.admin.lists import USERNAME, RecordAdmin, moment, recent
from agui.contrib.notifications.models import Notification
from agui.sentences import wording


@admin.register(Notification)
class NotificationAdmin(RecordAdmin):
    list_display = [moment("created_at"), "kind", "channel", "state", "attempts", "error", "who"]
    list_filter = ["state", "channel", "kind", recent("error"), "created_at"]
    list_select_related = ["owner"]
    search_fields = ["=id", "=run", "=thread_id", f"owner__{USERNAME}"]
    search_help_text = wording("A user's name, or the id of a notification, run or conversation")
    fields = [
        "id",
        "created_at",
        "kind",
        "channel",
        "state",
        "attempts",
        "next_at",
        "sent_at",
        "error",
        "who",
        "thread_id",
        "run",
    ]
    readonly_fields = ["who"]
