"""A machine that apps must not reach: it listens on the loopback interface, and keeps what has come."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    server: "Outside"

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if "script" in self.path else "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


class Outside(ThreadingHTTPServer):
    """The requests and datagrams that have come from a browser."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []
        self.datagrams = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(self.server_address)  # The same number as for TCP.

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def receive_datagrams(self) -> None:
        with suppress(OSError):
            while self.udp.recv(65536):
                self.datagrams += 1


@contextmanager
def listening() -> Iterator[Outside]:
    with Outside() as outside:
        for work in (outside.serve_forever, outside.receive_datagrams):
            threading.Thread(target=work, daemon=True).start()
        yield outside
        outside.shutdown()
        outside.udp.close()
