"""From the bytes of a body to a RunAgentInput that the engine can use."""

import hashlib
import json
import re
import uuid
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.errors import BadRequest, RunFailed, Unprocessable
from agui.protocol.strict_json import parse_json
from agui.tools.foreign_schemas import MAX_VALUES, are_small
from agui.tools.search import reserved_names
from agui.tools.toolset import known_names

MAX_ID_CHARS = 255
MAX_PARTS = 1000
# The fields of the retired `binary` part that a `source` has replaced.
BINARY_FIELDS = {"mimeType", "mime_type", "url", "data"}


def parse_run_input(body: bytes) -> tuple[RunAgentInput, str]:
    """Read a RunAgentInput and its fingerprint, which is equal for equal bodies.

    Raises BadRequest and Unprocessable, neither of which repeats the body.
    """
    payload = parse_json(body)
    _check_counts(payload)
    tidy_messages(payload)
    # The adapter takes bytes only, so the tidy payload is written again.
    try:
        run_input = AGUIAdapter.build_run_input(json.dumps(payload).encode())
    except ValidationError as error:
        raise BadRequest("This is not a RunAgentInput.", details=_locations(error)) from None
    except (ValueError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None
    _check_ids(run_input)
    _check_sizes(run_input)
    return run_input, hashlib.sha256(body).hexdigest()


def _check_counts(payload: Any) -> None:
    """Count what takes long to build. Raises Unprocessable."""
    if not isinstance(payload, dict):
        return
    limits = conf.get()
    messages = payload.get("messages")
    if isinstance(messages, list) and len(messages) > limits.max_messages:
        raise Unprocessable(
            f"There are more than {limits.max_messages} messages: send the new ones only."
        )
    for message in _dicts(messages):
        count = 0
        for name in ("content", "toolCalls", "tool_calls"):
            parts = message.get(name)
            if isinstance(parts, list):
                count += len(parts)
        if count > MAX_PARTS:
            raise Unprocessable(
                f"A message has more than {MAX_PARTS} parts: its content and its tool calls."
            )
    for name, most in (("tools", limits.max_tools), ("context", MAX_PARTS), ("resume", MAX_PARTS)):
        items = payload.get(name)
        if isinstance(items, list) and len(items) > most:
            raise Unprocessable(f"There are more than {most} items in {name!r}.")


def _check_ids(run_input: RunAgentInput) -> None:
    check_thread_id(run_input.thread_id)
    _check_id("runId", run_input.run_id)
    for message in run_input.messages:
        check_message_id(message.id)
    if len(run_input.protocol_version or "") > MAX_ID_CHARS:
        # An unknown version is read as a newer one.
        run_input.protocol_version = "unreadable"


def _check_sizes(run_input: RunAgentInput) -> None:
    limits = conf.get()
    if len(json.dumps(run_input.state)) > limits.max_state_bytes:
        raise Unprocessable(f"The state has more than {limits.max_state_bytes} bytes.")
    if not are_small(tool.parameters for tool in run_input.tools or ()):
        raise Unprocessable(
            f"The schemas of the tools have more than {MAX_VALUES} values, with each $ref followed."
        )


def check_thread_id(thread_id: str) -> None:
    """Refuse an id that a database or a path can't hold. Raises BadRequest."""
    _check_id("threadId", thread_id)
    if thread_id in (".", ".."):
        raise BadRequest("threadId must not be a dot or two: no browser can ask for such a path.")


def check_message_id(message_id: str) -> None:
    """Refuse an id that no message can have. Raises BadRequest."""
    _check_id("The id of a message", message_id)


def _check_id(name: str, value: str) -> None:
    if not 0 < len(value) <= MAX_ID_CHARS or re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", value):
        raise BadRequest(f"{name} has to have 1 to {MAX_ID_CHARS} printable characters.")


def _locations(error: ValidationError) -> list[str]:
    """List where a body is wrong and how, without the values there."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    locations = []
    for item in errors[:10]:
        location = ".".join(map(str, item["loc"]))
        locations.append(f"{location}: {item['type']}")
    return locations


def check_tool_names(run_input: RunAgentInput, agent: Agent[Any, Any]) -> None:
    """Refuse a client's tool with the name of one of ours, before anything runs."""
    ours = known_names(agent.toolsets) | reserved_names(agent)
    if any(tool.name in ours for tool in run_input.tools or ()):
        raise RunFailed("tool_name_conflict")


def tidy_messages(payload: Any) -> None:
    """Bring the messages of a run's body into the current form of AG-UI.

    A message without an id gets one: .NET's clients send none. The result of a tool that returns
    nothing is empty: TanStack AI sends no content. Encrypted values are dropped, because the server
    never sends any.
    """
    if not isinstance(payload, dict):
        return
    for message in _dicts(payload.get("messages")):
        if message.get("id") in (None, ""):
            message["id"] = str(uuid.uuid4())
        if message.get("role") == "tool" and message.get("content") is None:
            message["content"] = ""
        if message.get("role") == "user" and isinstance(message.get("content"), list):
            message["content"] = list(map(_current_part, message["content"]))
        _drop_encrypted(message)
        for name in ("toolCalls", "tool_calls", "content"):
            for inner in _dicts(message.get(name)):
                _drop_encrypted(inner)


def _dicts(items: Any) -> list[dict[str, Any]]:
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, dict)]


def _drop_encrypted(value: dict[str, Any]) -> None:
    value.pop("encryptedValue", None)
    value.pop("encrypted_value", None)


def _current_part(part: Any) -> Any:
    """Turn a `binary` part into the part that has replaced it; keep any other part.

    A broken part is kept, too, and fails the validation.
    """
    if not isinstance(part, dict) or part.get("type") != "binary":
        return part
    mime_type = part.get("mimeType", part.get("mime_type"))
    url = part.get("url")
    source = {"type": "url", "value": url}
    if not url:
        source = {"type": "data", "value": part.get("data")}
    elif isinstance(url, str) and url.startswith("data:"):
        try:
            inlined = BinaryContent.from_data_uri(url)
        except ValueError:
            return part
        source = {"type": "data", "value": inlined.base64}
        mime_type = inlined.media_type or mime_type
    if not isinstance(mime_type, str) or not isinstance(source["value"], str):
        return part
    current = {name: value for name, value in part.items() if name not in BINARY_FIELDS}
    kind = mime_type.partition("/")[0]
    if kind not in ("image", "audio", "video"):
        kind = "document"
    current["type"] = kind
    current["source"] = {**source, "mimeType": mime_type}
    return current
