r"""Cuts IP addresses in the JSON text of event properties to their /24 or /48.

The rules are regular expressions that Python, PostgreSQL and RE2 (DuckDB, ClickHouse) understand alike, so that every
event store applies them where the events lie. A cut address ends with the length of its prefix, such as ``/24``, and
matches no pattern again. Of a list of addresses the first remains.
"""

import re
from typing import Final

ADDRESS_KEYS: Final = (
    "ip",
    "$ip",
    "ip_address",
    "ipaddress",
    "client_ip",
    "clientip",
    "client_ip_address",
    "client_user_ip",
    "browser_ip",
    "user_ip",
    "remote_ip",
    "remote_addr",
    "x-forwarded-for",
    "x_forwarded_for",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
)
"""Keys whose values are IP addresses, in lower case; keys are compared without case."""

_KEYS: Final = "|".join(key.replace("$", "[$]") for key in ADDRESS_KEYS)
_KEY: Final = rf'"(?:{_KEYS})"\s*:\s*'
_IPV4: Final = r"[0-9]+[.][0-9]+[.][0-9]+"
_IPV6: Final = r"(?:[0-9a-f]{1,4}:){1,3}"
_IPV6_REST: Final = r"[0-9a-f.]*:[0-9a-f:.]*"

ADDRESS_PATTERNS: Final = (
    (rf'(?i)({_KEY}\[\s*"{_IPV4})[.][0-9]+[^]/]*\]', r'\1.0/24"]'),
    (rf'(?i)({_KEY}")(?:::ffff:)?({_IPV4})[.][0-9]+[^"/]*"', r'\1\2.0/24"'),
    (rf'(?i)({_KEY}\[\s*")::[0-9a-f][^]/]*\]', r'\1::/48"]'),
    (rf'(?i)({_KEY}")::[0-9a-f][^"/]*"', r'\1::/48"'),
    (rf'(?i)({_KEY}\[\s*"{_IPV6}){_IPV6_REST}[^]/]*\]', r'\1:/48"]'),
    (rf'(?i)({_KEY}"{_IPV6}){_IPV6_REST}[^"/]*"', r'\1:/48"'),
)
"""Pattern of a whole address in JSON text, and its replacement; applied in this order, each to all matches."""

POSSIBLE_ADDRESS_PATTERN: Final = rf'(?i){_KEY}(?:\[\s*)?"[0-9a-f:][^"/]*[.:][^"/]*"'
"""Matches every text that one of `ADDRESS_PATTERNS` matches, and few others."""

_COMPILED: Final = tuple((re.compile(pattern), replacement) for pattern, replacement in ADDRESS_PATTERNS)


def truncate_addresses_in_json(text: str) -> str:
    """Returns JSON text with the addresses under `ADDRESS_KEYS` cut, at every depth."""
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text
