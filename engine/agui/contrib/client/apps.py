import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from agui import conf
from agui.contrib.client.conf import ClientSettings
from agui.parts import Part

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from agui.deps import AgentDeps

logger = logging.getLogger("agui.client")


class ClientConfig(Part):
    name = "agui.contrib.client"
    label = "agui_client"
    verbose_name = "Agent: agents elsewhere"
    settings = ClientSettings

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        agents = conf.part(ClientSettings).remote_agents
        for name in agents.keys() & taken:
            logger.warning("Leaving out remote agent %r: a tool has this name. Rename one", name)
        free = {name: agent for name, agent in agents.items() if name not in taken}
        if not free:
            return []
        # This import loads pydantic-ai, which start-up doesn't need.
        from agui.contrib.client.remote import remote_toolset

        return [remote_toolset(free)]
