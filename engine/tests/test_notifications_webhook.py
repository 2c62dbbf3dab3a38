"""Webhooks, as a receiver gets them over the network; receivers that fail, and addresses that are refused."""

import asyncio
import json
import logging
import re
import socket
import ssl
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("standardwebhooks")
pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from django.test import RequestFactory
from standardwebhooks import Webhook, WebhookVerificationError

from agui.addresses import is_public
from agui.blocking.executor import in_database
from agui.contrib.notifications import choices, outbox, webhook
from agui.contrib.notifications.deliver import deliver_all, deliveries
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.contrib.notifications.receivers import NotSent, Receiver
from agui.testing import call, say
from tests import pages
from tests.clock import Clock
from tests.conftest import Client
from tests.receiving import OK, allow, answer, by_hand, choose, hook, receiving, run_unread, secret, silently
from tests.receiving import Receiver as Hook

__all__ = ["by_hand", "hook", "secret"]


async def one() -> Notification:
    return await Notification.objects.aget()


async def settled() -> Notification:
    """The one row, after the attempt whose request has arrived is recorded."""
    async with asyncio.timeout(60):
        while deliveries._sending:
            await asyncio.wait(set(deliveries._sending))
    return await one()


async def attempted(client: Client, hook: Hook, *answers: Any) -> Notification:
    """The row of a run that has ended unread, after the receiver has given the first of these answers."""
    hook.answers = [*answers] or [OK]
    await run_unread(client)
    await hook.arrived()
    return await settled()


async def refusal(address: str) -> str:
    """Why nothing is sent there."""
    with pytest.raises(NotSent) as refused:
        await webhook.post(address, {}, b"{}")
    return refused.value.code


# --- What is sent


async def test_a_run_that_ends_unread_arrives_signed(client: Client, hook: Hook, secret: str, settings: Any):
    await run_unread(client, "Tell me the password", answer=say("The password is swordfish."))
    [request] = await hook.arrived()
    row = await settled()
    assert request.line == "POST /hooks/agent?key=s3cret HTTP/1.1"
    assert request.headers["host"] == hook.host
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == str(row.pk)
    data = {"thread_id": "t1", "run_id": str(row.run), "agent": "agui", "url": "https://site.example/?thread=t1"}
    time = row.created_at.isoformat().replace("+00:00", "Z")
    sent = {"type": "run.finished", "timestamp": time, "data": data}
    assert Webhook(secret).verify(request.body, request.headers) == sent
    assert (row.state, row.attempts, row.error) == ("sent", 1, "")
    assert row.sent_at is not None
    # Receivers go on while the secret key changes.
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another " * 8
    await run_unread(client, thread="t2")
    _, second = await hook.arrived(2)
    Webhook(secret).verify(second.body, second.headers)
    choice = await in_database(choices.choice_of, client.user.pk)
    Webhook(webhook.secret_of(client.user.pk, choice.webhook_seed)).verify(second.body, second.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(webhook.secret_of(client.user.pk + 1, choice.webhook_seed)).verify(second.body, second.headers)


async def test_nothing_that_was_said_or_is_secret_is_in_a_webhook(client: Client, hook: Hook, secret: str, caplog):
    caplog.set_level(logging.DEBUG)
    hook.answers = [answer(500, "X-Secret: of the receiver")]
    await run_unread(client, "Tell me the password", answer=call("wipe", what="swordfish"))
    [request] = await hook.arrived()
    await settled()
    assert request.json["type"] == "run.waiting"
    sent = f"{request.headers} {request.body.decode()}"
    for word in ("swordfish", "password", secret, "authorization", "cookie"):
        assert word not in sent
    for word in ("s3cret", secret, "swordfish"):
        assert word not in caplog.text


# --- Receivers that fail


async def test_it_is_tried_again_after_pauses_that_grow_and_given_up_after_a_day(
    client: Client, hook: Hook, secret: str, by_hand: None, clock: Clock
):
    hook.answers = [answer(500)]
    await run_unread(client)
    began, pauses = clock.now(), []
    while (row := await one()).state == "pending":
        pause = (row.next_at - clock.now()).total_seconds()
        if pause > 0:
            pauses.append(pause)
            clock.advance(pause - 0.5)
            assert await deliver_all() == 0
            clock.advance(0.5)
        assert await deliver_all() == 1
    assert tuple(pauses) == outbox.PAUSES
    assert sorted(pauses) == pauses
    assert 23 * 3600 < (clock.now() - began).total_seconds() < 25 * 3600
    assert (row.state, row.error, row.attempts) == ("given_up", "http_500", len(outbox.PAUSES) + 1)
    assert len(hook.requests) == len(outbox.PAUSES) + 1
    assert len({(request.headers["webhook-id"], request.body) for request in hook.requests}) == 1
    sent = [int(request.headers["webhook-timestamp"]) for request in hook.requests]
    assert [later - earlier for earlier, later in pairwise(sent)] == pauses
    clock.advance(100_000)
    assert await deliver_all() == 0


def endless(first: bytes, then: bytes) -> Any:
    """Send something now and then, for ever: no pause is long."""

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(0.01)

    return reply


@pytest.mark.parametrize(
    ("reply", "state", "error"),
    [
        *((answer(status), "sent", "") for status in (200, 202, 204)),
        *((answer(status), "pending", f"http_{status}") for status in (400, 404, 429, 500)),
        (silently, "pending", "timeout"),
        (endless(b"HTTP/1.1 200 OK\r\nX: ", b"x"), "pending", "timeout"),
        (endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), "pending", "timeout"),
        (b"", "pending", "broken_off"),
        (b"nonsense\r\n\r\n", "pending", "broken_off"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000, "pending", "broken_off"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:40]),
)
async def test_a_status_of_success_in_time_is_enough_and_all_else_is_a_failure(
    client: Client, hook: Hook, secret: str, settings: Any, reply: Any, state: str, error: str
):
    if error == "timeout":
        allow(settings, hook.host, TIMEOUT_SECONDS=0.3)
    row = await attempted(client, hook, reply)
    assert (row.state, row.error) == (state, error)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_redirect_is_followed(client: Client, hook: Hook, secret: str, status: int):
    async with receiving() as private:
        row = await attempted(client, hook, answer(status, f"Location: http://127.0.0.1:{private.port}/"), OK)
        assert (row.state, row.error) == ("pending", "redirect")
        assert (private.connections, len(hook.requests)) == (0, 1)


async def test_a_receiver_that_is_gone_gets_nothing_more(client: Client, hook: Hook, secret: str, by_hand: None, user):
    hook.answers = [answer(410)]
    await run_unread(client)
    await deliver_all()
    row = await one()
    assert (row.state, row.error) == ("given_up", "gone")
    await run_unread(client, thread="t2")
    assert await deliver_all() == 0
    assert (await NotificationChoice.objects.aget()).webhook_gone_at is not None
    # The user saves the address again.
    hook.answers = [OK]
    assert await choose(user, address=hook.url) == ""
    await run_unread(client, thread="t3")
    assert await deliver_all() == 1
    assert len(hook.requests) == 2


async def test_slow_receivers_hold_up_no_others(
    client: Client, other_client: Client, hook: Hook, secret: str, other: Any, settings: Any
):
    hook.answers = [silently]
    await run_unread(client)
    await hook.arrived()
    async with receiving() as quick:
        allow(settings, hook.host, quick.host)
        await choose(other, address=quick.url)
        await run_unread(other_client, thread="t2")
        await quick.arrived()


async def test_a_huge_answer_is_not_read(client: Client, hook: Hook, secret: str):
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        for _ in range(1000):
            writer.write(b"x" * 1_000_000)
            await writer.drain()
            sent += 1

    assert (await attempted(client, hook, pour)).state == "sent"
    assert sent < 50


async def test_nobody_listens_or_the_host_is_unknown(settings: Any, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"localhost:{server.getsockname()[1]}"
    allow(settings, host, "hooks.example")
    assert await refusal(f"http://{host}/") == "unreachable"
    resolving(monkeypatch, [])
    assert await refusal("https://hooks.example/") == "unknown_host"


# --- TLS


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """A certificate that its own machine has signed, and the file with which one trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    trusted, both = folder / f"{name}.pem", folder / f"{name}.both.pem"
    public = made.public_bytes(Encoding.PEM)
    trusted.write_bytes(public)
    both.write_bytes(public + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(both)
    return context, trusted


@pytest.mark.parametrize(
    ("name", "is_trusted", "error"),
    [("localhost", True, None), ("localhost", False, "tls"), ("another.example", True, "tls")],
)
async def test_the_certificate_is_that_of_the_host_and_trusted(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, is_trusted: bool, error: str | None
):
    context, trusted = certificate(tmp_path, name)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    webhook._trusted_certificates.cache_clear()
    async with receiving(context) as secure:
        allow(settings, secure.host)
        posted = webhook.post(secure.url.replace("http:", "https:"), {}, b"{}")
        [failure] = await asyncio.gather(posted, return_exceptions=True)
        assert getattr(failure, "code", None) == error
        assert len(secure.requests) == (error is None)
    webhook._trusted_certificates.cache_clear()


# --- Addresses

ALLOWED = ["hooks.example", "*.tenants.example", "hooks.example:8443"]


def test_addresses_that_are_allowed(settings: Any):
    allow(settings, *ALLOWED)
    settings.DEBUG = False
    for path in ("hooks.example/", "HOOKS.example", "hooks.example:443/a?b=c", "hooks.example:8443/"):
        Receiver(f"https://{path}")
    for subdomain in ("a", "a.b"):
        Receiver(f"https://{subdomain}.tenants.example/")


INVALID = [
    "ftp://hooks.example/", "https:///", "hooks.example", "https://hooks.example /", "https://hooks.example./",
    "https://ada:secret@hooks.example/", "https://evil.example@hooks.example/", "https://[::1]/",
    "https://hooks.example\\@evil.example/", "https://hooks.example#@evil.example/",
    "https://hooks.example/\r\nX: y", "https://hooks.example/\t", "https://hooks.example/" + "x" * 1000,
    "https://hooks.example:port/", "https://hooks.example:99999/", "https://.tenants.example/",
    "https://evil.example\\.tenants.example/", "https://evil.example%2f.tenants.example/",
    "https://h\u043eoks.example/",  # Cyrillic
]  # fmt: skip
NOT_ALLOWED = [
    "https://hooks.example:22/", "https://evil.example/", "https://hooks.example.evil.example/",
    "https://eviltenants.example/", "https://tenants.example/", "https://a.tenants.example:8443/",
    "https://127.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://hooks.example/", "not_https"),
        *((address, "invalid_address") for address in INVALID),
        *((address, "not_allowed") for address in NOT_ALLOWED),
    ],
)
def test_addresses_that_are_refused(settings: Any, address: str, reason: str):
    allow(settings, *ALLOWED)
    settings.DEBUG = False
    with pytest.raises(NotSent) as refused:
        Receiver(address)
    assert refused.value.code == reason


PRIVATE = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",  # noqa: S104
    "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "224.0.0.1",
    "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%1", "fc00::1",
    "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "nonsense",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2001::1", "2001:db8::1", "3fff::1", "100::1",
    "5f00::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "172.15.0.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", [*PRIVATE, *PUBLIC])
def test_private_addresses_are_refused(address: str):
    assert is_public(address) == (address in PUBLIC)


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let names have these addresses, or be unknown; another list for each question. Returns the questions."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        asked.append(host)
        known = answers[min(len(asked), len(answers)) - 1]
        if not known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize("known", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1", "8.8.8.8"]])
async def test_a_name_that_leads_to_a_private_address_is_refused(hook: Hook, settings, monkeypatch, known: list[str]):
    allow(settings, f"hooks.example:{hook.port}")
    resolving(monkeypatch, known)
    assert await refusal(f"http://hooks.example:{hook.port}/") == "private_address"
    assert hook.connections == 0


async def test_a_name_is_asked_once_so_that_no_other_answer_counts(hook: Hook, settings: Any, monkeypatch: Any):
    allow(settings, f"hooks.example:{hook.port}", TIMEOUT_SECONDS=0.5)
    asked = resolving(monkeypatch, ["192.88.99.1"], ["127.0.0.1"])
    assert await refusal(f"http://hooks.example:{hook.port}/") in ("timeout", "unreachable")
    # The second question is that of a socket for the address that was checked.
    assert [name for name in asked if name == "hooks.example"] == ["hooks.example"]
    assert hook.connections == 0


async def test_localhost_is_no_other_machine_and_refused_without_debug(hook: Hook, settings: Any, monkeypatch: Any):
    settings.DEBUG = False
    assert await refusal(hook.url.replace("http:", "https:")) == "private_address"
    assert hook.connections == 0
    settings.DEBUG = True
    resolving(monkeypatch, ["10.0.0.1"])
    assert await refusal(hook.url) == "private_address"
    allow(settings, "hooks.example")
    assert await refusal(hook.url) == "not_allowed", "since the settings have changed"


async def test_no_proxy_and_no_password_of_the_environment_is_used(
    client: Client, hook: Hook, secret: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    machines = [f"machine {name} login ada password swordfish" for name in ("localhost", "127.0.0.1", "::1")]
    (tmp_path / ".netrc").write_text("\n".join(machines))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await attempted(client, hook)).state == "sent"
    assert "authorization" not in hook.requests[0].headers


# --- A test of the user's


async def test_a_user_tests_the_webhook_a_few_times(client: Client, other_client: Client, hook: Hook, secret: str):
    async def tested(client: Client) -> tuple[int, Any]:
        response = await client.http.post("/agent/notifications/test/")
        return response.status_code, json.loads(response.content)

    assert await tested(client) == (200, {"error": None})
    [request] = hook.requests
    assert Webhook(secret).verify(request.body, request.headers)["type"] == "webhook.ping"
    hook.answers = [answer(500)]
    assert await tested(client) == (200, {"error": "http_500"})
    assert [(await tested(client))[0] for _ in range(4)] == [200] * 3 + [429]
    assert len(hook.requests) == 5
    assert (await tested(other_client))[0] == 404, "there is nothing to test"
    assert not await Notification.objects.aexists()


# --- The receiver in the manual


async def test_the_receiver_of_the_manual_knows_forged_and_repeated_webhooks(
    client: Client, hook: Hook, secret: str, settings: Any, capsys: pytest.CaptureFixture[str]
):
    [code] = re.findall(r"```python\n(# hooks/views.py\n.*?)```", pages.read("notifications.md"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    settings.AGENT_HOOK_SECRET = secret
    await run_unread(client)
    [request] = await hook.arrived()

    def receive(body: bytes) -> int:
        headers = {name: value for name, value in request.headers.items() if name.startswith("webhook-")}
        made = RequestFactory().post("/", body, content_type="application/json", headers=headers)
        return names["agent_hook"](made).status_code

    assert [receive(body) for body in (request.body, request.body, b"{}")] == [204, 204, 401]
    assert capsys.readouterr().out.count("run.finished") == 1
