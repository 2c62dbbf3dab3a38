from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from agui.contrib.admin.lists import USERNAME, RecordAdmin, link, moment
from agui.contrib.mcp.models import ClientQuestion
from agui.sentences import wording


@admin.register(ClientQuestion)
class ClientQuestionAdmin(RecordAdmin):
    list_display = [moment("created_at"), "tool_name", "client", "state_now", "who"]
    list_filter = ["state", "created_at"]
    list_select_related = ["user"]
    search_fields = ["=id", "tool_name", f"user__{USERNAME}"]
    search_help_text = wording("A user's name, a tool, or the id of an approval")
    heavy = ["arguments", "result", "answer"]
    fields = [
        "id",
        "created_at",
        "tool_name",
        "client",
        "who",
        "question",
        "state_now",
        "decided_at",
        "expires_at",
    ]
    readonly_fields = ["who", "question", "state_now"]

    @admin.display(description=wording("state"))
    def state_now(self, row: ClientQuestion) -> str:
        return row.state_label

    @admin.display(description=wording("question"))
    def question(self, row: ClientQuestion) -> str:
        """Show what the user was asked, in which secret arguments are hidden."""
        return str(row.form.get("message", "-"))

    @admin.display(description=wording("owner"))
    def who(self, row: Any) -> SafeString | str:
        return link(row.user)
