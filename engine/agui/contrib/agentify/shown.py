"""Values as the user reads them in a question. No value can write a line of the question."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from agui.contrib.agentify.secrets import has_secret_key
from agui.contrib.agentify.values import MAX_ITEMS, plain
from agui.tools.questions import display_value, one_line

MAX_CHARS = 150
MAX_NAME_CHARS = 80


def shown(value: Any) -> str:
    """Return a value on one line: rows by name, and moments in the current time zone."""
    if value is None or value == "":
        return ""
    if isinstance(value, models.Model):
        return row_name(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime) and settings.USE_TZ and timezone.is_naive(value):
        return display_value(timezone.make_aware(value))
    if isinstance(value, date | time):
        return display_value(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        pairs = plain(value).items()
        return ", ".join(f"{display_value(name)}: {shown(item)}" for name, item in pairs)
    if isinstance(value, list | tuple | set | models.QuerySet):
        items = list(value)
        more = f" and {len(items) - MAX_ITEMS} more" if len(items) > MAX_ITEMS else ""
        return ", ".join(map(shown, items[:MAX_ITEMS])) + more
    text = plain(value, MAX_CHARS)
    return display_value(text) if text else ""


def row_name(row: models.Model) -> str:
    """Name a row: "order 5 (“lamp”)", or "rental 2 of Ada" if the row calls itself that."""
    kind = one_line(row._meta.verbose_name, MAX_NAME_CHARS)
    number = "" if has_secret_key(type(row)) else id_text(row.pk)
    short = f"{kind} {number}".rstrip()
    is_plain = type(row).__str__ is models.Model.__str__
    text = "" if is_plain else one_line(plain(row) or "", MAX_NAME_CHARS)
    if not text:
        return short
    # A text that began with another number would name another row.
    is_same = re.match(rf"{re.escape(short)}(?!\w)", text, re.IGNORECASE)
    return text if number and is_same else f"{short} ({display_value(text)})"


def id_text(pk: Any) -> str:
    """Return an id on one line: that of a composite primary key has several values."""
    parts = pk if isinstance(pk, tuple) else (pk,)
    return ", ".join(one_line(part, MAX_NAME_CHARS) for part in parts)
