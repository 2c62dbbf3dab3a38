"""The words of a question: each value stays inside its line, whatever characters it has."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from django.db.models import Model
from django.utils import timezone
from django.utils.formats import date_format, time_format

from agui.tools.schema import X_CONFIRM_KEY, X_SUMMARY_KEY

MAX_LINES = 200
MAX_LINE_CHARS = 2000
MAX_VALUE_CHARS = 200
# Characters that look like an end of a line or like nothing, or turn the direction of writing.
BLANKS = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029\u115f\u1160\u2800\u3164\uffa0]+")
INVISIBLE = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def one_line(text: Any, limit: int = MAX_LINE_CHARS) -> str:
    """Write a text on one line, in which nothing is hidden. A longer one ends with an ellipsis."""
    text, line, step = str(text), "", 4 * limit
    for start in range(0, len(text), step):
        line = BLANKS.sub(" ", INVISIBLE.sub("", line + text[start : start + step])).lstrip()
        if len(line.rstrip()) > limit:
            return f"{line[: limit - 1]}…"
    return line.rstrip()


def display_value(value: Any) -> str:
    """Write a value for people, on one line.

    Texts and rows are in quotation marks, so that they can't say anything else in a question. Times
    are in the current time zone, to the minute and with its name.
    """
    if isinstance(value, datetime):
        if timezone.is_naive(value):
            return date_format(value, "DATETIME_FORMAT")
        local = timezone.localtime(value)
        return f"{date_format(local, 'DATETIME_FORMAT')} {local.tzname()}"
    if isinstance(value, date):
        return date_format(value, "DATE_FORMAT")
    if isinstance(value, time):
        return time_format(value, "TIME_FORMAT")
    if isinstance(value, str | Model):
        text = one_line(value, MAX_VALUE_CHARS).replace("“", '"').replace("”", '"')
        return f"“{text}”"
    return one_line(value, MAX_VALUE_CHARS)


def question_text(question: Any) -> str:
    """Write a question: one line, or a line for each item of a list."""
    if not isinstance(question, list | tuple):
        return one_line(question)
    return "\n".join(map(one_line, question[:MAX_LINES]))


def in_lines(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Write the words of an interrupt's metadata so that no value leaves its line."""
    written = dict(metadata)
    if written.get(X_CONFIRM_KEY) is not None:
        written[X_CONFIRM_KEY] = question_text(written[X_CONFIRM_KEY])
    if written.get(X_SUMMARY_KEY) is not None:
        written[X_SUMMARY_KEY] = one_line(written[X_SUMMARY_KEY])
    return written
