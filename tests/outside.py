"""A machine that apps must not reach: it listens on the loopback interface, and keeps what has come."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from servers import Quiet, answering


@dataclass
class Outside:
    """The requests and datagrams that have come from a browser."""

    url: str
    paths: list[str] = field(default_factory=list)
    datagrams: int = 0

    def receive_datagrams(self, udp: socket.socket) -> None:
        with suppress(OSError):
            while udp.recv(65536):
                self.datagrams += 1


class Handler(Quiet):
    def do_GET(self) -> None:
        self.server.outside.paths.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if "script" in self.path else "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET


@contextmanager
def listening() -> Iterator[Outside]:
    with answering(Handler) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(server.server_address)  # The same number as for TCP.
        server.outside = Outside(server.url)
        threading.Thread(target=server.outside.receive_datagrams, args=(udp,), daemon=True).start()
        yield server.outside
