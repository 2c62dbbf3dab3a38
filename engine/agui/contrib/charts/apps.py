from agui.parts import Part


class ChartsConfig(Part):
    name = "agui.contrib.charts"
    label = "agui_charts"
    verbose_name = "Agent: charts"
    page_modules = {"activity:chart": "agui_charts/chart.js"}
