import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.core import checks

from agui import conf
from agui.contrib.observe.checks import check_telemetry
from agui.contrib.observe.conf import ObserveSettings
from agui.later import Later
from agui.log_fields import log_fields
from agui.parts import Part

if TYPE_CHECKING:
    from agui.contrib.observe import telemetry
else:
    telemetry = Later("agui.contrib.observe.telemetry")  # Its library is an extra


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
            import_module("agui.contrib.observe.telemetry")  # It takes long

    async def shutdown(self) -> None:
        if self.is_on:
            await asyncio.to_thread(telemetry.flush)

    def request_context(self, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
        return telemetry.continued(headers) if self.is_on else nullcontext()

    def request_headers(self) -> dict[str, str]:
        return telemetry.carrier() if self.is_on else {}

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        return _span(run) if self.is_on else nullcontext()


@contextmanager
def _span(run: Any) -> Iterator[None]:
    with telemetry.run_span(run) as trace_id, log_fields(trace_id=trace_id):
        yield
