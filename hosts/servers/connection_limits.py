"""Limits on open connections: in total, for each client address, so that one client cannot keep everybody else out, and in time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from typing import Final

from hosts.servers import TimeLimits
from service_core.access.ip_prefixes import full_ipv4_or_ipv6_slash_64

MAX_CONNECTIONS: Final = 10_000
MAX_CONNECTIONS_PER_ADDRESS: Final = 1_000
LOOPBACK: Final = ("127.0.0.0/8", "::1/128")

_BODY: Final = b'{"error":"Too many connections"}'
TOO_MANY_CONNECTIONS: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"content-type: application/json\r\n"
    b"content-length: %d\r\n"
    b"access-control-allow-origin: *\r\n"
    b"cache-control: no-store\r\n"
    b"retry-after: 5\r\n"
    b"connection: close\r\n\r\n%s" % (len(_BODY), _BODY)
)
"""The answer to a connection above a limit."""


class ConnectionLimits:
    """Counts the open connections of a server in one process.

    Args:
        total: most connections at a time.
        per_address: most connections of one IPv4 address, or of one IPv6 network of 64 bits.
        unlimited_networks: addresses or networks without a limit per address, such as proxies, which carry the requests
            of many clients.
        times: how long the parts of an exchange may take on a connection.

    Attributes:
        open_connections: how many are counted now.
    """

    def __init__(
        self,
        total: int = MAX_CONNECTIONS,
        per_address: int = MAX_CONNECTIONS_PER_ADDRESS,
        unlimited_networks: Sequence[str] = LOOPBACK,
        times: TimeLimits = TimeLimits(),  # noqa: B008 - it cannot be changed
    ) -> None:
        self.total: Final = total
        self.times: Final = times
        self._per_address = per_address
        self._unlimited_networks = tuple(map(ip_network, unlimited_networks))
        self.open_connections = 0
        self._open_by_prefix: Counter[str] = Counter()

    @contextmanager
    def count_if_below_limits(self, address: str | None) -> Iterator[bool]:
        """Counts a connection while the context is open; yields False, and counts nothing, above a limit.

        Args:
            address: IP address of the client; None if it is unknown.
        """
        prefix = self._limited_prefix(address)
        is_full = prefix is not None and self._open_by_prefix[prefix] >= self._per_address
        if is_full or self.open_connections >= self.total:
            yield False
            return
        self.open_connections += 1
        if prefix is not None:
            self._open_by_prefix[prefix] += 1
        try:
            yield True
        finally:
            self.open_connections -= 1
            if prefix is not None:
                self._open_by_prefix[prefix] -= 1
                if not self._open_by_prefix[prefix]:
                    del self._open_by_prefix[prefix]

    def _limited_prefix(self, address: str | None) -> str | None:
        """Returns what an address is counted under; None if it has no limit of its own."""
        try:
            parsed = ip_address(address or "")
        except ValueError:
            return None
        if any(parsed in network for network in self._unlimited_networks):
            return None
        return full_ipv4_or_ipv6_slash_64(address)
