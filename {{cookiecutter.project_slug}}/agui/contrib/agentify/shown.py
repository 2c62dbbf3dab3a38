"""Values as the user reads them in a question. No value can write a line of the question."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import dateformat, timezone

from agui.contrib.agentify.secrets import has_secret_key
from agui.contrib.agentify.values import MAX_ITEMS, plain

MAX_CHARS = 200
MAX_NAME_CHARS = 80
MAX_NOTE_CHARS = 40
"""Of what is said about a text that was cut."""
# Letters that look like blanks.
BLANK = {"\u115f", "\u1160", "\u2800", "\u3164", "\uffa0"}
# What joins letters and pictures, and can neither break nor turn a line.
JOINERS = {"\u200c", "\u200d"}


def shown(value: Any, max_chars: int = MAX_CHARS) -> str:
    """Return a value on one line: rows by name, and moments in the user's time zone."""
    if isinstance(value, models.Model):
        return row_name(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return dateformat.format(value, "j F Y")
    if isinstance(value, time):
        return value.strftime("%H:%M:%S" if value.second else "%H:%M")
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, timedelta | int | float):
        return str(value)
    if isinstance(value, Mapping):
        pairs = list(plain(value).items())
        return _cut(", ".join(f"{shown(name)}: {shown(item)}" for name, item in pairs), max_chars)
    if isinstance(value, list | tuple | set | models.QuerySet):
        items = list(value)
        names = [shown(item, MAX_NAME_CHARS) for item in items[:MAX_ITEMS]]
        more = f" and {len(items) - MAX_ITEMS} more" if len(items) > MAX_ITEMS else ""
        return ", ".join(names) + more
    return one_line(plain(value, max_chars), max_chars + MAX_NOTE_CHARS)


def _moment(value: datetime) -> str:
    if settings.USE_TZ:
        if timezone.is_naive(value):
            value = timezone.make_aware(value)
        value = timezone.localtime(value)
    text = dateformat.format(value, "j F Y, H:i")
    zone = value.tzname() or ""
    # Many zones have no name but their distance: "+03".
    zone = f"UTC{zone}" if zone[:1] in ("+", "-") else zone
    return f"{text} {zone}".rstrip()


def one_line(value: Any, max_chars: int = MAX_CHARS) -> str:
    """Put a text on one line. What would break or turn the line is written as its number."""
    letters = []
    for letter in str(value or "")[: 10 * max_chars]:
        if letter in "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029":
            letters.append(" ⏎ ")
        elif letter.isspace() or letter in BLANK:
            letters.append(" ")
        elif unicodedata.category(letter) in ("Cc", "Cf", "Cs") and letter not in JOINERS:
            letters.append(f"[U+{ord(letter):04X}]")
        else:
            letters.append(letter)
    text = " ".join("".join(letters).split())
    return _cut(re.sub("⏎(?: ⏎)+", "⏎", text), max_chars)


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars].rstrip()}…"


def row_name(row: models.Model) -> str:
    """Name a row: "order 5 (Ada's lamp)", or "rental 2 of Ada" if the row calls itself that."""
    kind = one_line(row._meta.verbose_name, MAX_NAME_CHARS)
    number = "" if has_secret_key(type(row)) else shown(row.pk, MAX_NAME_CHARS)
    short = f"{kind} {number}".rstrip()
    is_plain = type(row).__str__ is models.Model.__str__
    text = "" if is_plain else one_line(plain(row), MAX_NAME_CHARS)
    if not text:
        return short
    # A text that began with another number would name another row.
    is_same = re.match(rf"{re.escape(short)}(?!\w)", text, re.IGNORECASE)
    return text if number and is_same else f"{short} ({text})"
