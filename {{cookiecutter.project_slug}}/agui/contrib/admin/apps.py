from agui.parts import Part


class AgentAdminConfig(Part):
    name = "agui.contrib.admin"
    label = "agui_admin"
    verbose_name = "Agent: admin"

    def ready(self) -> None:
        super().ready()
        from agui.contrib.admin.threads import register_conversations

        register_conversations()
