from django.utils.module_loading import import_string
from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import


class ObserveSettings(Section):
    """Traces and metrics of runs, over OpenTelemetry."""

    environment = {"telemetry": "TELEMETRY"}

    telemetry: bool = Field(
        False,
        description="Records spans and metrics of runs, and sends them where the OTEL_* variables "
        "say.",
    )
    content: bool = Field(
        False,
        description="Also exports what users, models and tools say: prompts, answers, arguments, "
        "results.",
    )

    @field_validator("telemetry")
    @classmethod
    @by_import
    def _has_its_library(cls, is_on: bool) -> bool:
        if is_on:
            try:
                import_string(
                    "opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter"
                )
            except ImportError:
                raise ValueError("it needs packages: install agui-django[observe]") from None
        return is_on
