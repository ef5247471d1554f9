"""The client address of a request: that of the connection, or the one a trusted proxy forwards."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network


class ClientAddressResolver:
    """Resolves client addresses; a forwarded address counts only from a listed proxy.

    Args:
        trusted: addresses or networks of the proxies in front.

    Raises:
        ValueError: an entry that is neither.
    """

    def __init__(self, trusted: Sequence[str] = ()) -> None:
        self._trusted: tuple[Network, ...] = tuple(ip_network(entry) for entry in trusted)

    def resolve_nearest_untrusted(
        self, peer: str | None, headers: Iterable[tuple[bytes, bytes]]
    ) -> str | None:
        """Returns the nearest address that is no trusted proxy; ``peer`` is the connection's.

        ``X-Forwarded-For`` is read from the right: what stands left of the first stranger was
        written by the stranger.
        """
        if not self._trusted or peer is None or not self._is_trusted_proxy(peer):
            return peer
        forwarded = ",".join(value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for")
        for hop in reversed([part.strip() for part in forwarded.split(",")]):
            if not _is_address(hop):
                return peer
            if not self._is_trusted_proxy(hop):
                return hop
            peer = hop
        return peer

    def _is_trusted_proxy(self, address: str) -> bool:
        return _is_address(address) and any(ip_address(address) in network for network in self._trusted)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
