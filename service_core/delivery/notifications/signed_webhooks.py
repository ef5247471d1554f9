"""Sends signed webhooks (Standard Webhooks)."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final, Protocol

from service_core.delivery.notifications.delivery_worker import NotificationObsolete, NotificationRefused
from service_core.workspace.notifications.models import Notification

_SUCCESS: Final = range(200, 300)


class WebhookUnavailable(Exception):
    """A webhook could not be delivered to its host."""


class WebhookClient(Protocol):
    """Sends requests to public hosts."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Returns the status of the answer; redirects are not followed.

        Raises:
            WebhookUnavailable: the host has no public address, or does not answer in time.
        """


class EndpointGone(NotificationObsolete):
    """The host of a webhook answered 410: it takes no more of them."""


@dataclass(frozen=True, slots=True)
class SignedWebhooks:
    """Signs and sends the webhooks of notifications.

    Attributes:
        client: sends the requests.
    """

    client: WebhookClient

    async def send(self, notification: Notification, secret: str, body: bytes, now: datetime) -> int:
        """Sends a webhook to the target of a notification; returns the status of the answer.

        Args:
            notification: gives the target, and the id of the message, which is the same for each attempt.
            secret: ``whsec_`` and the key in base64.
            body: JSON.
            now: the current time.

        Raises:
            EndpointGone: the host answered 410.
            NotificationRefused: the host did not take it.
        """
        headers = sign_webhook(secret, f"msg_{notification.id.hex}", now, body)
        try:
            status = await self.client.post(notification.target, headers, body)
        except WebhookUnavailable as fault:
            raise NotificationRefused(f"The webhook was not delivered: {fault}") from None
        if status == HTTPStatus.GONE:
            raise EndpointGone("The endpoint answered 410: it takes no more webhooks")
        if status not in _SUCCESS:
            raise NotificationRefused(f"The endpoint answered {status}", status)
        return status


def sign_webhook(secret: str, message_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """Returns the headers of a webhook as Standard Webhooks has them.

    Args:
        secret: ``whsec_`` and the key in base64.
        message_id: the same for each attempt.
        now: time of the attempt.
        body: as it is sent.
    """
    timestamp = str(int(now.timestamp()))
    key = b64decode(secret.removeprefix("whsec_"))
    signature = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
    }
