from agui.parts import Part


class EvalsConfig(Part):
    name = "agui.contrib.evals"
    label = "agui_evals"
    verbose_name = "Agent: evals"
