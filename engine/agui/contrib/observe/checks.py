import os
from typing import Any

from django.core import checks

from agui import conf
from agui.contrib.observe.conf import ObserveSettings

PROTOCOLS = ("http/protobuf",)
EXPORTERS = ("otlp", "none")
SUPPORTED = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": PROTOCOLS,
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": PROTOCOLS,
    "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": PROTOCOLS,
    "OTEL_TRACES_EXPORTER": EXPORTERS,
    "OTEL_METRICS_EXPORTER": EXPORTERS,
}


def check_telemetry(**kwargs: Any) -> list[checks.CheckMessage]:
    """Report variables of OpenTelemetry with a value that this part doesn't support."""
    if not conf.part(ObserveSettings).telemetry:
        return []
    messages: list[checks.CheckMessage] = []
    for name, supported in SUPPORTED.items():
        value = os.environ.get(name, "").strip()
        if value and value not in supported:
            error = checks.Error(
                f"{name} is {value!r}, which AGUI['OBSERVE']['TELEMETRY'] does not support.",
                hint=f"Remove it, or use {' or '.join(supported)}.",
                id="agui.E010",
            )
            messages.append(error)
    return messages
