"""Start a Firefox that Playwright can use: python firefox.py /usr/bin/firefox-esr ARGUMENTS

Playwright speaks WebDriver BiDi, and says which colours a page should have by a command that Firefox 153 doesn't know.
This process stands between both and lets that command do nothing. Delete it once Firefox ESR knows the command: then
`launch_firefox` (pages.py) can start Firefox itself.
"""

import json
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import BinaryIO

UNKNOWN = b"emulation.setMediaFeaturesOverride"
NOTHING = {"method": "session.status", "params": {}}
IS_MASKED = 128


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until the connection ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def mask(body: bytes, key: bytes) -> bytes:
    """Mask a payload, or unmask it."""
    keys = (key * (len(body) // 4 + 1))[: len(body)]
    return (int.from_bytes(body) ^ int.from_bytes(keys)).to_bytes(len(body))


def read_frame(stream: BinaryIO) -> tuple[int, bytes, bytes] | None:
    """Read a frame of a client, as RFC 6455 describes it: its first byte, its mask's key and its payload."""
    head = stream.read(2)
    if len(head) < 2:
        return None
    size = head[1] & ~IS_MASKED
    size = int.from_bytes(stream.read({126: 2, 127: 8}[size])) if size > 125 else size
    key = stream.read(4)
    return head[0], key, mask(stream.read(size), key)


def frame(first: int, key: bytes, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = bytes([first, IS_MASKED | size])
    elif size < 2**16:
        head = bytes([first, IS_MASKED | 126]) + size.to_bytes(2)
    else:
        head = bytes([first, IS_MASKED | 127]) + size.to_bytes(8)
    return head + key + mask(payload, key)


def pass_commands_on(client: socket.socket, firefox: socket.socket) -> None:
    stream = client.makefile("rb")
    while line := stream.readline():
        is_host = line.lower().startswith(b"host:")  # Firefox wants to be called by its own port.
        firefox.sendall(b"Host: 127.0.0.1:%d\r\n" % firefox.getpeername()[1] if is_host else line)
        if not line.strip():
            break
    with suppress(OSError):
        while read := read_frame(stream):
            first, key, payload = read
            if UNKNOWN in payload:
                payload = json.dumps(json.loads(payload) | NOTHING).encode()
            firefox.sendall(frame(first, key, payload))
        firefox.shutdown(socket.SHUT_WR)


def stand_between(listener: socket.socket, port: int) -> None:
    while True:
        client, _ = listener.accept()
        firefox = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pass_commands_on, args=(client, firefox), daemon=True).start()
        threading.Thread(target=pass_on, args=(firefox, client), daemon=True).start()


def main() -> int:
    firefox = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert firefox.stdout
    for line in firefox.stdout:
        if found := re.search(r"(?<=WebDriver BiDi listening on ws://127\.0\.0\.1:)\d+", line):
            listener = socket.create_server(("127.0.0.1", 0))
            own = listener.getsockname()[1]
            threading.Thread(target=stand_between, args=(listener, int(found[0])), daemon=True).start()
            line = line.replace(found[0], str(own))
        print(line, end="", file=sys.stderr, flush=True)
    return firefox.wait()


if __name__ == "__main__":
    sys.exit(main())
