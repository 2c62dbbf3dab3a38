from agui.parts import Part


class ExportConfig(Part):
    name = "agui.contrib.export"
    label = "agui_export"
    verbose_name = "Agent: export"

    def routes(self) -> dict[str, tuple[str, str]]:
        return {"export": ("export/", "agui.contrib.export.views.ExportView")}
