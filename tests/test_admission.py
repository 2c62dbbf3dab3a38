"""A body that nobody may send, or that is too large, is refused before it is read: by both servers."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from select import select
from typing import Any

import pytest
from daily import at_night
from projects import append
from servers import Daphne, LiveProject, serve, wait_until

pytestmark = pytest.mark.servers

MEGABYTE = 1024 * 1024
HUGE = 300 * MEGABYTE
# What may be under way between a client and the server.
UNDER_WAY = 8 * MEGABYTE
FAST = "\nimport agui.contrib.pacing.daphne_patches\n\nagui.contrib.pacing.daphne_patches.COMING_SECONDS = 1\n"


class Impatient(Daphne):
    """It gives up a client that sends nothing for a second, which happens to others on a busy machine."""


class Uvicorn(LiveProject):
    """The other server that projects run under."""

    @property
    def command(self) -> list[str]:
        return ["-m", "uvicorn", "--port", str(self.port), "config.asgi:application"]


@pytest.fixture(scope="module", params=[Daphne, *at_night(Uvicorn)], ids=["daphne", "uvicorn"])
def live(request: Any, furnished) -> Iterator[LiveProject]:
    project = furnished()
    if request.param is Impatient:
        append(project / "config/asgi.py", FAST)
    with serve(project, request.param) as live:
        yield live


class Sender:
    """A client that sends its request piece by piece, and looks for an answer meanwhile."""

    def __init__(self, live: LiveProject, path: str = "/agent/", **headers: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", live.port), timeout=60)
        self.sent = 0
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())

    def send_chunks(self) -> None:
        """Send a body without a length, until there is an answer or the connection is closed."""
        chunk = b"10000\r\n%b\r\n" % (b" " * 0x10000)
        with suppress(ConnectionError):
            while self.sent < HUGE:
                has_answer, _, _ = select([self.socket], [self.socket], [], 60)
                if has_answer:
                    break
                self.sent += self.socket.send(chunk[self.sent % len(chunk) :], socket.MSG_DONTWAIT)

    def answer(self) -> tuple[int, Any]:
        with closing(self.socket), self.socket.makefile("rb") as stream:
            status = int(stream.readline().split()[1])
            headers = dict(line.decode().lower().strip().split(": ", 1) for line in iter(stream.readline, b"\r\n"))
            return status, json.loads(stream.read(int(headers["content-length"])))


def test_body_is_refused_by_its_length_alone(live: LiveProject):
    status, body = Sender(live, content_length=str(HUGE)).answer()
    assert (status, body["error"]) == (401, "unauthorized")
    # Who asks first is not asked for the body.
    assert Sender(live, content_length=str(HUGE), expect="100-continue").answer()[0] == 401
    assert Sender(live, "/accounts/login/", content_length=str(HUGE)).answer()[0] == 413
    status, body = Sender(live, content_length=str(HUGE), authorization=f"Bearer {live.token}").answer()
    assert (status, body["error"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("path", "cookie", "status", "most"),
    [
        ("/agent/", "", 401, 0),
        ("/agent/attachments/", "", 401, 0),
        ("/accounts/login/", "", 413, 0),
        # A claim to be somebody is worth no more than the largest body.
        ("/agent/", "sessionid=nonsense", 413, 10 * MEGABYTE),
    ],
)
def test_body_is_refused_while_it_comes(live: LiveProject, path: str, cookie: str, status: int, most: int):
    sender = Sender(live, path, transfer_encoding="chunked", **({"cookie": cookie} if cookie else {}))
    sender.send_chunks()
    assert sender.answer()[0] == status
    assert sender.sent < most + UNDER_WAY


def test_body_of_a_usual_size_is_answered_by_the_view(live: LiveProject):
    sender = Sender(live, content_length="2")
    sender.socket.sendall(b"{}")
    assert sender.answer()[0] == 401
    sender = Sender(live, content_length=str(5 * MEGABYTE), authorization=f"Bearer {live.token}")
    sender.socket.sendall(b"[" + b" " * (5 * MEGABYTE - 2) + b"]")
    status, body = sender.answer()
    assert (status, body["error"]) == (400, "bad_request")
    # And so is the next one.
    client = live.client(live.token)
    assert client.run("Hello", threadId="a")[-1]["type"] == "RUN_FINISHED"
    assert client.thread("a")


# Only daphne is ours to make it give up.
@pytest.mark.parametrize("live", [Impatient], indirect=True, ids=["daphne"])
@pytest.mark.parametrize("start", ["content-length: 1000\r\n\r\n{", *at_night("")], ids=["body", "headers"])
def test_request_that_drips_is_given_up(live: LiveProject, start: str):
    with socket.create_connection(("127.0.0.1", live.port), timeout=1) as dripping:
        dripping.sendall(b"POST /agent/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + start.encode())

        def is_closed() -> bool:
            try:
                dripping.sendall(b"a")
                return not dripping.recv(1)
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        wait_until(is_closed)
