"""Whether an answer fits the JSON Schema of its question."""

import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators


def fits(payload: Any, schema: dict[str, Any]) -> bool:
    try:
        return bool(Validator(schema, format_checker=Validator.FORMAT_CHECKER).is_valid(payload))
    except RecursionError:
        return False


def _unique_items(
    validator: Any, is_wanted: Any, items: Any, schema: Any
) -> Iterator[ValidationError]:
    """Check `uniqueItems` in one pass: jsonschema compares each object with each other object."""
    if is_wanted and isinstance(items, list):
        distinct = {json.dumps(item, sort_keys=True) for item in items}
        if len(distinct) < len(items):
            yield ValidationError("The items are not unique.")


Validator = validators.extend(Draft202012Validator, {"uniqueItems": _unique_items})
