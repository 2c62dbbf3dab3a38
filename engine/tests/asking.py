"""One request to an ASGI application, without a socket."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

Answer = tuple[int, list[tuple[str, str]], bytes]


async def ask(
    application: Any,
    method: str,
    target: str,
    body: str = "",
    scheme: str = "http",
    hear: Callable[[Mapping[str, Any]], None] | None = None,
    **headers: str,
) -> Answer:
    """Send a request whose client stays; its status, headers and body. `hear` gets each message as it is sent."""
    sent: list[Mapping[str, Any]] = []
    where, _, query = target.partition("?")
    named = {"host": "testserver", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": where,
        "raw_path": where.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 1),
    }
    messages = [{"type": "http.request", "body": body.encode()}]

    async def receive() -> Mapping[str, Any]:
        if messages:
            return messages.pop()
        return await asyncio.get_running_loop().create_future()

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)
        if hear:
            hear(message)

    await application(scope, receive, send)
    decoded = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
    return sent[0]["status"], decoded, b"".join(message.get("body", b"") for message in sent[1:])
