import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.core import checks

from agui import conf
from agui.contrib.observe.checks import check_telemetry
from agui.contrib.observe.conf import ObserveSettings
from agui.lazy_import import LazyImport
from agui.log_fields import log_fields
from agui.parts import Part

if TYPE_CHECKING:
    from agui.contrib.observe import telemetry
else:
    # The library of this module is an extra.
    telemetry = LazyImport("agui.contrib.observe.telemetry")


class ObserveConfig(Part):
    name = "agui.contrib.observe"
    label = "agui_observe"
    verbose_name = "Agent: OpenTelemetry"
    settings = ObserveSettings

    def ready(self) -> None:
        checks.register(check_telemetry)

    @property
    def is_on(self) -> bool:
        return conf.part(ObserveSettings).telemetry

    def prepare(self) -> None:
        if self.is_on:
            # This import takes long.
            import_module("agui.contrib.observe.telemetry")

    async def shutdown(self) -> None:
        if self.is_on:
            await asyncio.to_thread(telemetry.flush)

    def request_context(self, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
        if not self.is_on:
            return nullcontext()
        return telemetry.continued(headers)

    def request_headers(self) -> dict[str, str]:
        if not self.is_on:
            return {}
        return telemetry.carrier()

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        if not self.is_on:
            return nullcontext()
        return _span(run)


@contextmanager
def _span(run: Any) -> Iterator[None]:
    with telemetry.run_span(run) as trace_id, log_fields(trace_id=trace_id):
        yield
