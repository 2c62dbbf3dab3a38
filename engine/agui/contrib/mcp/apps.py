from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core import checks
from django.db import transaction
from django.db.models.signals import post_delete
from django.urls import reverse
from django.utils.translation import pgettext_lazy

from agui import conf
from agui.contrib.mcp.checks import check_deployment
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.servers import Server, oauth_servers, shows_apps
from agui.lazy_import import LazyImport
from agui.part_values import Outdated, PersonalData
from agui.parts import Part

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from agui.actor import Actor
    from agui.contrib.mcp.accounts import tokens
    from agui.deps import AgentDeps
else:
    # This module imports models, which don't exist yet when Django imports this one.
    tokens = LazyImport("agui.contrib.mcp.accounts.tokens")


# Ours, digests, and what is encrypted: `form` has what the user was shown.
HIDDEN = {"id", "user", "scope", "caller", "call", "arguments", "result"}
HIDDEN_OF_TASKS = {"id", "user", "scope", "caller", "question", "process", "arguments", "result"}

# Ours, and secrets.
HIDDEN_OF_ACCOUNTS = {
    *("id", "user", "tokens", "renew_at", "renewing_until"),
    *("state", "session", "attempt", "attempt_until"),
}


class Calls(PersonalData):
    """Calls of MCP clients that are kept, and the words of their results."""

    def extra(self, row: Any) -> dict[str, Any]:
        if not row.result:
            return {}
        # The library of these modules is an extra: without it, nothing was called.
        from agui.contrib.mcp import approvals, task_rows
        from agui.contrib.mcp.models import ClientTask
        from agui.contrib.mcp.sealing import Unreadable

        try:
            if isinstance(row, ClientTask):
                return {"result": task_rows.words_of_result(row)}
            return {"result": approvals.words_of_result(row)}
        except Unreadable:
            return {"result": None}


def check_apps(servers: Iterable[Server]) -> None:
    """Raise ImproperlyConfigured for a server with apps if nothing can show them."""
    for server in servers:
        if server.apps and not apps.is_installed("agui.contrib.views"):
            error = ValueError(
                f"the server {server.name!r} has apps, which the part `views` shows: add "
                '"agui.contrib.views" to INSTALLED_APPS'
            )
            raise conf.mistake(error, "MCP", "CONFIG")


def revoke_tokens(instance: Any, using: str, **kwargs: Any) -> None:
    """Revoke the tokens of an account that has been deleted, alone or with its user."""
    row_id, sealed = instance.pk, instance.tokens

    def revoke() -> None:
        tokens.revoke_later(row_id, sealed)

    if sealed:
        # Robust: without the library, which is an extra, the row is deleted all the same.
        transaction.on_commit(revoke, using=using, robust=True)


class McpConfig(Part):
    name = "agui.contrib.mcp"
    label = "agui_mcp"
    verbose_name = "Agent: MCP"
    settings = McpSettings
    page_modules = {"composer:approvals": "agui_mcp/waiting.js"}

    def ready(self) -> None:
        checks.register(check_deployment, deploy=True)
        # Only a signal also reports the rows that are deleted with their user.
        post_delete.connect(
            revoke_tokens,
            sender=self.get_model("RemoteAccount"),
            dispatch_uid="agui.revoke_tokens",  # Tests that change INSTALLED_APPS call it again.
        )

    def prepare(self) -> None:
        settings = conf.part(McpSettings)
        if settings.config:
            import_module("agui.contrib.mcp.toolset")
            servers = import_module("agui.contrib.mcp.servers").configured_servers()
            check_apps(servers)
        if settings.endpoint:
            import_module("agui.contrib.mcp.server")

    async def shutdown(self) -> None:
        if conf.part(McpSettings).endpoint:
            from agui.contrib.mcp.tasks import finish

            await finish()
        if conf.part(McpSettings).config:
            # The library of this module is an extra.
            from agui.contrib.mcp.connections import close_all

            # Servers may be child processes, which would outlive this one.
            await close_all()

    def routes(self) -> dict[str, tuple[str, str]]:
        page, accounts = "agui.contrib.mcp.page", "agui.contrib.mcp.accounts.page"
        return {
            "mcp": ("mcp/", "agui.contrib.mcp.views.McpView"),
            "mcp-apps": ("mcp/apps/", "agui.contrib.mcp.app_views.AppView"),
            "mcp-approvals": ("mcp/approvals/", f"{page}.ApprovalsPage"),
            "mcp-approval": ("mcp/approvals/<uuid:approval_id>/", f"{page}.ApprovalPage"),
            "mcp-accounts": ("mcp/accounts/", f"{accounts}.AccountsPage"),
            "mcp-account-client": ("mcp/accounts/client.json/", f"{accounts}.ClientDocument"),
            "mcp-account-callback": (
                "mcp/accounts/<slug:server>/callback/",
                f"{accounts}.CallbackPage",
            ),
        }

    def page_attributes(self, agent: str) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        if conf.part(McpSettings).endpoint:
            attributes |= {"data-approvals-url": reverse(f"{agent}:mcp-approvals")}
        if shows_apps():
            attributes |= {"data-apps-url": reverse(f"{agent}:mcp-apps")}
        return attributes

    def personal_pages(self, agent: str) -> dict[str, Any]:
        pages: dict[str, Any] = {}
        if conf.part(McpSettings).endpoint:
            pages[reverse(f"{agent}:mcp-approvals")] = pgettext_lazy("agui", "Approvals")
        if oauth_servers():
            words = pgettext_lazy("agui", "Your accounts at other services")
            pages[reverse(f"{agent}:mcp-accounts")] = words
        return pages

    def modules_of_page(self, agent: str) -> Mapping[str, str]:
        return self.page_modules if conf.part(McpSettings).endpoint else {}

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        if not conf.part(McpSettings).config:
            return []
        # The library of this module is an extra.
        from agui.contrib.mcp.toolset import mcp_toolset

        return [mcp_toolset(taken)]

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        # Django loads models after this module.
        from agui.contrib.mcp.models import ClientQuestion, ClientTask, RemoteAccount

        rows = ClientQuestion.objects.filter(scope=actor.scope).order_by("created_at", "pk")
        yield Calls("client_questions", rows, HIDDEN)
        tasks = ClientTask.objects.filter(scope=actor.scope).order_by("created_at", "pk")
        yield Calls("client_tasks", tasks, HIDDEN_OF_TASKS)
        accounts = RemoteAccount.objects.filter(user_id=actor.user.pk).order_by("server")
        yield PersonalData("remote_accounts", accounts, HIDDEN_OF_ACCOUNTS)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        from agui.contrib.mcp.models import ClientQuestion, ClientTask, RemoteAccount, RemoteTool

        yield Outdated("questions of MCP clients", ClientQuestion.outdated())
        yield Outdated("tasks of MCP clients", ClientTask.outdated())
        yield Outdated("sign-ins at remote servers", RemoteAccount.outdated())
        yield Outdated("definitions of remote tools", RemoteTool.outdated())
