from agui.parts import Part


class FormulasConfig(Part):
    name = "agui.contrib.formulas"
    label = "agui_formulas"
    verbose_name = "Agent: formulas"
    page_modules = {"math": "agui_formulas/formula.js"}
