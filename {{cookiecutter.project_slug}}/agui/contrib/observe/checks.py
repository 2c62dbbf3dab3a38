import os
from typing import Any

from django.core import checks

from agui import conf
from agui.contrib.observe.conf import ObserveSettings


def check_telemetry(**kwargs: Any) -> list[checks.CheckMessage]:
    """Do OpenTelemetry's own variables ask for what is not there?"""
    if not conf.part(ObserveSettings).telemetry:
        return []
    known = {"_PROTOCOL": ("http/protobuf",), "_EXPORTER": ("otlp", "none")}
    names = [f"OTEL_EXPORTER_OTLP{signal}_PROTOCOL" for signal in ("", "_TRACES", "_METRICS")]
    names += ["OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"]
    return [
        checks.Error(
            f"{name} is {value!r}, and AGUI['OBSERVE']['TELEMETRY'] does not know that.",
            hint=f"Remove it, or use {' or '.join(allowed)}.",
            id="agui.E010",
        )
        for name in names
        for ending, allowed in known.items()
        if name.endswith(ending)
        and (value := os.environ.get(name, "").strip())
        and value not in allowed
    ]
