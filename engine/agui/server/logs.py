"""Format the lines of the log: as text for people, or as JSON for programs.

The LOGGING setting names these classes.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from agui.log_fields import END_FIELDS, FIELDS, RunFields

__all__ = ["JsonFormatter", "RunFields", "TextFormatter"]

# `runserver` colours its lines on a terminal.
COLOURS = re.compile(r"\x1b\[[\d;]*m")
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


_as_json = json.JSONEncoder(default=str).encode


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = {}
    for name in (*FIELDS, *END_FIELDS):
        if hasattr(record, name):
            fields[name] = getattr(record, name)
    return fields


class TextFormatter(logging.Formatter):
    """One line with the run that it belongs to at its end; a traceback follows, indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        # A message that quotes a user must not look like another line, nor control a terminal.
        message = COLOURS.sub("", record.message)
        record.message = _escape(message)
        line = super().formatMessage(record)
        pairs = []
        for name, value in _fields(record).items():
            pairs.append(f"{name}={_as_json(value)}")
        if pairs:
            line += f" [{' '.join(pairs)}]"
        return line

    def formatException(self, ei: Any) -> str:
        return _indent(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indent(super().formatStack(stack_info))


def _escape(text: str) -> str:
    """Write control characters as Python does: a line break as `\\n`."""
    return CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def _indent(text: str) -> str:
    """Indent each line, so that the words of an exception can't begin a line of the log."""
    return "\n".join(f"    {_escape(line)}" for line in text.split("\n"))


class JsonFormatter(logging.Formatter):
    """One JSON object a line, which has the traceback of an error, too."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return _as_json(line)
