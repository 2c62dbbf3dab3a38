"""The APIs of OpenAI, Anthropic and Google on loopback: enough of their streams for a tool call round trip.

    with ProviderStub() as stub:
        stub.replies = [ToolUse("add", {"a": 1}), Answer("One."), Refusal(429, {"error": {...}})]
        ...                                # requests go to stub.url
        stub.requests[0].body["tools"]

The path of a request chooses the format: /v1/chat/completions, /v1/responses, /v1/messages, or Google's, which names
the model.
"""

import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Event = dict[str, Any]
WAIT_SECONDS = 60  # the longest that a gate stays closed before the stream breaks off


@dataclass(frozen=True)
class Answer:
    """Text, one delta a word; the gate holds the stream after the first."""

    text: str
    gate: threading.Event | None = None

    @property
    def deltas(self) -> Iterator[str]:
        for index, word in enumerate(self.text.split(" ")):
            if index == 1 and self.gate and not self.gate.wait(WAIT_SECONDS):
                raise TimeoutError("The first word had no effect while the stream was open.")
            yield f" {word}" if index else word


@dataclass(frozen=True)
class ToolUse:
    """One tool call, its arguments in two deltas."""

    name: str
    arguments: dict[str, Any]
    id: str = "call_1"

    @property
    def deltas(self) -> tuple[str, str]:
        text = json.dumps(self.arguments)
        return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass(frozen=True)
class Extra:
    """Items that only this provider knows, in its own words, and then text: what its own tools have done, and so on.

    Of Anthropic, "deltas" of an item come after it.
    """

    items: list[Event]
    text: str


@dataclass(frozen=True)
class Refusal:
    """An HTTP error, with the body that the provider would send."""

    status: int
    body: Event


@dataclass(frozen=True)
class Body:
    """A body as it is sent, piece by piece."""

    chunks: Iterable[str | bytes]
    status: int = 200
    media_type: str = "text/event-stream"


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    body: dict[str, Any]


Reply = Answer | ToolUse | Extra | Refusal | Body


class ProviderStub:
    """A server that answers with its replies in turn, and keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[Received] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.requests.append(Received(self.path, body))
                reply = stub.replies.pop(0) if stub.replies else Refusal(500, {"error": {"message": "no reply left"}})
                if isinstance(reply, Refusal):
                    reply = Body([json.dumps(reply.body)], reply.status, "application/json")
                if not isinstance(reply, Body):
                    reply = Body(FORMATS.get(self.path, google)(reply))
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.media_type)
                self.end_headers()
                # A client that has read enough hangs up.
                with suppress(ConnectionError):
                    for chunk in reply.chunks:
                        self.wfile.write(chunk.encode() if isinstance(chunk, str) else chunk)

            def log_message(self, *args: object) -> None:
                """Keep the tests' output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def chat_completions(reply: Answer | ToolUse) -> Iterator[str]:
    """OpenAI's chat completions: chunks with a delta, then [DONE]."""

    def chunk(delta: Event, finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        event = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
        return f"data: {json.dumps({**event, 'choices': [choice]})}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    if isinstance(reply, Answer):
        for delta in reply.deltas:
            yield chunk({"content": delta})
        yield chunk({}, "stop")
    else:
        function = {"name": reply.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": 0, "id": reply.id, "type": "function", "function": function}]})
        for delta in reply.deltas:
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": delta}}]})
        yield chunk({}, "tool_calls")
    yield "data: [DONE]\n\n"


def responses(reply: Answer | ToolUse | Extra) -> Iterator[str]:
    """OpenAI's responses: an output item with its parts, between response.created and response.completed."""
    number = iter(range(1000))

    def event(kind: str, **fields: Any) -> str:
        data = {"type": f"response.{kind}", "sequence_number": next(number), **fields}
        return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"

    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "stub", "output": [], "tools": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto"}
    place: Event = {"item_id": "item_1", "output_index": 0}
    yield event("created", response={**response, "status": "in_progress"})
    output: list[Event] = []
    if isinstance(reply, Extra):
        for one in reply.items:
            yield event("output_item.added", output_index=len(output), item={**one, "status": "in_progress"})
            yield event("output_item.done", output_index=len(output), item=one)
            output.append(one)
        reply = Answer(reply.text)
        place["output_index"] = len(output)
    if isinstance(reply, Answer):
        item: Event = {"id": "item_1", "type": "message", "role": "assistant"}
        part = {"type": "output_text", "text": "", "annotations": []}
        yield event(
            "output_item.added", output_index=len(output), item={**item, "status": "in_progress", "content": []}
        )
        yield event("content_part.added", **place, content_index=0, part=part)
        for delta in reply.deltas:
            yield event("output_text.delta", **place, content_index=0, delta=delta, logprobs=[])
        part["text"] = reply.text
        yield event("output_text.done", **place, content_index=0, text=reply.text, logprobs=[])
        yield event("content_part.done", **place, content_index=0, part=part)
        item["content"] = [part]
    else:
        item = {"id": "item_1", "type": "function_call", "call_id": reply.id, "name": reply.name, "arguments": ""}
        yield event("output_item.added", output_index=len(output), item={**item, "status": "in_progress"})
        for delta in reply.deltas:
            yield event("function_call_arguments.delta", **place, delta=delta)
        item["arguments"] = "".join(reply.deltas)
        yield event("function_call_arguments.done", **place, name=reply.name, arguments=item["arguments"])
    item["status"] = "completed"
    yield event("output_item.done", output_index=len(output), item=item)
    usage: Event = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    yield event("completed", response={**response, "status": "completed", "output": [*output, item], "usage": usage})


def messages(reply: Answer | ToolUse | Extra) -> Iterator[str]:
    """Anthropic's messages: a content block with its deltas, between message_start and message_stop."""

    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": []}
    usage = {"input_tokens": 10, "output_tokens": 1}
    yield event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
    index = 0
    if isinstance(reply, Extra):
        for index, item in enumerate(reply.items, 1):
            block: Event = {name: value for name, value in item.items() if name != "deltas"}
            yield event("content_block_start", index=index - 1, content_block=block)
            for delta in item.get("deltas", ()):
                yield event("content_block_delta", index=index - 1, delta=delta)
            yield event("content_block_stop", index=index - 1)
        reply = Answer(reply.text)
    if isinstance(reply, Answer):
        block = {"type": "text", "text": ""}
        deltas = ({"type": "text_delta", "text": delta} for delta in reply.deltas)
    else:
        block = {"type": "tool_use", "id": reply.id, "name": reply.name, "input": {}}
        deltas = ({"type": "input_json_delta", "partial_json": delta} for delta in reply.deltas)
    yield event("content_block_start", index=index, content_block=block)
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)
    stop_reason = "end_turn" if isinstance(reply, Answer) else "tool_use"
    yield event("message_delta", delta={"stop_reason": stop_reason, "stop_sequence": None}, usage={"output_tokens": 5})
    yield event("message_stop")


def google(reply: Answer | ToolUse) -> Iterator[str]:
    """Google's streamGenerateContent: candidates with parts."""

    def chunk(part: Event, **candidate: Any) -> str:
        content = {"role": "model", "parts": [part]}
        event = {"candidates": [{"content": content, "index": 0, **candidate}], "modelVersion": "stub"}
        return f"data: {json.dumps(event)}\n\n"

    if isinstance(reply, Answer):
        for delta in reply.deltas:
            yield chunk({"text": delta})
        yield chunk({"text": ""}, finishReason="STOP")
    else:
        yield chunk({"functionCall": {"name": reply.name, "args": reply.arguments}}, finishReason="STOP")


def web_search(key: str, query: str) -> Event:
    """A search of OpenAI's own."""
    return {"type": "web_search_call", "id": key, "status": "completed", "action": {"type": "search", "query": query}}


def server_tool_use(key: str, name: str, arguments: Event, result: Any) -> list[Event]:
    """A call of one of Anthropic's own tools, whose arguments come in two pieces, and its result."""
    pieces = ToolUse(name, arguments).deltas
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    call = {"type": "server_tool_use", "id": key, "name": name, "input": {}, "deltas": deltas}
    return [call, {"type": f"{name}_tool_result", "tool_use_id": key, "content": result}]


def server_search(key: str, query: str, *found: Event) -> list[Event]:
    return server_tool_use(key, "web_search", {"query": query}, [*found])


FORMATS: dict[str, Callable[[Any], Iterator[str]]] = {
    "/v1/chat/completions": chat_completions,
    "/v1/responses": responses,
    "/v1/messages": messages,
}


# --- What a request to any of the APIs has

# The keys of the ids of calls and of their results, by the types of items.
CALLS = {"function": "id", "tool_use": "id", "function_call": "call_id"}
RESULTS = {"tool_result": "tool_use_id", "function_call_output": "call_id"}


def messages_of(body: Any) -> Any:
    return body.get("messages") or body.get("input") or body.get("contents")


def items_in(value: Any) -> Iterator[Event]:
    """All objects, at any depth."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from items_in(item)


def calls_in(body: Any) -> tuple[list[str], list[str]]:
    """The ids of the calls and of the results in a request to any of the APIs."""
    items = list(items_in(messages_of(body)))
    calls = [item[CALLS[item["type"]]] for item in items if item.get("type") in CALLS]
    results = [item[RESULTS[item["type"]]] for item in items if item.get("type") in RESULTS]
    return calls, results + [item["tool_call_id"] for item in items if item.get("role") == "tool"]


def check_history(body: Any, own: Collection[str] = ()) -> None:
    """What all providers demand of a history: ids of calls, results, and no blank texts. `own` are ids of its own."""
    calls, results = calls_in(body)
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(results), (calls, results)
    for call_id in calls:
        assert call_id in own or re.fullmatch("[a-zA-Z0-9_-]{1,64}", call_id)
    messages = messages_of(body)
    [first, *_] = [one for one in messages if one.get("role") not in ("system", "developer")]
    assert first["role"] == "user"
    for item in items_in(messages):
        for text in (item.get("text"), item.get("content")):
            assert not isinstance(text, str) or text.strip(), messages
