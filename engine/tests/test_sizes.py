"""What a stranger sends is counted before anything is built of it: memory stays at a few times the body."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui.errors import TooLarge, Unprocessable
from agui.protocol.run_input import parse_run_input
from agui.protocol.strict_json import has_more_values
from tests.conftest import Client

TEXT = {"type": "text", "text": ""}
USER = {"id": "m", "role": "user", "content": "Hi"}
CALL = {"id": "c", "type": "function", "function": {"name": "ping", "arguments": "{}"}}

HEAVY: dict[str, dict[str, Any]] = {
    "parts": {"messages": [{**USER, "content": [TEXT] * 10_000}]},
    "parts of few messages": {"messages": [{**USER, "content": [TEXT] * 1001}, USER]},
    "messages": {"messages": [USER] * 10_001},
    "calls": {"messages": [{"id": "m", "role": "assistant", "toolCalls": [CALL] * 2000}, USER]},
    "tools": {"tools": [{"name": "t", "description": ""}] * 501},
    "context": {"context": [{"description": "", "value": ""}] * 1001},
    "resume": {"resume": [{"interruptId": "i", "status": "cancelled"}] * 1001},
    "empty lists": {"state": [[]] * 110_000},
    "numbers": {"forwardedProps": [0] * 110_000},
    "keys": {"state": {str(number): 0 for number in range(110_000)}},
}


def body_of(heavy: dict[str, Any]) -> bytes:
    return json.dumps({"threadId": "t", "runId": "r", "messages": [USER], **heavy}, separators=(",", ":")).encode()


@pytest.mark.parametrize("kind", HEAVY)
def test_body_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch, kind: str):
    def build(*args: Any) -> Any:
        raise AssertionError("It is built.")

    monkeypatch.setattr(AGUIAdapter, "build_run_input", build)
    body = body_of(HEAVY[kind])
    tracemalloc.start()
    try:
        with pytest.raises((TooLarge, Unprocessable)):
            parse_run_input(body)
        assert tracemalloc.get_traced_memory()[1] <= 10 * len(body) + 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["parts", "empty lists"])
async def test_every_route_counts(client: Client, settings: Any, kind: str):
    settings.AGUI = {"MCP": {"ENDPOINT": True}}
    heavy = HEAVY[kind]
    queued = json.dumps({"message": heavy.get("messages", [USER])[0], **heavy})
    called = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": heavy})
    for path, body, status in (
        ("/agent/", body_of(heavy), {413, 422}),
        ("/agent/threads/t/messages/", queued, {413, 422}),
        ("/agent/mcp/", called, {413} if kind == "empty lists" else {200}),
    ):
        answer = await client.http.post(path, body, content_type="application/json", headers={"Accept": "*/*"})
        assert answer.status_code in status, path


VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('a",[{\\\n\u20ac'), max_size=6),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.sampled_from('",[\\'), max_size=3), inner),
    max_leaves=20,
)


def count(value: Any) -> int:
    """Each container counts as its items do, and an empty one as one."""
    if not isinstance(value, list | dict):
        return 0
    items = value.values() if isinstance(value, dict) else value
    return max(len(value), 1) + sum(map(count, items))


@given(VALUES, st.booleans())
def test_values_are_counted_outside_of_texts(value: Any, is_ascii: bool):
    body = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert not has_more_values(body, count(value))
    if count(value):
        assert has_more_values(body, count(value) - 1)
    # A text without an end hides what comes after it, which is no JSON.
    assert not has_more_values(b'"' + b'\\"' * 100 + b",[{" * 100, 100)
