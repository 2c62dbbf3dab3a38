"""Webhooks as https://www.standardwebhooks.com describes them: signed, with a time and an id."""

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
from datetime import UTC, datetime
from functools import cache
from typing import Any

import httpx2
from django.conf import settings
from django.utils.crypto import salted_hmac

from agui import clock, conf
from agui.contrib.notifications import links
from agui.contrib.notifications.conf import NotificationsSettings
from agui.contrib.notifications.models import Notification
from agui.contrib.notifications.receivers import NotSent, Receiver
from agui.namespaces import split_scope

PREFIX = "whsec_"
PING = "webhook.ping"
GONE = "gone"
SALT = "agui.notifications.webhook"
# A host may have addresses that this machine can't reach, such as those of IPv6.
CONNECT_SECONDS = 3.0


def secret_of(user_id: Any, seed: str) -> str:
    """Return the secret with which a user's receiver verifies webhooks."""
    return PREFIX + base64.b64encode(_keys(user_id, seed)[0]).decode()


def _keys(user_id: Any, seed: str) -> list[bytes]:
    """Derive the key from the SECRET_KEY, and from each of those that it has replaced."""
    keys = []
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        value = f"{user_id}:{seed}"
        keys.append(salted_hmac(SALT, value, secret=secret, algorithm="sha256").digest())
    return keys


def body_of(notification: Notification) -> bytes:
    """Write the body, the same for each attempt: ids and a link, and nothing that was said."""
    namespace, _ = split_scope(notification.scope)
    data = {
        "thread_id": notification.thread_id,
        "run_id": str(notification.run),
        "agent": namespace,
        "url": links.thread_url(notification.scope, notification.thread_id) or None,
    }
    return _body(notification.kind, notification.created_at, data)


def ping() -> bytes:
    """Write the body of a test."""
    return _body(PING, clock.utc_now(), {})


def _body(kind: str, moment: datetime, data: dict[str, Any]) -> bytes:
    timestamp = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return json.dumps({"type": kind, "timestamp": timestamp, "data": data}).encode()


def headers_of(message_id: str, body: bytes, user_id: Any, seed: str) -> dict[str, str]:
    """Sign a body for this moment: a receiver refuses it later, and knows repetitions by the id."""
    timestamp = str(int(clock.timestamp()))
    content = f"{message_id}.{timestamp}.".encode() + body
    signatures = []
    for key in _keys(user_id, seed):
        digest = hmac.new(key, content, hashlib.sha256).digest()
        signatures.append(f"v1,{base64.b64encode(digest).decode()}")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


async def post(address: str, headers: dict[str, str], body: bytes) -> None:
    """Send a body to a receiver. Raises NotSent unless it answers with a status of success."""
    receiver = Receiver(address)
    try:
        async with asyncio.timeout(conf.part(NotificationsSettings).timeout_seconds):
            status = await _post(receiver, headers, body)
    except TimeoutError:
        raise NotSent("timeout") from None
    if status == 410:
        raise NotSent(GONE)
    if 300 <= status < 400:
        raise NotSent("redirect")
    if not 200 <= status < 300:
        raise NotSent(f"http_{status}")


async def _post(receiver: Receiver, headers: dict[str, str], body: bytes) -> int:
    """Post to the first address of a host that takes connections; returns the status.

    A transport follows no redirect, asks no proxy, sends no cookie, and logs no address, as a
    client of httpx would.
    """
    addresses = await receiver.resolve()
    verify = await asyncio.to_thread(_trusted_certificates)
    failure = NotSent("unreachable")
    async with httpx2.AsyncHTTPTransport(verify=verify) as transport:
        for address in addresses:
            request = httpx2.Request(
                "POST",
                receiver.url_at(address),
                headers={
                    "Host": receiver.origin,
                    "Content-Type": "application/json",
                    "User-Agent": "agui-django",
                    **headers,
                },
                content=body,
                extensions={
                    "sni_hostname": receiver.host,
                    "timeout": {"connect": CONNECT_SECONDS},
                },
            )
            try:
                response = await transport.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = NotSent("tls" if _is_about_tls(error) else "unreachable")
                continue
            except httpx2.HTTPError:
                raise NotSent("broken_off") from None
            # Nobody needs the body, which may be long.
            await response.aclose()
            return response.status_code
    raise failure


def _is_about_tls(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None


@cache
def _trusted_certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
