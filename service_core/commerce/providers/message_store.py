"""Stores messages of revenue providers, delivered or polled.

Facts of subscriptions are written before the events are offered, both under ids that follow from the
provider's own, and afterwards the messages are remembered for ever: whatever fails in between, the
next attempt adds what is missing and doubles nothing.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.providers.map_message import (
    UnmappedMessage,
    map_verified_delivery,
    rebuild_delivery_from_stored_headers,
    subscriber_ids_and_email,
    to_received_event,
    unmapped_delivery,
)
from service_core.commerce.providers.models import MappedMessage, WebhookDelivery
from service_core.commerce.providers.ports import ProcessedMessages, RevenueProvider
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.ingestion.models import PROVIDER_HEADER, ReceivedEvent
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.track import Decode

_DEFAULT_ACCOUNT: Final = ""
"""Where a message does not say its account: a workspace has one connection with a provider. What is noted
there of accounts may change, and would make other subscriptions of those there are."""

_log: Final = logging.getLogger("touchpoint.webhooks")


@dataclass(frozen=True, slots=True)
class MessageStore:
    """Keeps messages.

    Args:
        processed_messages: ids of the messages that were stored before.
        decode: reads JSON, strictly.
        visitor_id_fields: configured field of the visitor id by provider.
    """

    subscriptions: SubscriptionStore
    processed_messages: ProcessedMessages
    queue: IngestQueue
    decode: Decode
    visitor_id_fields: Mapping[str, str] = field(default_factory=dict)

    async def store_new_messages(
        self, workspace_id: UUID, provider: RevenueProvider, deliveries: Sequence[WebhookDelivery]
    ) -> list[EnqueueResult | None]:
        """Stores the messages that were not stored before, and marks them as processed.

        Returns:
            The result of the queue for each, in order; None for one that was stored before.

        Raises:
            StoreUnavailable: what is kept cannot be read or written.
            EnqueueFailed: some are not kept; those that are, are so for good.
        """
        name = self.visitor_id_fields.get(provider.id)
        messages = [
            map_verified_delivery(provider, delivery, _DEFAULT_ACCOUNT, self.decode, name)
            for delivery in deliveries
        ]
        keys = [_processed_id(delivery) for delivery in messages]
        known = await self.processed_messages.find_processed_ids(workspace_id, provider.id, set(keys))
        new = [position for position, key in enumerate(keys) if key not in known]
        for position in new:
            messages[position] = await self._store_facts_or_unmap(
                workspace_id, provider, deliveries[position], messages[position]
            )
        arrivals = [
            to_received_event(workspace_id, provider, deliveries[position], messages[position])
            for position in new
        ]
        outcomes = dict(zip(new, await self.queue.offer_all(arrivals) if arrivals else [], strict=True))
        offers = {position: offer for position, offer in outcomes.items() if isinstance(offer, EnqueueResult)}
        if offers:
            await self.processed_messages.mark_processed(
                workspace_id, provider.id, {keys[position] for position in offers}
            )
        failed = next(
            (delivery for delivery in outcomes.values() if isinstance(delivery, EnqueueFailed)), None
        )
        if failed is not None:
            raise failed
        return [offers.get(position) for position in range(len(messages))]

    async def map_raw_message_again_and_store_facts(
        self, arrival: ReceivedEvent, providers: Mapping[str, RevenueProvider]
    ) -> ReceivedEvent | None:
        """Maps a message that was kept raw, with the plugin as it is installed now, and stores its facts.

        Returns:
            The event as if it was delivered now, under the id of its message; None if it still cannot be mapped.

        Raises:
            StoreUnavailable: what is kept cannot be read or written.
        """
        provider = providers.get(arrival.headers.get(PROVIDER_HEADER, ""))
        if provider is None:
            return None
        delivery, name = (
            rebuild_delivery_from_stored_headers(arrival),
            self.visitor_id_fields.get(provider.id),
        )
        message = await self._store_facts_or_unmap(
            arrival.workspace_id,
            provider,
            delivery,
            map_verified_delivery(provider, delivery, _DEFAULT_ACCOUNT, self.decode, name),
        )
        if isinstance(message, UnmappedMessage):
            return None
        await self.processed_messages.mark_processed(
            arrival.workspace_id, provider.id, {_processed_id(message)}
        )
        return to_received_event(arrival.workspace_id, provider, delivery, message)

    async def _store_facts_or_unmap(
        self,
        workspace_id: UUID,
        provider: RevenueProvider,
        delivery: WebhookDelivery,
        message: MappedMessage | UnmappedMessage,
    ) -> MappedMessage | UnmappedMessage:
        """Stores the facts of subscriptions of a message; returns it, or as unmapped if they cannot be stored.

        Raises:
            StoreUnavailable: the store cannot be written.
        """
        if isinstance(message, UnmappedMessage) or not (message.states or message.payments):
            return message
        try:
            identity = subscriber_ids_and_email(provider.id, message)
            states = [replace(state, identity=identity) for state in message.states]
            await self.subscriptions.add_new_subscription_reports(
                workspace_id, states, list(message.payments)
            )
        except StoreUnavailable:
            raise
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake never loses a genuine message
            _log.error("facts of %s cannot be stored: %s", provider.id, type(fault).__name__)
            return unmapped_delivery(delivery, f"{provider.id}: its facts cannot be stored")
        return message


def _processed_id(message: MappedMessage | UnmappedMessage) -> str:
    """Returns the key a message is deduplicated by; an unread message may be read by a later version."""
    return message.message_id if isinstance(message, MappedMessage) else f"unread:{message.message_id}"
