from collections.abc import Collection
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

from agui import conf
from agui.contrib.drf_mcp.conf import DrfMcpSettings
from agui.parts import Part

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from agui.deps import AgentDeps


class DrfMcpConfig(Part):
    name = "agui.contrib.drf_mcp"
    label = "agui_drf_mcp"
    verbose_name = "Agent: services of Django REST framework"
    settings = DrfMcpSettings

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        server = conf.part(DrfMcpSettings).server
        if server is None:
            return []
        # The library of this module is an extra.
        from agui.contrib.drf_mcp.toolset import DrfMcpToolset

        return [DrfMcpToolset(import_string(server), taken=taken)]
