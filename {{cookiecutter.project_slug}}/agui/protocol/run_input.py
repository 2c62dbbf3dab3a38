"""From the bytes of a body to a RunAgentInput that the engine can use."""

import hashlib
import json
import math
import re
import uuid
from itertools import chain
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.errors import BadRequest, RunFailed, Unprocessable
from agui.protocol.message_ids import count_parts
from agui.tools.foreign_schemas import MAX_VALUES, are_small
from agui.tools.search import reserved_names
from agui.tools.toolset import known_names

MAX_ID_CHARS = 255
MAX_PARTS = 1000
# The fields in which the retired `binary` part says what newer ones have a `source` for.
BINARY_FIELDS = {"mimeType", "mime_type", "url", "data"}


def parse_run_input(body: bytes) -> tuple[RunAgentInput, str]:
    """Read a RunAgentInput, and tell its fingerprint, which is equal for equal bodies.

    Raises BadRequest and Unprocessable, neither of which repeats the body.
    """
    payload = parse_json(body)
    tidy_messages(payload)
    try:
        run_input = AGUIAdapter.build_run_input(json.dumps(payload).encode())
    except ValidationError as error:
        raise BadRequest("This is not a RunAgentInput.", details=_locations(error)) from None
    except (ValueError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None
    check_thread_id(run_input.thread_id)
    _check_id("runId", run_input.run_id)
    for message in run_input.messages:
        check_message_id(message.id)
        if count_parts(message) > MAX_PARTS:
            raise Unprocessable(
                f"An answer has more than {MAX_PARTS} parts: its text and its tool calls."
            )
    if len(run_input.protocol_version or "") > MAX_ID_CHARS:
        run_input.protocol_version = "unreadable"  # And so read as newer, like any other such word
    if len(run_input.messages) > conf.get().max_messages:
        raise Unprocessable(
            f"There are more than {conf.get().max_messages} messages: send the new ones only."
        )
    if len(json.dumps(run_input.state)) > conf.get().max_state_bytes:
        raise Unprocessable(f"The state has more than {conf.get().max_state_bytes} bytes.")
    if len(run_input.tools or ()) > conf.get().max_tools:
        raise Unprocessable(f"There are more than {conf.get().max_tools} tools.")
    if not are_small(tool.parameters for tool in run_input.tools or ()):
        raise Unprocessable(
            f"The schemas of the tools have more than {MAX_VALUES} values, with each $ref followed."
        )
    return run_input, hashlib.sha256(body).hexdigest()


def check_thread_id(thread_id: str) -> None:
    """Refuse an id that a database or a path can't hold. Raises BadRequest."""
    _check_id("threadId", thread_id)
    if thread_id in (".", ".."):
        raise BadRequest("threadId must not be a dot or two: no browser can ask for such a path.")


def check_message_id(message_id: str) -> None:
    """Refuse an id that no message has. Raises BadRequest."""
    _check_id("The id of a message", message_id)


def _check_id(name: str, value: str) -> None:
    if not 0 < len(value) <= MAX_ID_CHARS or re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", value):
        raise BadRequest(f"{name} has to have 1 to {MAX_ID_CHARS} printable characters.")


def _locations(error: ValidationError) -> list[str]:
    """Say where a body is wrong and how, not what it says there."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, item['loc']))}: {item['type']}" for item in errors[:10]]


def check_tool_names(run_input: RunAgentInput, agent: Agent[Any, Any]) -> None:
    """Refuse a client's tool with the name of one of ours, before anything runs."""
    ours = known_names(agent.toolsets) | reserved_names(agent)
    if any(tool.name in ours for tool in run_input.tools or ()):
        raise RunFailed("tool_name_conflict")


def parse_json(body: bytes) -> Any:
    """Read JSON, and nothing that only Python takes for it. Raises BadRequest."""
    try:
        return json.loads(body, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None


def _finite(digits: str) -> float:
    """Refuse what Python reads as a number and JSON does not know: NaN, Infinity and 1e999."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("not a number of JSON")
    return number


def tidy_messages(payload: Any) -> None:
    """Bring the messages of a run's body into the form of today.

    Each gets an id, if it comes without one, as .NET's do; what only we could have sealed is taken
    away.
    """
    messages = payload.get("messages") if isinstance(payload, dict) else None
    for message in _dicts(messages):
        if message.get("id") in (None, ""):
            message["id"] = str(uuid.uuid4())
        if message.get("role") == "user" and isinstance(message.get("content"), list):
            message["content"] = [_typed_part(part) for part in message["content"]]
        inner = chain(
            *(_dicts(message.get(name)) for name in ("toolCalls", "tool_calls", "content"))
        )
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
        source, mime_type = (
            {"type": "data", "value": inlined.base64},
            inlined.media_type or mime_type,
        )
    if not isinstance(mime_type, str) or not isinstance(source["value"], str):
        return part  # Broken, as its validation will say
    kind = mime_type.partition("/")[0]
    rest = {name: value for name, value in part.items() if name not in BINARY_FIELDS}
    known = kind if kind in ("image", "audio", "video") else "document"
    return {**rest, "type": known, "source": {**source, "mimeType": mime_type}}
