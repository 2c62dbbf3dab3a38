"""Values of fields as JSON, for the language model."""

from datetime import date, datetime, time
from typing import Any

from django.db import models
from django.db.models.fields.files import FieldFile

from agui.contrib.agentify.secrets import is_secret_name, text_of, without_secrets
from agui.tools.secret_arguments import REDACTED

MAX_CHARS = 200
"""Of a text, if several rows are shown."""
MAX_CHARS_ALONE = 5000
"""Of a text, if one row is shown."""
MAX_ITEMS = 50
"""Of a list in a JSON field, or of related rows."""
MAX_DEPTH = 5
MAX_READ = 100_000
"""Characters of a text in which secrets are looked for. The rest is never returned."""


def plain(value: Any, max_chars: int = MAX_CHARS, depth: int = 0) -> Any:
    """Return a value as JSON. Long texts are cut, and secrets within are replaced."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, FieldFile):
        return value.name or None
    if isinstance(value, bytes | memoryview):
        return REDACTED
    if isinstance(value, models.Model):
        value = text_of(value)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        result = {}
        for key, item in list(value.items())[:MAX_ITEMS]:
            secret = is_secret_name(str(key))
            result[str(key)] = REDACTED if secret else plain(item, max_chars, depth + 1)
        return result
    if isinstance(value, list | tuple | set):
        return [plain(item, max_chars, depth + 1) for item in list(value)[:MAX_ITEMS]]
    if isinstance(value, float) and value - value == 0:  # neither infinite nor NaN
        return value
    text = without_secrets(str(value)[:MAX_READ])
    if len(text) > max_chars:
        return f"{text[:max_chars]}… ({len(str(value))} characters)"
    return text
