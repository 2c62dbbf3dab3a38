from django.core import checks

from agui.contrib.admin_chat.checks import check_admin_chat
from agui.contrib.admin_chat.conf import AdminChatSettings
from agui.parts import Part


class AdminChatConfig(Part):
    name = "agui.contrib.admin_chat"
    label = "agui_admin_chat"
    verbose_name = "Agent: chat in the admin"
    settings = AdminChatSettings

    def ready(self) -> None:
        super().ready()
        checks.register(check_admin_chat)
