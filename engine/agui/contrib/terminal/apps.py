from agui.parts import Part


class TerminalConfig(Part):
    name = "agui.contrib.terminal"
    label = "agui_terminal"
    verbose_name = "Agent: terminal"
    needs = ("agui.contrib.client",)
