from django.core import checks

from agui.contrib.bundle.checks import check_storage
from agui.parts import Part


class BundleConfig(Part):
    name = "agui.contrib.bundle"
    label = "agui_bundle"
    verbose_name = "Agent: static files"

    def ready(self) -> None:
        checks.register(check_storage, deploy=True)
