"""Events of runs, and pages that get them from a test instead of a server."""

import json
import re

from pages import Page, Route, finished, open_stream

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def begun_text(words: str, message_id: str = "m") -> list[dict]:
    """An answer that goes on."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": words},
    ]


def text(words: str, message_id: str = "m") -> list[dict]:
    return [*begun_text(words, message_id), {"type": "TEXT_MESSAGE_END", "messageId": message_id}]


def chunk(words: str, message_id: str = "m") -> dict:
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": message_id, "delta": words}


def custom(name: str, value: object) -> dict:
    return {"type": "CUSTOM", "name": name, "value": value}


def failed(message: str, code: str = "model_error", **metadata: object) -> dict:
    return {"type": "RUN_ERROR", "message": message, "code": code, "metadata": metadata}


# --- Calls of tools


def begun(call_id: str, name: str = "summarize_tasks", arguments: object = None, parent: str = "p") -> list[dict]:
    call = {"toolCallId": call_id}
    return [
        {"type": "TOOL_CALL_START", "toolCallName": name, "parentMessageId": parent} | call,
        {"type": "TOOL_CALL_ARGS", "delta": json.dumps(arguments or {})} | call,
        {"type": "TOOL_CALL_END"} | call,
    ]


def ended(call_id: str, content: object = "ok", **metadata) -> dict:
    words = content if isinstance(content, str) else json.dumps(content)
    result = {"messageId": f"result-{call_id}", "toolCallId": call_id, "content": words}
    return {"type": "TOOL_CALL_RESULT", "metadata": metadata} | result


# --- Activities


def shown(kind: str, content: object, message_id: str = "a") -> dict:
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": message_id, "activityType": kind, "content": content}


def changed(kind: str, path: str, value: object = None, op: str = "replace", message_id: str = "a") -> dict:
    patch = [{"op": op, "path": path, "value": value}]
    return {"type": "ACTIVITY_DELTA", "messageId": message_id, "activityType": kind, "patch": patch}


# --- Questions


def waiting(*interrupts: dict) -> dict:
    """The end of a run that asks."""
    return FINISHED | {"outcome": {"type": "interrupt", "interrupts": interrupts}}


def question(name: str, schema: dict | None = None, **fields) -> dict:
    schemas = {} if schema is None else {"responseSchema": schema}
    return {"id": name, "reason": "input_required", "message": f"Question {name}?"} | schemas | fields


def approval(name: str, **fields) -> dict:
    asked = {"id": name, "reason": "tool_call", "toolCallId": f"call-{name}", "message": f"Publish {name}?"}
    return asked | {"responseSchema": APPROVAL} | fields


def asking(*interrupts: dict) -> list[dict]:
    """A run that asks about calls of its own, or anything."""
    called = [one["toolCallId"] for one in interrupts if "toolCallId" in one]
    calls = [event for call_id in called for event in begun(call_id, "publish", {"title": "Bread"})]
    return [STARTED, *calls, waiting(*interrupts)]


TITLE = {"type": "object", "properties": {"title": {"type": "string", "title": "Title"}}, "required": ["title"]}
APPROVAL = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}, "editedArgs": TITLE},
    "required": ["approved"],
}

# As pydantic describes a model with these fields.
BOOKING = {
    "title": "Booking",
    "type": "object",
    "required": ["guest", "arrival", "smoker"],
    "properties": {
        "guest": {"type": "string", "title": "Guest", "description": "As in the passport."},
        "people": {"type": "integer", "title": "People", "default": 2, "minimum": 1, "maximum": 8},
        "arrival": {"type": "string", "format": "date", "title": "Arrival"},
        "late": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
        "room": {"$ref": "#/$defs/Room", "default": "large"},
        "extras": {"type": "array", "items": {"enum": ["breakfast", "parking"]}, "default": ["breakfast"]},
        "smoker": {"type": "boolean", "title": "Smoker"},
        "newsletter": {"type": "boolean", "default": True},
        "billing": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
        "notes": {"type": "object", "default": {}},
    },
    "$defs": {
        "Room": {"title": "Room", "type": "string", "enum": ["small", "large"]},
        "Address": {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
    },
}


# --- Pages that get them


def answer_with(page: Page, *runs: list[dict]) -> list[dict]:
    """Answer each run with the next of these streams; what was sent."""
    sent: list[dict] = []

    def answer(route: Route) -> None:
        sent.append(route.request.post_data_json)
        frames = [f"id: r:{n}\ndata: {json.dumps(event)}\n\n" for n, event in enumerate(runs[len(sent) - 1])]
        route.fulfill(content_type="text/event-stream", body="".join(frames))

    page.route("**/agent/", answer)
    return sent


def keep_thread(page: Page, *messages: dict, thread_id: str = "[^/]+", pending: tuple | list = (), **more) -> None:
    """Let the server have this conversation."""
    thread = {"messages": messages, "pending": pending, "state": {}, "running": False, "title": ""} | more
    page.route(re.compile(rf"/agent/threads/{thread_id}/$"), lambda route: route.fulfill(json=thread))


def show_answer(page: Page, words: str, *more: dict) -> None:
    """Let the agent have said this."""
    open_stream(page)(*text(words), *more, FINISHED)
    finished(page)
