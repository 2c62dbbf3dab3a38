from agui.parts import Part


class AgentAdminConfig(Part):
    name = "agui.contrib.admin"
    label = "agui_admin"
    verbose_name = "Agent: admin"
