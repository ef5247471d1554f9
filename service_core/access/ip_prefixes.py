"""Client addresses as far as limits tell them apart."""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

IPV6_PREFIX: Final = 64
_TRUNCATED_PREFIX_LENGTH: Final = {4: 24, 6: 48}


def rate_limit_prefix(address: str | None) -> str | None:
    """An IPv4 address as it is, an IPv6 address as its /64; None for what is no address."""
    try:
        parsed = ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, IPV6_PREFIX), strict=False))
    return str(parsed)


def truncate_ip(address: str | None) -> str | None:
    """The /24 or /48 an address lies in: what is kept of it for long (semantics 22); None for no address."""
    try:
        parsed = ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    return str(ip_network((parsed, _TRUNCATED_PREFIX_LENGTH[parsed.version]), strict=False))
