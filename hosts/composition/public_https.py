"""Sends requests over https, to public addresses only.

The address of the host is resolved once, checked and then connected to, so that a name cannot lead elsewhere between
check and connection. Redirects are not followed, and proxies of the environment are not used.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

_HTTPS_PORT: Final = 443
_NAT64: Final = ip_network("64:ff9b::/96")


class HostUnreachable(Exception):
    """No answer could be had; the message ends a sentence about the address."""


class PublicHttpsClient:
    """Sends requests over https to hosts whose addresses are all public.

    Args:
        timeout_seconds: time limit of one request, its answer included.
        allow_private_addresses: also connects to loopback and private addresses.
        ssl_context: trusted certificates; None for those of the machine.
    """

    def __init__(
        self,
        timeout_seconds: float,
        *,
        allow_private_addresses: bool = False,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._allow_private_addresses = allow_private_addresses
        self._ssl_context = ssl_context

    @asynccontextmanager
    async def send_request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[asyncio.StreamReader]:
        """Sends a request inside the block, which reads the answer; the connection is closed after it.

        Raises:
            HostUnreachable: a host that is unknown, not public, or does not answer in time or over https.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                parts = urlsplit(url)
                host, port = parts.hostname or "", parts.port or _HTTPS_PORT
                address = await self._resolve_public_address(host, port)
                if self._ssl_context is None:
                    self._ssl_context = await asyncio.to_thread(ssl.create_default_context)
                reader, writer = await asyncio.open_connection(
                    address, port, ssl=self._ssl_context, server_hostname=host
                )
                try:
                    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                    sent = {"Host": parts.netloc, **headers, "Connection": "close"}
                    lines = (
                        f"{method} {target} HTTP/1.1",
                        *(f"{name}: {sent[name]}" for name in sent),
                        "",
                        "",
                    )
                    writer.write("\r\n".join(lines).encode("ascii") + body)
                    await writer.drain()
                    yield reader
                finally:
                    writer.close()
        except TimeoutError:
            raise HostUnreachable("its host takes too long") from None
        except (OSError, ValueError, asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            raise HostUnreachable("its host cannot be reached over https") from None

    async def _resolve_public_address(self, host: str, port: int) -> str:
        """Returns an address of the host.

        Raises:
            HostUnreachable: one of its addresses is not public.
        """
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise HostUnreachable("the name of its host is unknown") from None
        addresses = [str(address[0]) for *_, address in found]
        if not self._allow_private_addresses and not all(map(is_public_address, addresses)):
            raise HostUnreachable("its host has no public address")
        return addresses[0]


def is_public_address(text: str) -> bool:
    """Returns whether an IP address is reachable from everywhere; an embedded IPv4 address counts as well."""
    address = ip_address(text.partition("%")[0])
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    embedded = _embedded_ipv4(address)
    return embedded is None or is_public_address(str(embedded))


def _embedded_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """Returns the IPv4 address that packets to an IPv6 address may be translated to."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
