"""How a line of the log is written: as text for people, or as JSON for programs. The LOGGING setting names these."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from agui.log_fields import END_FIELDS, FIELDS, RunFields

__all__ = ["JsonFormatter", "RunFields", "TextFormatter"]

COLOURS = re.compile(r"\x1b\[[\d;]*m")  # runserver's, when it writes on a terminal
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def _ids(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in (*FIELDS, *END_FIELDS) if hasattr(record, name)}


class TextFormatter(logging.Formatter):
    """A line, at its end the run that it belongs to, and below it a traceback, indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        # What somebody says can't look like a line of its own, nor write on a terminal.
        message = COLOURS.sub("", record.message)
        record.message = CONTROLS.sub(lambda found: ascii(found[0])[1:-1], message)
        ids = " ".join(
            f"{name}={json.dumps(value, default=str)}" for name, value in _ids(record).items()
        )
        return super().formatMessage(record) + (f" [{ids}]" if ids else "")

    def formatException(self, ei: Any) -> str:
        return _indent(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indent(super().formatStack(stack_info))


def _indent(text: str) -> str:
    """Indent each line, so that an exception's words can't begin a line of the log."""
    lines = (CONTROLS.sub(lambda found: ascii(found[0])[1:-1], line) for line in text.split("\n"))
    return "\n".join(f"    {line}" for line in lines)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, with the traceback of an error in it."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line, default=str)
