from typing import TYPE_CHECKING, Any

from django.core import checks

from agui.contrib.demo.checks import check_agents
from agui.lazy_import import LazyImport
from agui.parts import Part

if TYPE_CHECKING:
    from agui.contrib.demo import model as demo
else:
    # A server whose model answers needs no demo model.
    demo = LazyImport("agui.contrib.demo.model")


class DemoConfig(Part):
    name = "agui.contrib.demo"
    label = "agui_demo"
    verbose_name = "Agent: demo model"

    def ready(self) -> None:
        checks.register(check_agents, deploy=True)

    def model(self, name: str, notice: str) -> Any:
        return demo.build_demo_model(notice) if name == "demo" else None
