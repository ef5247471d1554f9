"""Sends webhooks over https, to public addresses unless the settings allow others."""

import re
from collections.abc import Mapping
from typing import Final, Self

from hosts.composition.public_https import HostUnreachable, PublicHttpsClient
from service_core.delivery.notifications.signed_webhooks import WebhookUnavailable
from service_core.kernel.settings import Settings

SEND_SECONDS: Final = 15.0
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r]")


class HttpsWebhookClient:
    """Implements `WebhookClient`."""

    def __init__(self, https: PublicHttpsClient | None = None) -> None:
        self._https = https or PublicHttpsClient(SEND_SECONDS)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Returns the client of a deployment."""
        allowed = settings.webhooks.allow_private_addresses
        return cls(PublicHttpsClient(SEND_SECONDS, allow_private_addresses=allowed))

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Returns the status of the answer; redirects are not followed."""
        sent = {**headers, "Content-Length": str(len(body))}
        try:
            async with self._https.send_request("POST", url, sent, body) as reader:
                status = _STATUS_LINE.match(await reader.readuntil(b"\n"))
        except HostUnreachable as error:
            raise WebhookUnavailable(str(error)) from None
        if status is None:
            raise WebhookUnavailable("its answer is no HTTP")
        return int(status[1])
