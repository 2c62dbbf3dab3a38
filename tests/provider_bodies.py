"""Generated answers of providers in the dialects of four APIs, with all that gateways do to them.

    sent: st.SearchStrategy[Sent] = answers("chat")

A plan says what the model means: texts, thoughts, calls, what nobody knows, and an end. Each dialect writes the plan in
its own words; ids are missing, late, repeated or changing, parts come in another order, and the body is cut anywhere.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]
Draw = st.DrawFn

WORDS = [
    "Hello",
    " there",
    "\n\n",
    " ",
    "",
    "**bold**",
    "<",
    "<think>",
    "</think>",
    "`</think>`",
    "x" * 300,
    "ü\u2028",
    "\x00",
]
ENDS = {
    "chat": ["stop", "length", "tool_calls", "content_filter", "end_turn", "", None],
    "responses": ["completed", "max_output_tokens", "content_filter", "failed", "odd", None],
    "anthropic": [
        "end_turn",
        "tool_use",
        "max_tokens",
        "refusal",
        "model_context_window_exceeded",
        "stop_sequence",
        "odd",
        None,
    ],
    "google": ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL", "OTHER", "ODD", None],
}
IDS = ["steady", "steady", "late", "never", "changing", "same", "empty", "odd", "long"]
ARGUMENTS = [
    '{"text": "Tea"}',
    '{"text": "Tea"}',
    '{"text": "Te',
    "",
    "{}",
    '{"text": 5}',
    "[]",
    "null",
    '{"text":"a"}{"text":"b"}',
]
NAMES = ["put_note", "put_note", "put_note", "ping", "nothing", "", "put note"]


@dataclass(frozen=True)
class Sent:
    """A body, piece by piece, and what was meant by it."""

    api: str
    chunks: list[bytes]
    has_tags: bool
    status: int = 200
    media_type: str = "text/event-stream"


def cut(draw: Draw, text: str) -> list[str]:
    """Cut a text at some places."""
    if not text:
        return [text]
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@dataclass
class Plan:
    """What a model means."""

    draw: Draw
    api: str
    parts: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = self.draw
        kinds = ["text", "text", "text", "call", "call", "thought", "unknown", "refusal", "image", "server"]
        for kind in draw(st.lists(st.sampled_from(kinds), max_size=4)):
            if kind == "text":
                content: Any = "".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))
            elif kind == "call":
                content = (draw(st.sampled_from(NAMES)), draw(st.sampled_from(ARGUMENTS)), draw(st.sampled_from(IDS)))
            else:
                content = draw(st.sampled_from(["Let me see", "I won't.", "", "\n"]))
            self.parts.append((kind, content))
        self.end = draw(st.sampled_from([*ENDS[self.api][:1] * 4, *ENDS[self.api]]))

    @property
    def has_tags(self) -> bool:
        return any("think>" in content for kind, content in self.parts if kind == "text")

    def ids(self, kind: str, number: int) -> Iterator[str | None]:
        """The ids of a call in each of its pieces."""
        count = 0
        while True:
            count += 1
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

    def woven(self, strands: list[list[Event]]) -> list[Event]:
        """Put the pieces of parts one after another, or between each other."""
        if self.draw(st.integers(0, 3)):
            return [piece for strand in strands for piece in strand]
        woven = []
        left = [list(strand) for strand in strands if strand]
        while left:
            strand = self.draw(st.sampled_from(left))
            woven.append(strand.pop(0))
            left = [strand for strand in left if strand]
        return woven


def chat(plan: Plan) -> list[Any]:
    draw = plan.draw
    index_of = draw(st.sampled_from([lambda n: n, lambda n: 0, lambda n: n + 3]))
    names_all = draw(st.booleans()) and draw(st.booleans())
    strands: list[list[Event]] = [[{"role": "assistant", "content": draw(st.sampled_from(["", None]))}]]
    calls = 0
    for kind, content in plan.parts:
        strand: list[Event] = []
        if kind == "text":
            strand = [{"content": piece} for piece in cut(draw, content)]
        elif kind == "thought":
            strand = [{"reasoning_content": piece} for piece in cut(draw, content)]
        elif kind == "refusal":
            strand = [{"refusal": piece} for piece in cut(draw, content)]
        elif kind == "unknown":
            strand = [{"hologram": {"strokes": 3}}]
        elif kind == "image":
            strand = [
                {"content": "", "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]}
            ]
        elif kind == "call":
            name, arguments, ids = content
            given = plan.ids(ids, calls)
            for number, piece in enumerate(["", *cut(draw, arguments)]):
                function: Event = {"arguments": piece}
                if number == 0 or names_all:
                    function["name"] = name
                call: Event = {"index": index_of(calls), "function": function, "type": "function"}
                call_id = next(given)
                if call_id is not None or draw(st.booleans()):
                    call["id"] = call_id
                strand.append({"tool_calls": [call]})
            calls += 1
        strands.append(strand)
    chunks: list[Any] = [chat_chunk(delta) for delta in plan.woven(strands)]
    if plan.end is not None:
        chunks.append(chat_chunk({}, plan.end))
    odd: Any = draw(
        st.sampled_from(
            [None] * 12
            + [
                chat_chunk({}, None, choices=[]),
                chat_chunk({}, None, choices=None),
                {"error": {"message": "overloaded", "type": "server_error", "code": 529}},
                {
                    "choices": [{"index": 0, "delta": None, "finish_reason": None}],
                    "id": "",
                    "object": "",
                    "created": 0,
                    "model": "",
                },
                ": keep-alive",
                "{not json",
                chat_chunk({}, None, usage={"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}),
            ]
        )
    )
    if odd is not None:
        chunks.insert(draw(st.integers(0, len(chunks))), odd)
    lines = [chunk if isinstance(chunk, str) and chunk[0] == ":" else f"data: {dumped(chunk)}" for chunk in chunks]
    return [*lines, *draw(st.sampled_from([["data: [DONE]"], ["data: [DONE]"], []]))]


def dumped(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def chat_chunk(delta: Event, finish: str | None = None, **changes: Any) -> Event:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **changes,
    }


def responses(plan: Plan) -> list[Any]:
    draw = plan.draw
    body = {"id": "resp_7", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    body |= {"parallel_tool_calls": True, "tool_choice": "auto"}
    strands: list[list[Event]] = []
    calls = 0
    # Items should have ids of their own, also across answers.
    prefix = f"item_{draw(st.integers(0, 9))}"
    for index, (kind, content) in enumerate(plan.parts):
        item_id = f"{prefix}_{index if draw(st.integers(0, 9)) else 0}"
        place = {"item_id": item_id, "output_index": index}
        item: Event = {"id": item_id, "type": "message", "role": "assistant", "content": []}
        part: Event = {"type": "output_text", "text": "", "annotations": []}
        deltas: list[Event] = []
        if kind in ("text", "refusal"):
            kinds = "output_text" if kind == "text" else "refusal"
            if kind == "refusal":
                part = {"type": "refusal", "refusal": ""}
            deltas.append({"type": "response.content_part.added", **place, "content_index": 0, "part": part})
            for piece in cut(draw, content):
                deltas.append(
                    {"type": f"response.{kinds}.delta", **place, "content_index": 0, "delta": piece, "logprobs": []}
                )
            deltas.append(
                {
                    "type": f"response.{kinds}.done",
                    **place,
                    "content_index": 0,
                    "logprobs": [],
                    kinds.replace("output_", ""): content,
                }
            )
            done = {**part, kinds.replace("output_", ""): content}
            item = {**item, "content": [done]}
        elif kind == "thought":
            item = {"id": item_id, "type": "reasoning", "summary": []}
            for piece in cut(draw, content):
                deltas.append(
                    {"type": "response.reasoning_summary_text.delta", **place, "summary_index": 0, "delta": piece}
                )
        elif kind == "call":
            name, arguments, ids = content
            call_id = next(plan.ids(ids, calls))
            item = {
                "id": item_id,
                "type": "function_call",
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
            }
            if draw(st.booleans()):
                for piece in cut(draw, arguments):
                    deltas.append({"type": "response.function_call_arguments.delta", **place, "delta": piece})
                deltas.append(
                    {"type": "response.function_call_arguments.done", **place, "name": name, "arguments": arguments}
                )
            calls += 1
        else:
            item = {
                "id": item_id,
                "type": draw(st.sampled_from(["hologram", "web_search_call"])),
                "status": "completed",
            }
            deltas.append({"type": "response.hologram.delta", **place, "delta": "x"})
        added = {**item, "status": "in_progress"}
        if "arguments" in added:
            added["arguments"] = ""
        if item["type"] == "message":
            added["content"] = []
        strand = [{"type": "response.output_item.added", "output_index": index, "item": added}, *deltas]
        if draw(st.integers(0, 5)):
            strand.append(
                {"type": "response.output_item.done", "output_index": index, "item": {**item, "status": "completed"}}
            )
        strands.append(strand)
    events: list[Event] = [
        {"type": "response.created", "response": {**body, "status": "in_progress"}},
        *plan.woven(strands),
    ]
    usage: Event = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    if plan.end == "completed":
        events.append({"type": "response.completed", "response": {**body, "status": "completed", "usage": usage}})
    elif plan.end == "failed":
        error = {"code": "server_error", "message": "The server had an error"}
        events.append({"type": "response.failed", "response": {**body, "status": "failed", "error": error}})
    elif plan.end:
        details = {"reason": plan.end}
        events.append(
            {
                "type": "response.incomplete",
                "response": {**body, "status": "incomplete", "incomplete_details": details, "usage": usage},
            }
        )
    lines = []
    for number, event in enumerate(events):
        lines.append(f"event: {event['type']}\ndata: {json.dumps({'sequence_number': number, **event})}")
    return lines


def anthropic(plan: Plan) -> list[Any]:
    draw = plan.draw
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    strands: list[list[Event]] = []
    calls = 0
    for index, (kind, content) in enumerate(plan.parts):
        block: Event = {"type": "text", "text": ""}
        deltas: list[Event] = []
        if kind == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in cut(draw, content)]
        elif kind == "thought":
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(draw, content)]
            deltas.append({"type": "signature_delta", "signature": "c2ln"})
        elif kind == "call":
            name, arguments, ids = content
            block = {"type": "tool_use", "id": next(plan.ids(ids, calls)), "name": name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(draw, arguments)]
            calls += 1
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
        strands.append(strand)
    events: list[Event] = [{"type": "message_start", "message": message}, *plan.woven(strands)]
    if plan.end:
        events.append(
            {
                "type": "message_delta",
                "delta": {"stop_reason": plan.end, "stop_sequence": None},
                "usage": {"output_tokens": 5},
            }
        )
        events.append({"type": "message_stop"})
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    odd = draw(st.sampled_from([None] * 8 + [{"type": "ping"}, error, {"type": "hologram"}]))
    if odd:
        events.insert(draw(st.integers(0, len(events))), odd)
    return [f"event: {event['type']}\ndata: {json.dumps(event)}" for event in events]


def google(plan: Plan) -> list[Any]:
    draw = plan.draw
    strands: list[list[Event]] = []
    calls = 0
    for kind, content in plan.parts:
        if kind == "text":
            strands.append([{"text": piece} for piece in cut(draw, content)])
        elif kind == "thought":
            strands.append([{"text": piece, "thought": True} for piece in cut(draw, content)])
        elif kind == "call":
            name, arguments, ids = content
            try:
                given = json.loads(arguments)
            except ValueError:
                given = None
            call: Event = {"name": name, "args": given if isinstance(given, dict) else None}
            call_id = next(plan.ids(ids, calls))
            if call_id is not None:
                call["id"] = call_id
            strands.append([{"functionCall": call}])
            calls += 1
        elif kind == "image":
            strands.append([{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}])
        elif kind == "server":
            strands.append(
                [
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                ]
            )
        else:
            strands.append([{"hologram": {"strokes": 3}}])
    chunks: list[Event] = []
    for part in plan.woven(strands):
        chunks.append(
            {
                "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}],
                "modelVersion": "g",
                "responseId": "r7",
            }
        )
    if plan.end:
        chunks.append({"candidates": [{"index": 0, "finishReason": plan.end}], "modelVersion": "g", "responseId": "r7"})
    blocked = {"promptFeedback": {"blockReason": "BLOCKLIST"}, "modelVersion": "g"}
    odd = draw(
        st.sampled_from(
            [None] * 8 + [blocked, {"candidates": []}, {"candidates": [{"index": 0, "content": {"role": "model"}}]}]
        )
    )
    if odd:
        chunks.insert(draw(st.integers(0, len(chunks))), odd)
    return [f"data: {json.dumps(chunk)}" for chunk in chunks]


DIALECTS: dict[str, Callable[[Plan], list[Any]]] = {
    "chat": chat,
    "responses": responses,
    "anthropic": anthropic,
    "google": google,
}


@st.composite
def answers(draw: Draw, api: str) -> Sent:
    """An answer in the dialect of an API, in any pieces, and sometimes without its end."""
    plan = Plan(draw, api)
    frames = DIALECTS[api](plan)
    body = "".join(f"{frame}\n\n" for frame in frames).encode()
    if draw(st.integers(0, 9)) == 0:
        body = body[: draw(st.integers(0, len(body)))]
    places = sorted(draw(st.lists(st.integers(0, len(body)), max_size=6)))
    chunks = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
    return Sent(api, [chunk for chunk in chunks if chunk], plan.has_tags)
