import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from agui.contrib.admin.lists import USERNAME, RecordAdmin, ShortPaginator, link, moment
from agui.contrib.mcp import pins
from agui.contrib.mcp.models import (
    ClientQuestion,
    ClientTask,
    RemoteAccount,
    RemoteClient,
    RemoteTool,
)
from agui.sentences import fill, wording


class ClientCallAdmin(RecordAdmin):
    """Calls of MCP clients that are kept."""

    list_display = [moment("created_at"), "tool_name", "client", "state_now", "who"]
    list_filter = ["state", "created_at"]
    list_select_related = ["user"]
    search_fields = ["=id", "tool_name", f"user__{USERNAME}"]

    @admin.display(description=wording("state"))
    def state_now(self, row: Any) -> str:
        return str(row.state_label)

    @admin.display(description=wording("owner"))
    def who(self, row: Any) -> SafeString | str:
        return link(row.user)


@admin.register(ClientQuestion)
class ClientQuestionAdmin(ClientCallAdmin):
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

    @admin.display(description=wording("question"))
    def question(self, row: ClientQuestion) -> str:
        """Show what the user was asked, in which secret arguments are hidden."""
        return str(row.form.get("message", "-"))


@admin.register(ClientTask)
class ClientTaskAdmin(ClientCallAdmin):
    heavy = ["arguments", "result"]
    fields = [
        "id",
        "created_at",
        "tool_name",
        "client",
        "who",
        "question",
        "state_now",
        "updated_at",
        "expires_at",
    ]
    readonly_fields = ["who", "state_now"]


class RemoteAdmin(admin.ModelAdmin):
    """Rows about remote servers. What is encrypted in them is not shown."""

    paginator = ShortPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(RemoteAccount)
class RemoteAccountAdmin(RemoteAdmin):
    list_display = ["server", "user", moment("connected_at"), "is_over"]
    list_filter = ["server", "is_over"]
    list_select_related = ["user"]
    search_fields = [f"user__{USERNAME}"]
    fields = ["server", "user", "connected_at", "is_over"]


@admin.register(RemoteClient)
class RemoteClientAdmin(RemoteAdmin):
    list_display = ["server", "redirect_uri", moment("created_at")]
    fields = ["server", "redirect_uri", "created_at"]


@admin.register(RemoteTool)
class RemoteToolAdmin(RemoteAdmin):
    list_display = ["server", "name", moment("seen_at"), moment("accepted_at")]
    list_filter = ["server", ("accepted_at", admin.EmptyFieldListFilter)]
    search_fields = ["name"]
    ordering = ["-seen_at"]
    fields = ["server", "name", "words", "seen_at", "accepted_at"]
    readonly_fields = ["words"]
    actions = ["accept"]

    def has_accept_permission(self, request: HttpRequest) -> bool:
        # Nobody changes a row, so the permission to do so is that to accept it.
        return bool(request.user.has_perm("agui_mcp.change_remotetool"))

    @admin.display(description=wording("definition"))
    def words(self, row: RemoteTool) -> str:
        return json.dumps(row.definition, indent=2, ensure_ascii=False)

    @admin.action(description=wording("Accept the selected definitions"), permissions=["accept"])
    def accept(self, request: HttpRequest, queryset: "QuerySet[RemoteTool]") -> None:
        accepted = pins.accept(queryset)
        for row in accepted:
            self.log_change(request, row, [{"changed": {"fields": ["accepted_at"]}}])
        number = str(len(accepted))
        self.message_user(
            request,
            fill(wording("Accepted definitions: {number}"), number=number),
            messages.SUCCESS,
        )
