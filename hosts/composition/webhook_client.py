"""Sends webhooks over https, to public addresses only.

The address of the host is resolved once, checked and then connected to, so that a name cannot lead elsewhere between
check and connection. Redirects are not followed, and proxies of the environment are not used.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from hosts.composition.client_metadata_fetcher import is_public_address
from service_core.delivery.notifications.alert_sender import WebhookUnavailable

SEND_SECONDS: Final = 15.0
_HTTPS_PORT: Final = 443
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r]")


class HttpsWebhookClient:
    """Implements `WebhookClient`.

    Args:
        allow_private_addresses: also connects to loopback and private addresses; for tests.
        ssl_context: trusted certificates; None for those of the machine.
        send_seconds: time limit of one request.
    """

    def __init__(
        self,
        *,
        allow_private_addresses: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        send_seconds: float = SEND_SECONDS,
    ) -> None:
        self._allow_private_addresses = allow_private_addresses
        self._ssl_context = ssl_context
        self._send_seconds = send_seconds

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Returns the status of the answer; redirects are not followed."""
        try:
            async with asyncio.timeout(self._send_seconds):
                return await self._post(urlsplit(url), headers, body)
        except TimeoutError:
            raise WebhookUnavailable("its host takes too long") from None
        except (OSError, ValueError, asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            raise WebhookUnavailable("its host cannot be reached over https") from None

    async def _post(self, url: SplitResult, headers: Mapping[str, str], body: bytes) -> int:
        host, port = url.hostname or "", url.port or _HTTPS_PORT
        address = await self._resolve_public_address(host, port)
        if self._ssl_context is None:
            self._ssl_context = await asyncio.to_thread(ssl.create_default_context)
        reader, writer = await asyncio.open_connection(
            address, port, ssl=self._ssl_context, server_hostname=host
        )
        try:
            target = (url.path or "/") + (f"?{url.query}" if url.query else "")
            sent = {**headers, "Host": url.netloc, "Content-Length": str(len(body)), "Connection": "close"}
            head = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
            writer.write("\r\n".join(head).encode("ascii") + body)
            await writer.drain()
            status = _STATUS_LINE.match(await reader.readuntil(b"\n"))
            if status is None:
                raise WebhookUnavailable("its answer is no HTTP")
            return int(status[1])
        finally:
            writer.close()

    async def _resolve_public_address(self, host: str, port: int) -> str:
        """Returns an address of the host.

        Raises:
            WebhookUnavailable: one of its addresses is not public.
        """
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise WebhookUnavailable("the name of its host is unknown") from None
        addresses = [str(address[0]) for *_, address in found]
        if not self._allow_private_addresses and not all(map(is_public_address, addresses)):
            raise WebhookUnavailable("its host has no public address")
        return addresses[0]
