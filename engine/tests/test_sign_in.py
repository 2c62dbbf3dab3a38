"""Who is counted for a failed attempt to sign in, in whatever form a proxy writes addresses."""

import random
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.test import RequestFactory

from agui.server.sign_in import ADDRESS_FACTOR, SHARED_NETWORKS, _network

PASSWORD = "lovelace-1815"
chance = random.Random(7)  # noqa: S311
IPV4 = [IPv4Address(chance.getrandbits(32)) for _ in range(200)]
IPV6 = [IPv6Address(chance.getrandbits(128) & chance.getrandbits(128)) for _ in range(200)]
IPV6 += [ip_address(text) for text in ("2001:db8::", "2001:db8::1", "::", "::1", "fe80::1", "64:ff9b::1")]


def forms(address: IPv4Address | IPv6Address) -> Iterator[str]:
    """The ways in which proxies write an address."""
    bracketed, port = f"[{address}]", chance.randrange(65536)
    with_port = f"{bracketed}:{port}"
    yield from (f"{address}", f" {address} ", bracketed, f'"{bracketed}"', with_port, f'"{with_port}"')
    if isinstance(address, IPv4Address):
        yield f"{address}:{port}"
    else:
        # Without brackets, a port can be told apart if it is no group, or if there are eight of them.
        yield from (f"{address}%eth0", f"[{address}%1]:{port}", f"{address}:50123", f"{address.exploded}:{port}")


@pytest.mark.parametrize("addresses", [IPV4, IPV6])
def test_an_address_is_the_same_in_each_form(addresses: list[IPv4Address | IPv6Address]):
    for address in addresses:
        assert {_network(form) for form in forms(address)} == {_network(str(address))}
        assert _network(str(address)) is not None


@pytest.mark.parametrize("form", ["{}", "{}:50123", "::ffff:{}", "[::ffff:{}]:443", "64:ff9b::{}", "::{}"])
def test_each_address_of_ipv4_is_a_client(form: str):
    assert len({_network(form.format(address)) for address in IPV4}) == len(set(IPV4))


def test_each_network_of_ipv6_is_a_client():
    for address in IPV6:
        if not any(address in network for network in SHARED_NETWORKS):
            neighbour = IPv6Address(int(address) >> 64 << 64 | chance.getrandbits(64))
            assert _network(str(address)) == _network(f"[{neighbour}]:1")
    assert _network("fe80::1%eth0") != _network("fe80::2%eth0")


def test_any_text_is_an_address_or_none():
    for _ in range(5000):
        text = "".join(chance.choices('0123456789abcdef:.[]%" ,x\0²', k=chance.randrange(12)))
        network = _network(text)
        assert network is None or _network(network) == network
    for text in (None, "", ":", "[]", "[]:80", "_hidden", "unknown:80", "1.2.3.4.5"):
        assert _network(text) is None


def request(address: str) -> Any:
    return RequestFactory().post("/", REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": address})


@pytest.mark.django_db
@pytest.mark.parametrize("forwarded", ["192.0.2.{}:5", "[2001:db8:{}::1]:443", "_hidden{}", "64:ff9b::192.0.2.{}"])
def test_nobody_locks_the_sign_in_for_everybody(settings: Any, forwarded: str):
    settings.BEHIND_PROXY = 1
    ada = get_user_model().objects.create_user("ada", password=PASSWORD)
    for number in range(settings.AXES_FAILURE_LIMIT * ADDRESS_FACTOR):
        authenticate(request(forwarded.format(1)), username=f"user{number}", password="wrong")
    assert authenticate(request(forwarded.format(2)), username="ada", password=PASSWORD) == ada
    for _ in range(settings.AXES_FAILURE_LIMIT):
        authenticate(request(forwarded.format(1)), username="ada", password="wrong")
    assert authenticate(request(forwarded.format(1)), username="ada", password=PASSWORD) is None
