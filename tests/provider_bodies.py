"""Generated answers of providers in the dialects of four APIs, with all that gateways do to them.

    sent: st.SearchStrategy[Sent] = answers("chat")

A plan says what the model means: texts, thoughts, calls, what nobody knows, and an end. Each dialect writes the plan in
its own words; ids are missing, late, repeated or changing, parts come in another order, and the body is cut anywhere.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]
Draw = st.DrawFn

TEXTS = ["Hello", " there", "\n\n", " ", "", "**bold**", "x" * 300, "ü\u2028", "\x00"]
WORDS = [*TEXTS, "<", "<think>", "</think>", "`</think>`"]
STOPS_OF_CLAUDE = ["end_turn", "tool_use", "max_tokens", "refusal", "model_context_window_exceeded", "stop_sequence"]
ENDS = {
    "chat": ["stop", "length", "tool_calls", "content_filter", "end_turn", "", None],
    "responses": ["completed", "max_output_tokens", "content_filter", "failed", "odd", None],
    "anthropic": [*STOPS_OF_CLAUDE, "odd", None],
    "google": ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL", "OTHER", "ODD", None],
}
IDS = ["steady", "steady", "late", "never", "changing", "same", "empty", "odd", "long"]
GOOD = '{"text": "Tea"}'
ARGUMENTS = [GOOD, GOOD, GOOD[:-3], "", "{}", '{"text": 5}', "[]", "null", '{"text":"a"}{"text":"b"}']
NAMES = ["put_note", "put_note", "put_note", "ping", "nothing", "", "put note"]


@dataclass(frozen=True)
class Sent:
    """A body, piece by piece, and what was meant by it."""

    api: str
    chunks: list[bytes]
    has_tags: bool


def split(draw: Draw, whole: Any, most: int) -> list[Any]:
    """Cut a text or bytes at some places."""
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=most)))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


class Plan:
    """What a model means. The content of a call is its number, its name, its arguments and its ids."""

    def __init__(self, draw: Draw, api: str) -> None:
        self.draw = draw
        self.parts: list[tuple[str, Any]] = []
        kinds = ["text", "text", "text", "call", "call", "thought", "unknown", "refusal", "image", "server"]
        calls = itertools.count()
        for kind in draw(st.lists(st.sampled_from(kinds), max_size=4)):
            if kind == "text":
                content: Any = "".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))
            elif kind == "call":
                number, name, arguments = next(calls), draw(st.sampled_from(NAMES)), draw(st.sampled_from(ARGUMENTS))
                content = number, name, arguments, ids_of(draw(st.sampled_from(IDS)), number)
            else:
                content = draw(st.sampled_from(["Let me see", "I won't.", "", "\n"]))
            self.parts.append((kind, content))
        self.end = draw(st.sampled_from([*ENDS[api][:1] * 4, *ENDS[api]]))

    @property
    def has_tags(self) -> bool:
        return any("think>" in content for kind, content in self.parts if kind == "text")

    def cut(self, text: str) -> list[str]:
        return split(self.draw, text, 3) if text else [text]

    def with_odd(self, chunks: list[Any], *events: Any, times: int = 8) -> list[Any]:
        """Insert one of these somewhere, or most often none."""
        odd = self.draw(st.sampled_from([None] * times + [*events]))
        if odd is not None:
            chunks.insert(self.draw(st.integers(0, len(chunks))), odd)
        return chunks

    def woven(self, write: Callable[[int, str, Any], list[Event]]) -> list[Event]:
        """Write the parts, and put their pieces one after another, or between each other."""
        strands = [write(index, kind, content) for index, (kind, content) in enumerate(self.parts)]
        if self.draw(st.integers(0, 3)):
            return [piece for strand in strands for piece in strand]
        woven = []
        while left := [strand for strand in strands if strand]:
            woven.append(self.draw(st.sampled_from(left)).pop(0))
        return woven


def ids_of(kind: str, number: int) -> Iterator[str | None]:
    """The ids of a call in each of its pieces."""
    for count in itertools.count(1):
        yield {
            "steady": f"call_{number}",
            "late": None if count == 1 else f"late_{number}",
            "never": None,
            "changing": f"call_{number}_{count}",
            "same": "call_same",
            "empty": "",
            "odd": f"functions.put_note:{number}",
            "long": f"call_{number}" + "x" * 100,
        }[kind]


def chat(plan: Plan) -> list[str]:
    draw = plan.draw
    index_of = draw(st.sampled_from([lambda n: n, lambda n: 0, lambda n: n + 3]))
    names_all = draw(st.booleans()) and draw(st.booleans())
    fields = {"text": "content", "thought": "reasoning_content", "refusal": "refusal"}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}
    odd = {"unknown": [{"hologram": {"strokes": 3}}], "image": [{"content": "", "images": [image]}]}

    def write(index: int, kind: str, content: Any) -> list[Event]:
        if kind in fields:
            return [{fields[kind]: piece} for piece in plan.cut(content)]
        if kind != "call":
            return list(odd.get(kind, []))
        number, name, arguments, ids = content
        strand = []
        for place, piece in enumerate(["", *plan.cut(arguments)]):
            function = {"arguments": piece, **({"name": name} if place == 0 or names_all else {})}
            call: Event = {"index": index_of(number), "function": function, "type": "function"}
            call_id = next(ids)
            if call_id is not None or draw(st.booleans()):
                call["id"] = call_id
            strand.append({"tool_calls": [call]})
        return strand

    begin = {"role": "assistant", "content": draw(st.sampled_from(["", None]))}
    chunks: list[Any] = [chat_chunk(delta) for delta in [begin, *plan.woven(write)]]
    if plan.end is not None:
        chunks.append(chat_chunk({}, plan.end))
    plan.with_odd(
        chunks,
        chat_chunk({}, choices=[]),
        chat_chunk({}, choices=None),
        {"error": {"message": "overloaded", "type": "server_error", "code": 529}},
        chat_chunk(None) | {"id": "", "object": "", "created": 0, "model": ""},
        ": keep-alive",
        "{not json",
        chat_chunk({}, usage={"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}),
        times=12,
    )
    lines = [chunk if chunk == ": keep-alive" else framed(chunk) for chunk in chunks]
    return [*lines, *draw(st.sampled_from([["data: [DONE]"], ["data: [DONE]"], []]))]


def chat_chunk(delta: Event | None, finish: str | None = None, **changes: Any) -> Event:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return chunk | changes


def framed(value: Any) -> str:
    return f"data: {value if isinstance(value, str) else json.dumps(value)}"


def responses(plan: Plan) -> list[str]:
    # Items should have ids of their own, also across answers.
    prefix = f"item_{plan.draw(st.integers(0, 9))}"
    usage: Event = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    events = [response_event("created", status="in_progress"), *plan.woven(partial(response_item, plan, prefix))]
    if plan.end == "completed":
        events.append(response_event("completed", usage=usage))
    elif plan.end == "failed":
        events.append(response_event("failed", error={"code": "server_error", "message": "The server had an error"}))
    elif plan.end:
        events.append(response_event("incomplete", incomplete_details={"reason": plan.end}, usage=usage))
    return [named({"sequence_number": number, **event}) for number, event in enumerate(events)]


def response_item(plan: Plan, prefix: str, index: int, kind: str, content: Any) -> list[Event]:
    """The events of one part."""
    draw = plan.draw
    item: Event = {"id": f"{prefix}_{index if draw(st.integers(0, 9)) else 0}"}
    started: Event = {"status": "in_progress"}
    deltas: list[Event] = []

    def tell(what: str, **values: Any) -> None:
        deltas.append({"type": f"response.{what}", "item_id": item["id"], "output_index": index, **values})

    if kind in ("text", "refusal"):
        name, key = ("output_text", "text") if kind == "text" else ("refusal", "refusal")
        part = {"type": name, key: "", **({"annotations": []} if kind == "text" else {})}
        tell("content_part.added", content_index=0, part=part)
        for piece in plan.cut(content):
            tell(f"{name}.delta", content_index=0, delta=piece, logprobs=[])
        tell(f"{name}.done", content_index=0, logprobs=[], **{key: content})
        item |= {"type": "message", "role": "assistant", "content": [part | {key: content}]}
        started["content"] = []
    elif kind == "thought":
        item |= {"type": "reasoning", "summary": []}
        for piece in plan.cut(content):
            tell("reasoning_summary_text.delta", summary_index=0, delta=piece)
    elif kind == "call":
        _, name, arguments, ids = content
        item |= {"type": "function_call", "call_id": next(ids), "name": name, "arguments": arguments}
        started["arguments"] = ""
        if draw(st.booleans()):
            for piece in plan.cut(arguments):
                tell("function_call_arguments.delta", delta=piece)
            tell("function_call_arguments.done", name=name, arguments=arguments)
    else:
        item["type"] = draw(st.sampled_from(["hologram", "web_search_call"]))
        tell("hologram.delta", delta="x")
    strand = [{"type": "response.output_item.added", "output_index": index, "item": item | started}, *deltas]
    if draw(st.integers(0, 5)):
        done = item | {"status": "completed"}
        strand.append({"type": "response.output_item.done", "output_index": index, "item": done})
    return strand


def response_event(name: str, **values: Any) -> Event:
    body = {"id": "resp_7", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    body |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": name}
    return {"type": f"response.{name}", "response": body | values}


def named(event: Event) -> str:
    return f"event: {event['type']}\n{framed(event)}"


def anthropic(plan: Plan) -> list[str]:
    draw = plan.draw
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}

    def write(index: int, kind: str, content: Any) -> list[Event]:
        block: Event = {"type": "text", "text": ""}
        deltas: list[Event] = []
        if kind == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in plan.cut(content)]
        elif kind == "thought":
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in plan.cut(content)]
            deltas.append({"type": "signature_delta", "signature": "c2ln"})
        elif kind == "call":
            _, name, arguments, ids = content
            block = {"type": "tool_use", "id": next(ids), "name": name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in plan.cut(arguments)]
        elif kind == "server":
            block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
            if content:
                block = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
        else:
            block = {"type": "hologram", "data": content}
            deltas = [{"type": "hologram_delta", "piece": 1}]
        strand: list[Event] = [{"type": "content_block_start", "index": index, "content_block": block}]
        strand += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        if draw(st.integers(0, 5)):
            strand.append({"type": "content_block_stop", "index": index})
        return strand

    events: list[Event] = [{"type": "message_start", "message": message}, *plan.woven(write)]
    if plan.end:
        stop = {"stop_reason": plan.end, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}})
        events.append({"type": "message_stop"})
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    return [named(event) for event in plan.with_odd(events, {"type": "ping"}, error, {"type": "hologram"})]


def google(plan: Plan) -> list[str]:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    others: dict[str, list[Event]] = {
        "image": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}],
        "server": [code, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}],
    }

    def write(index: int, kind: str, content: Any) -> list[Event]:
        if kind == "text":
            return [{"text": piece} for piece in plan.cut(content)]
        if kind == "thought":
            return [{"text": piece, "thought": True} for piece in plan.cut(content)]
        if kind != "call":
            return list(others.get(kind, [{"hologram": {"strokes": 3}}]))
        _, name, arguments, ids = content
        given = json.loads(arguments) if arguments in (GOOD, "{}", '{"text": 5}') else None
        call_id = next(ids)
        return [{"functionCall": {"name": name, "args": given} | ({} if call_id is None else {"id": call_id})}]

    about = {"modelVersion": "g", "responseId": "r7"}
    chunks: list[Event] = []
    for part in plan.woven(write):
        chunks.append({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}], **about})
    if plan.end:
        chunks.append({"candidates": [{"index": 0, "finishReason": plan.end}], **about})
    blocked = {"promptFeedback": {"blockReason": "BLOCKLIST"}, "modelVersion": "g"}
    without_parts = {"candidates": [{"index": 0, "content": {"role": "model"}}]}
    return [framed(chunk) for chunk in plan.with_odd(chunks, blocked, {"candidates": []}, without_parts)]


DIALECTS = {"chat": chat, "responses": responses, "anthropic": anthropic, "google": google}


@st.composite
def answers(draw: Draw, api: str) -> Sent:
    """An answer in the dialect of an API, in any pieces, and sometimes without its end."""
    plan = Plan(draw, api)
    frames = DIALECTS[api](plan)
    body = "".join(f"{frame}\n\n" for frame in frames).encode()
    if draw(st.integers(0, 9)) == 0:
        body = body[: draw(st.integers(0, len(body)))]
    return Sent(api, [chunk for chunk in split(draw, body, 6) if chunk], plan.has_tags)
