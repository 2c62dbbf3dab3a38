from typing import Any

from django.apps import apps
from django.core import checks

from agui import conf
from agui.contrib.admin_chat.conf import AdminChatSettings
from agui.namespaces import mounted_agents


def check_admin_chat(**kwargs: Any) -> list[checks.CheckMessage]:
    """Check that the part's template precedes the admin's, and that one agent is meant."""
    messages: list[checks.CheckMessage] = []
    names = [app.name for app in apps.get_app_configs()]
    if "django.contrib.admin" in names[: names.index("agui.contrib.admin_chat")]:
        messages.append(
            checks.Error(
                "Django finds the admin's own template before the one with the chat.",
                hint="Put 'agui.contrib.admin_chat' above 'django.contrib.admin' in "
                "INSTALLED_APPS.",
                id="agui_admin_chat.E001",
            )
        )
    agent, agents = conf.part(AdminChatSettings).agent, list(mounted_agents())
    if agent not in agents:
        messages.append(
            checks.Error(
                f"AGUI['ADMIN_CHAT']['AGENT'] is {agent!r}, and the agents are {agents}.",
                hint="Name the one that the pages of the admin show.",
                id="agui_admin_chat.E002",
            )
        )
    return messages
