from agui.parts import Part


class AgentifyConfig(Part):
    name = "agui.contrib.agentify"
    label = "agui_agentify"
    verbose_name = "Agent: tools from models"
