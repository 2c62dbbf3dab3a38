"""The addresses of the Internet, apart from those of this network and this machine."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# The only IPv6 addresses that are assigned to hosts of the Internet, without those in it that lead
# elsewhere: to protocols, tunnels (Teredo, 6to4) and documentation.
GLOBAL_UNICAST = ip_network("2000::/3")
NOT_PUBLIC = tuple(
    map(ip_network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "192.0.0.0/24"))
)
# An IPv4 address stands at the end of these.
NAT64 = ip_network("64:ff9b::/96")
# Azure's service for its own machines has a public address.
METADATA = ip_address("168.63.129.16")


def is_public(address: str) -> bool:
    """Whether an address belongs to a host of the Internet, and to nothing nearer."""
    try:
        return _is_public(ip_address(address))
    except ValueError:
        return False


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if address == METADATA or any(address in network for network in NOT_PUBLIC):
        return False
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    inner = address.ipv4_mapped
    if address in NAT64:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return _is_public(inner)
    return address.scope_id is None and address in GLOBAL_UNICAST


def is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback
