from collections.abc import Collection, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from agui import conf
from agui.contrib.mcp.conf import McpSettings
from agui.part_values import Outdated, PersonalData
from agui.parts import Part

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from agui.actor import Actor
    from agui.deps import AgentDeps


# Ours, digests, and what is encrypted: `form` has what the user was shown.
HIDDEN = {"id", "user", "scope", "caller", "call", "arguments", "result"}


class McpConfig(Part):
    name = "agui.contrib.mcp"
    label = "agui_mcp"
    verbose_name = "Agent: MCP"
    settings = McpSettings

    def prepare(self) -> None:
        settings = conf.part(McpSettings)
        if settings.config:
            import_module("agui.contrib.mcp.toolset")
            import_module("agui.contrib.mcp.servers").configured_servers()
        if settings.endpoint:
            import_module("agui.contrib.mcp.server")

    async def shutdown(self) -> None:
        if conf.part(McpSettings).config:
            # The library of this module is an extra.
            from agui.contrib.mcp.connections import close_all

            # Servers may be child processes, which would outlive this one.
            await close_all()

    def routes(self) -> dict[str, tuple[str, str]]:
        page = "agui.contrib.mcp.page"
        return {
            "mcp": ("mcp/", "agui.contrib.mcp.views.McpView"),
            "mcp-approvals": ("mcp/approvals/", f"{page}.ApprovalsPage"),
            "mcp-approval": ("mcp/approvals/<uuid:approval_id>/", f"{page}.ApprovalPage"),
        }

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        if not conf.part(McpSettings).config:
            return []
        # The library of this module is an extra.
        from agui.contrib.mcp.toolset import mcp_toolset

        return [mcp_toolset(taken)]

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        # Django loads models after this module.
        from agui.contrib.mcp.models import ClientQuestion

        rows = ClientQuestion.objects.filter(scope=actor.scope).order_by("created_at", "pk")
        yield PersonalData("client_questions", rows, HIDDEN)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        from agui.contrib.mcp.models import ClientQuestion

        yield Outdated("questions of MCP clients", ClientQuestion.outdated())
