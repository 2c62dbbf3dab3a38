"""The limit: ASGI messages made beforehand, one an event, each in a turn of the loop of its own."""

import asyncio
import json
import time

HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
WORD = "A word or "


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    if scope["path"] == "/healthz":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    kind, *numbers = json.loads(body)["messages"][-1]["content"].split()
    counts = {"stream": lambda count, pause: (count, pause), "tool": lambda count: (count + 4, 0)}
    count, pause_ms = counts.get(kind, lambda *_: (5, 0))(*map(int, numbers if kind in counts else ()))
    await send_event(send, "RUN_STARTED", "")
    await send_event(send, "TEXT_MESSAGE_START", "")
    started = time.monotonic()
    for number in range(count):
        due = started + number * pause_ms / 1000
        await asyncio.sleep(max(0, due - time.monotonic()))
        await send_event(send, "TEXT_MESSAGE_CONTENT", f"{due:.4f};" if pause_ms else WORD)
    await send_event(send, "TEXT_MESSAGE_END", "")
    await send_event(send, "RUN_FINISHED", "", last=True)


async def send_event(send, kind: str, delta: str, *, last: bool = False) -> None:
    frame = f'data: {{"type":"{kind}","messageId":"22e1ccd5-74e4-4d33-8a40-1b52bd4e5e3d","delta":"{delta}"}}\n\n'
    await send({"type": "http.response.body", "body": frame.encode(), "more_body": not last})
