"""Reads client metadata documents over https, from public addresses only.

The address of the host is resolved once, checked and then connected to, so that a name cannot lead elsewhere between
check and connection. Proxies of the environment are not used.
"""

import asyncio
import re
import socket
import ssl
from datetime import timedelta
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from service_core.access.oauth.ports import ClientMetadataUnavailable, FetchedDocument

FETCH_SECONDS: Final = 5.0
MAX_DOCUMENT_BYTES: Final = 16_384
_MAX_HEADER_BYTES: Final = 16_384
_HTTPS_PORT: Final = 443
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})(?:$|[\s,])", re.IGNORECASE)
_UNCACHEABLE: Final = re.compile(r"no-store|no-cache", re.IGNORECASE)
_NAT64: Final = ip_network("64:ff9b::/96")


class HttpsClientMetadataFetcher:
    """Implements the port `ClientMetadataFetcher`.

    Args:
        allow_private_addresses: also connects to loopback and private addresses; for tests.
        ssl_context: trusted certificates; None for those of the machine.
        fetch_seconds: time limit of one document.
    """

    def __init__(
        self,
        *,
        allow_private_addresses: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        fetch_seconds: float = FETCH_SECONDS,
    ) -> None:
        self._allow_private_addresses = allow_private_addresses
        self._ssl_context = ssl_context
        self._fetch_seconds = fetch_seconds

    async def fetch_document(self, url: str) -> FetchedDocument:
        """Returns the document at an https address."""
        try:
            async with asyncio.timeout(self._fetch_seconds):
                return _parse_document(await self._read_answer(urlsplit(url)))
        except TimeoutError:
            raise ClientMetadataUnavailable("its host takes too long") from None
        except (OSError, asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            raise ClientMetadataUnavailable("its host cannot be reached over https") from None

    async def _read_answer(self, url: SplitResult) -> bytes:
        """Returns head and body of the answer, at most one byte more than is allowed."""
        host, port = url.hostname or "", url.port or _HTTPS_PORT
        address = await self._resolve_public_address(host, port)
        if self._ssl_context is None:
            self._ssl_context = await asyncio.to_thread(ssl.create_default_context)
        reader, writer = await asyncio.open_connection(
            address, port, ssl=self._ssl_context, server_hostname=host
        )
        try:
            target = url.path + (f"?{url.query}" if url.query else "")
            lines = (
                f"GET {target} HTTP/1.1",
                f"Host: {url.netloc}",
                "Accept: application/json",
                "Connection: close",
                "",
                "",
            )
            writer.write("\r\n".join(lines).encode("ascii"))
            await writer.drain()
            answer = bytearray()
            while len(answer) <= _MAX_HEADER_BYTES + MAX_DOCUMENT_BYTES:
                part = await reader.read(_MAX_HEADER_BYTES)
                if not part:
                    break
                answer += part
            return bytes(answer)
        finally:
            writer.close()

    async def _resolve_public_address(self, host: str, port: int) -> str:
        """Returns an address of the host.

        Raises:
            ClientMetadataUnavailable: one of its addresses is not public.
        """
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise ClientMetadataUnavailable("the name of its host is unknown") from None
        addresses = [str(address[0]) for *_, address in found]
        if not self._allow_private_addresses and not all(map(is_public_address, addresses)):
            raise ClientMetadataUnavailable("its host has no public address")
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


class _ReceivedAnswer:
    """An answer in memory, as `HTTPResponse` reads it from a socket."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, mode: str) -> BytesIO:  # noqa: ARG002 - the interface of a socket
        return BytesIO(self._answer)


def _parse_document(answer: bytes) -> FetchedDocument:
    """Returns the document of an HTTP answer.

    Raises:
        ClientMetadataUnavailable: it is no JSON document, or too large.
    """
    response = HTTPResponse(_ReceivedAnswer(answer))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (HTTPException, ValueError):
        raise ClientMetadataUnavailable("its answer is not whole, or too large") from None
    if response.status != HTTPStatus.OK:
        raise ClientMetadataUnavailable("its address does not answer 200")
    content_type = response.headers.get_content_type()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise ClientMetadataUnavailable("its content type is not JSON")
    if len(body) > MAX_DOCUMENT_BYTES:
        raise ClientMetadataUnavailable(f"it is larger than {MAX_DOCUMENT_BYTES} bytes")
    return FetchedDocument(body, _max_age(response.headers))


def _max_age(headers: Message) -> timedelta:
    cache_control = headers.get("cache-control", "")
    found = None if _UNCACHEABLE.search(cache_control) else _MAX_AGE.search(cache_control)
    return timedelta(seconds=int(found[1])) if found else timedelta()
