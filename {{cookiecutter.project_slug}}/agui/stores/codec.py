"""Messages to JSON that every database takes, and back without a loss."""

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

# The one key of what JSON columns would refuse as it is. No usage or request has it.
_AS_TEXT = "json"


def dump(adapter: TypeAdapter[T], value: T) -> Any:
    return _pack(adapter.dump_python(value, mode="json", fallback=str))


def load(adapter: TypeAdapter[T], data: Any) -> T:
    return adapter.validate_python(_unpack(data))


def dump_messages(messages: Sequence[ModelMessage]) -> list[str]:
    """Write messages as texts: a database's own JSON would mix the keys, and a provider's cache of them be lost."""
    dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", fallback=str)
    texts = ((data, json.dumps(data, ensure_ascii=False)) for data in dumped)
    return [text if is_utf8(text) else json.dumps(data) for data, text in texts]


def load_messages(texts: Sequence[str]) -> list[ModelMessage]:
    try:
        return ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")
    except ValidationError:
        # Half of a surrogate pair, or very deep: JSON for Python alone, which takes three times as
        # long.
        return ModelMessagesTypeAdapter.validate_python([json.loads(text) for text in texts])


def _pack(data: Any) -> Any:
    """Wrap what PostgreSQL's jsonb refuses, NUL and lone surrogates, as the text of its JSON."""
    text = json.dumps(data, ensure_ascii=False)
    # A literal backslash before "u0000" also matches: wrapped for nothing, and still faithful.
    return {_AS_TEXT: json.dumps(data)} if "\\u0000" in text or not is_utf8(text) else data


def _unpack(data: Any) -> Any:
    return json.loads(data[_AS_TEXT]) if data.keys() == {_AS_TEXT} else data


def is_utf8(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same. For Python, 1 and True are."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def to_json(value: Any) -> Any:
    """Take down a value as JSON. Raises whatever reading it raises, and ValueError for circles."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="null", bytes_mode="base64")
