"""The addresses that a webhook may have: of hosts that the project allows, and on the Internet."""

import asyncio
import re
import socket
from urllib.parse import urlsplit

from django.conf import settings

from agui import conf
from agui.addresses import is_loopback, is_public
from agui.contrib.notifications.conf import NotificationsSettings

MAX_CHARS = 1000
HOSTNAME = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
PORTS = {"https": 443, "http": 80}
# A receiver on the developer's own machine.
LOCALHOST = "localhost"


class NotSent(Exception):
    """A message was not sent, or was refused. `code` says why, in one word for the admin."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Receiver:
    """The address of a webhook that the project allows. Raises NotSent for any other."""

    def __init__(self, address: str) -> None:
        # Parsers differ about blanks and characters beyond ASCII, so there are none.
        if len(address) > MAX_CHARS or not address.isascii() or not address.isprintable():
            raise NotSent("invalid_address")
        try:
            url = urlsplit(address)
            self.host = url.hostname or ""
            self.port = url.port or PORTS.get(url.scheme, 0)
        except ValueError:
            raise NotSent("invalid_address") from None
        is_plain = "@" not in url.netloc and "#" not in address and " " not in address
        if not is_plain or not self.port or not HOSTNAME.fullmatch(self.host):
            raise NotSent("invalid_address")
        self.is_secure = url.scheme == "https"
        self.target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        if not self.is_secure and not settings.DEBUG:
            raise NotSent("not_https")
        if not any(map(self._is_named_by, conf.part(NotificationsSettings).webhook_hosts)):
            raise NotSent("not_allowed")

    def _is_named_by(self, entry: str) -> bool:
        name, _, port = entry.partition(":")
        if self.port != int(port or PORTS["https" if self.is_secure else "http"]):
            return False
        if name.startswith("*."):
            return self.host.endswith(name[1:]) and len(self.host) > len(name) - 1
        return self.host == name

    @property
    def origin(self) -> str:
        """The host as a Host header has it."""
        is_usual = self.port == PORTS["https" if self.is_secure else "http"]
        return self.host if is_usual else f"{self.host}:{self.port}"

    def url_at(self, address: str) -> str:
        """The URL that leads to one of the host's addresses."""
        scheme = "https" if self.is_secure else "http"
        host = f"[{address}]" if ":" in address else address
        return f"{scheme}://{host}:{self.port}{self.target}"

    async def resolve(self) -> list[str]:
        """Find the addresses of the host. Raises NotSent if one of them is not public.

        The caller connects to one of these: a second question could have another answer.
        """
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise NotSent("unknown_host") from None
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        if not addresses:
            raise NotSent("unknown_host")
        is_allowed = is_loopback if settings.DEBUG and self.host == LOCALHOST else is_public
        if not all(map(is_allowed, addresses)):
            raise NotSent("private_address")
        return addresses
