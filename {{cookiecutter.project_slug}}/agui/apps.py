"""Start-up: settings are checked, tools are found."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AguiConfig(AppConfig):
    name = "agui"
    verbose_name = "Agent"

    def ready(self) -> None:
        from agui import checks, conf

        conf.load()
        checks.register()
        autodiscover_modules("tools", "skills")
