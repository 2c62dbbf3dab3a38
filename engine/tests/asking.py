"""One request to an ASGI application, without a socket."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

Answer = tuple[int, list[tuple[str, str]], bytes]


def scope_of(method: str, target: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 1),
    }


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
    named = {"host": "testserver", **{name.replace("_", "-"): value for name, value in headers.items()}}
    encoded = [(name.encode(), value.encode()) for name, value in named.items()]
    scope = scope_of(method, target, encoded) | {"scheme": scheme}
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
