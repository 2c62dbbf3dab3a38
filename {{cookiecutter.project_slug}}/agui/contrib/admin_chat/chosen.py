from agui import conf
from agui.contrib.admin_chat.conf import AdminChatSettings
from agui.namespaces import mounted_agents


def chosen_agent() -> str | None:
    """Return the agent that the admin shows. None if the settings leave open which one it is."""
    agents = list(mounted_agents())
    named = conf.part(AdminChatSettings).agent
    if named:
        return named if named in agents else None
    return agents[0] if len(agents) == 1 else None
