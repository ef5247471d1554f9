"""Prefixes of client IP addresses, for rate limits and for storage."""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

IPV6_PREFIX: Final = 64
_TRUNCATED_PREFIX_LENGTH: Final = {4: 24, 6: 48}


def full_ipv4_or_ipv6_slash_64(ip_text: str | None) -> str | None:
    """Returns an IPv4 address unchanged and an IPv6 address as its /64; None for any other text."""
    try:
        parsed = ip_address((ip_text or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, IPV6_PREFIX), strict=False))
    return str(parsed)


def truncate_to_ipv4_24_or_ipv6_48(ip_text: str | None) -> str | None:
    """Returns the /24 or /48 of an IP address, the part that may be stored for long; None for any other text."""
    try:
        parsed = ip_address((ip_text or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    return str(ip_network((parsed, _TRUNCATED_PREFIX_LENGTH[parsed.version]), strict=False))
