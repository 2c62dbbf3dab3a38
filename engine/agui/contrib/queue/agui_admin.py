import json
from contextlib import suppress

from django.contrib import admin

from agui.contrib.admin.lists import USERNAME, moment, row_filter
from agui.contrib.admin.runs import THREAD_COLUMNS, OfThreadAdmin
from agui.contrib.queue.models import QueuedMessage
from agui.models import get_conversation_model
from agui.sentences import wording


@admin.register(QueuedMessage)
class QueuedMessageAdmin(OfThreadAdmin):
    list_display = [moment("created_at"), "thread", "who", "mode", "state"]
    list_filter = ["state", "created_at", row_filter(get_conversation_model(), **THREAD_COLUMNS)]
    list_select_related = ["owner"]
    ordering = ["-created_at", "-pk"]
    search_fields = ["=thread_id", "=message_id", f"owner__{USERNAME}"]
    search_help_text = wording("A user's name, or the id of a conversation or message")
    heavy = ["data"]
    fields = ["created_at", "thread", "who", "mode", "state", "text", "message_id"]
    readonly_fields = ["thread", "who", "text"]

    @admin.display(description=wording("text"))
    def text(self, row: QueuedMessage) -> str:
        """Show the text of a message that waits: once it is read, the thread has it."""
        with suppress(ValueError):
            content = json.loads(row.data)["content"]
            if isinstance(content, str):
                return content
            return "\n".join(part.get("text", f"[{part['type']}]") for part in content)
        return "-"
