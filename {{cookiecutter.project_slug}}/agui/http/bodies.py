"""The body of a request: bytes up to a limit, and the JSON in them."""

import json
import math
import uuid
from itertools import chain
from typing import Any

from django.http import HttpRequest
from pydantic_ai import BinaryContent

from agui.errors import BadRequest, TooLarge

MAX_OBJECT_BYTES = 16 * 1024
# The fields in which the retired `binary` part says what newer ones have a `source` for.
BINARY_FIELDS = {"mimeType", "mime_type", "url", "data"}


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Read a body of at most `limit` bytes. Raises TooLarge."""
    # Not `request.body`: its limit is for forms, and too small for a conversation with attachments.
    body = request.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(f"The body has more than {limit} bytes.")
    return body


def parse_json(body: bytes) -> Any:
    """Read JSON, and nothing that only Python takes for it. Raises BadRequest."""
    try:
        return json.loads(body, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None


def read_object(request: HttpRequest) -> dict[str, Any]:
    """Read a small body that is a JSON object; an empty one is an empty object. Raises BadRequest."""
    body = request.read(MAX_OBJECT_BYTES + 1)
    payload = parse_json(body) if body.strip() else {}
    if not isinstance(payload, dict):
        raise BadRequest("The body is not a JSON object.")
    return payload


def _finite(digits: str) -> float:
    """Refuse what Python reads as a number and JSON does not know: NaN, Infinity and 1e999."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("not a number of JSON")
    return number


def tidy_messages(payload: Any) -> None:
    """Bring the messages of a run's body into the form of today.

    Each gets an id, if it comes without one, as .NET's do; what only we could have sealed is taken away.
    """
    messages = payload.get("messages") if isinstance(payload, dict) else None
    for message in _dicts(messages):
        if message.get("id") in (None, ""):
            message["id"] = str(uuid.uuid4())
        if message.get("role") == "user" and isinstance(message.get("content"), list):
            message["content"] = [_typed_part(part) for part in message["content"]]
        inner = chain(*(_dicts(message.get(name)) for name in ("toolCalls", "tool_calls", "content")))
        for sealed in (message, *inner):
            # We never send any: our model's signatures stay here.
            sealed.pop("encryptedValue", None)
            sealed.pop("encrypted_value", None)


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _typed_part(part: Any) -> Any:
    """What took the place of a `binary` part, with all that was said beside it; any other part as it is."""
    if not isinstance(part, dict) or part.get("type") != "binary":
        return part
    mime_type, url = part.get("mimeType", part.get("mime_type")), part.get("url")
    source = {"type": "url", "value": url} if url else {"type": "data", "value": part.get("data")}
    if isinstance(url, str) and url.startswith("data:"):
        try:
            inlined = BinaryContent.from_data_uri(url)
        except ValueError:
            return part
        source, mime_type = {"type": "data", "value": inlined.base64}, inlined.media_type or mime_type
    if not isinstance(mime_type, str) or not isinstance(source["value"], str):
        return part  # Broken, as its validation will say
    kind = mime_type.partition("/")[0]
    rest = {name: value for name, value in part.items() if name not in BINARY_FIELDS}
    known = kind if kind in ("image", "audio", "video") else "document"
    return {**rest, "type": known, "source": {**source, "mimeType": mime_type}}
