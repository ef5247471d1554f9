"""Keeps messages of a provider whose plugin is not installed, until the plugin can check their signatures.

Such a message may be of anybody, so only some are kept in an hour. Its headers, which may hold a credential, are kept
encrypted.
"""

import base64
import hashlib
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.credentials.ports import CipherUnavailable, ConnectionSecrets, SecretCipher
from service_core.commerce.providers.map_message import unmapped_delivery_headers
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.providers.ports import RevenueProvider
from service_core.ingestion.models import (
    PROVIDER_HEADER,
    UNPARSED_HEADER,
    UNVERIFIED_HEADER,
    IngestEndpoint,
    ReceivedEvent,
)
from service_core.ingestion.ports import EnqueueResult, IngestQueue

MAX_KEPT_PER_HOUR: Final = 1_000
"""Messages of one connection that a process keeps in an hour; later ones are to be sent again."""

MAX_KEPT_BYTES_PER_HOUR: Final = 50_000_000
"""Bytes of these messages, which are usually a few thousand each."""

_SEPARATORS: Final = re.compile(r"[,;=\s\"\[\]]+")


@dataclass(slots=True)
class _HourlyCounts:
    """Kept messages and their bytes by connection, in the current hour."""

    hour: datetime | None = None
    messages: Counter[tuple[UUID, str]] = field(default_factory=Counter)
    byte_counts: Counter[tuple[UUID, str]] = field(default_factory=Counter)

    def count_within_hourly_limit(self, connection: tuple[UUID, str], now: datetime, byte_count: int) -> bool:
        """Counts a message if it fits into what is kept in this hour, and returns whether it does."""
        hour = now.replace(minute=0, second=0, microsecond=0)
        if hour != self.hour:
            self.hour, self.messages, self.byte_counts = hour, Counter(), Counter()
        is_kept = (
            self.messages[connection] < MAX_KEPT_PER_HOUR
            and self.byte_counts[connection] + byte_count <= MAX_KEPT_BYTES_PER_HOUR
        )
        if is_kept:
            self.messages[connection] += 1
            self.byte_counts[connection] += byte_count
        return is_kept


@dataclass(frozen=True, slots=True)
class UnverifiedMessages:
    """Keeps messages whose signature cannot be checked now, and checks them later.

    Args:
        secrets: the credentials that signatures are checked with.
        cipher: encrypts headers.
        queue: takes the messages; its consumer sets them aside until they are replayed.
    """

    secrets: ConnectionSecrets
    cipher: SecretCipher
    queue: IngestQueue
    _kept: _HourlyCounts = field(default_factory=_HourlyCounts)

    async def enqueue_raw_within_hourly_limit(
        self, workspace_id: UUID, provider_id: str, delivery: WebhookDelivery
    ) -> EnqueueResult | None:
        """Stores a message raw; None if too many came in this hour.

        A stranger cannot claim the id of a genuine message, since the id follows from all headers, too.

        Raises:
            CipherUnavailable: this deployment has no key.
            EnqueueFailed: the message is not kept.
        """
        headers = json.dumps(dict(delivery.headers), sort_keys=True).encode()
        byte_count = len(headers) + len(delivery.body)
        if not self._kept.count_within_hourly_limit(
            (workspace_id, provider_id), delivery.received_at, byte_count
        ):
            return None
        kept = json.dumps(_without_addresses(delivery.headers)).encode()
        sealed = self.cipher.encrypt(kept, _associated_data(workspace_id, provider_id))
        digest = hashlib.sha256(headers + b"\0" + delivery.body).hexdigest()
        return await self.queue.offer(
            ReceivedEvent(
                workspace_id=workspace_id,
                key_id=workspace_id,
                channel=IngestEndpoint.WEBHOOK,
                event_id=f"{provider_id}_unverified:{digest}",
                claimed=True,
                received_at=delivery.received_at,
                body=delivery.body,
                user_agent=None,
                address=None,
                headers={
                    PROVIDER_HEADER: provider_id,
                    UNPARSED_HEADER: f"{provider_id}: its plugin is not installed",
                    UNVERIFIED_HEADER: base64.b64encode(sealed).decode(),
                },
            )
        )

    async def verify_raw_message(
        self, arrival: ReceivedEvent, providers: Mapping[str, RevenueProvider]
    ) -> ReceivedEvent:
        """Returns a genuine message as its plugin would have kept it raw; any other one with the reason, still unverified.

        Raises:
            StoreUnavailable: the credentials cannot be read.
        """
        provider = providers.get(arrival.headers[PROVIDER_HEADER])
        if provider is None:
            return arrival
        sealed = base64.b64decode(arrival.headers[UNVERIFIED_HEADER])
        try:
            headers = self.cipher.decrypt(sealed, _associated_data(arrival.workspace_id, provider.id))
            secrets = await self.secrets.find_secrets(arrival.workspace_id, provider.id) or {}
            delivery = WebhookDelivery(json.loads(headers), arrival.body, arrival.received_at)
            is_signed = provider.verify_signature(delivery, secrets)
        except CipherUnavailable:
            return _with_reason(arrival, f"{provider.id}: this process has no key to check the signature")
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - a plugin's mistake never loses a genuine message
            return _with_reason(arrival, f"{provider.id}: the plugin cannot check the signature")
        if not is_signed:
            return _with_reason(arrival, f"{provider.id}: the signature is not valid")
        return arrival._replace(headers=unmapped_delivery_headers(provider, delivery))


def _without_addresses(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers that name no IP address: addresses are cut after 7 days, and these headers cannot be changed then."""
    return {name: value for name, value in headers.items() if not any(map(_is_address, _parts(value)))}


def _parts(value: str) -> Iterator[str]:
    """Yields the words of a header value, with and without a port."""
    for word in _SEPARATORS.split(value):
        yield word
        yield word.rpartition(":")[0]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _with_reason(arrival: ReceivedEvent, reason: str) -> ReceivedEvent:
    return arrival._replace(headers={**arrival.headers, UNPARSED_HEADER: reason})


def _associated_data(workspace_id: UUID, provider_id: str) -> bytes:
    return b"webhook headers" + workspace_id.bytes + provider_id.encode()
