from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from django.core import checks

from agui import conf
from agui.contrib.durable.checks import check_executor
from agui.contrib.durable.conf import DurableSettings
from agui.lazy_import import LazyImport
from agui.parts import Part

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from agui.contrib.durable import orders
    from agui.models import Run
else:
    # The library of this module is an extra.
    orders = LazyImport("agui.contrib.durable.orders")


class DurableConfig(Part):
    name = "agui.contrib.durable"
    label = "agui_durable"
    verbose_name = "Agent: workers"
    settings = DurableSettings
    needs = ("agui.contrib.redis",)

    def ready(self) -> None:
        checks.register(check_executor)

    def prepare(self) -> None:
        if self.executes_runs() and find_spec("dbos"):
            import_module("agui.contrib.durable.orders")

    def executes_runs(self) -> bool:
        return conf.part(DurableSettings).is_on

    def ordered_runs(self) -> "QuerySet[Run]":
        from agui.contrib.durable.models import RunOrder
        from agui.models import Run

        return Run.objects.filter(pk__in=RunOrder.objects.values("pk"))

    async def execute(self, log: Any, run_input: Any, turn: Any, path: str) -> None:
        await orders.place_order(log, run_input, turn, path)
