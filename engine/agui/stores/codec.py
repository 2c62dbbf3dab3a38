"""Messages to JSON that every database accepts, and back without a loss."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import DeferredToolRequests, RunUsage
from pydantic_ai.conversation_store import ConversationRecord
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import to_jsonable_python

T = TypeVar("T")

USAGE = TypeAdapter(RunUsage)
DEFERRED = TypeAdapter(DeferredToolRequests)
RECORD = TypeAdapter(ConversationRecord)

# `json.dumps` would make a new encoder for each value.
_to_text = json.JSONEncoder(ensure_ascii=False).encode
_to_sorted_text = json.JSONEncoder(sort_keys=True).encode
# The only key of a wrapped value (see `_pack`). No usage or request has this key.
_AS_TEXT = "json"


def dump(adapter: TypeAdapter[T], value: T) -> Any:
    return _pack(adapter.dump_python(value, mode="json", fallback=str))


def load(adapter: TypeAdapter[T], data: Any) -> T:
    return adapter.validate_python(_unpack(data))


def dump_messages(messages: Sequence[ModelMessage]) -> list[str]:
    """Write messages as texts.

    A JSON column would reorder the keys, and the provider would not find its cached prompts again.
    """
    texts = []
    for data in ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", fallback=str):
        text = _to_text(data)
        texts.append(text if is_utf8(text) else json.dumps(data))
    return texts


def load_messages(texts: Sequence[str]) -> list[ModelMessage]:
    try:
        return ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")
    except ValidationError:
        # pydantic refuses lone surrogates and very deep values. Python's json accepts them, but
        # takes three times as long.
        return ModelMessagesTypeAdapter.validate_python([json.loads(text) for text in texts])


def _pack(data: Any) -> Any:
    """Wrap data that PostgreSQL's jsonb refuses (NUL, lone surrogates) as the text of its JSON."""
    text = _to_text(data)
    # A literal backslash before "u0000" also matches. Wrapping it is needless, but loses nothing.
    if "\\u0000" in text or not is_utf8(text):
        return {_AS_TEXT: json.dumps(data)}
    return data


def _unpack(data: Any) -> Any:
    if data.keys() == {_AS_TEXT}:
        return json.loads(data[_AS_TEXT])
    return data


def is_utf8(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def same_json(value: Any, other: Any) -> bool:
    """Whether two JSON values are the same. Python's `==` takes 1 and True for the same."""
    return _to_sorted_text(value) == _to_sorted_text(other)


def to_json(value: Any) -> Any:
    """Convert a value to JSON data. Raises ValueError for circles, and what reading it raises."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="null", bytes_mode="base64")
