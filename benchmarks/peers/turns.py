"""Ask an application in this process, without a server and sockets: `python -m turns module:application path token`.

Each line of standard input is a number of turns and what to say; each is answered by "done".
"""

import asyncio
import importlib
import itertools
import json
import sys
from typing import Any

HEADERS = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"accept", b"text/event-stream")]
numbers = itertools.count()


async def ask(application: Any, path: str, token: str, text: str) -> None:
    number = next(numbers)
    message = {"id": f"question-{number}", "role": "user", "content": text}
    rest = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    body = json.dumps({"threadId": f"thread-{number}", "runId": f"run-{number}", "messages": [message]} | rest).encode()
    length = (b"content-length", str(len(body)).encode())
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [*HEADERS, (b"authorization", f"Bearer {token}".encode()), length],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    messages = [{"type": "http.request", "body": body}]
    answer = bytearray()

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.Event().wait()  # The client stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        answer.extend(message.get("body", b""))

    await application(scope, receive, send)
    if b"RUN_FINISHED" not in answer:
        sys.exit(f"A run failed:\n{answer[:2000].decode(errors='replace')}")


async def main() -> None:
    name, path, token = sys.argv[1:]
    module, _, attribute = name.partition(":")
    application = getattr(importlib.import_module(module), attribute)
    while line := await asyncio.to_thread(sys.stdin.readline):
        count, _, text = line.strip().partition(" ")
        for _ in range(int(count)):
            await ask(application, path, token, text)
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
