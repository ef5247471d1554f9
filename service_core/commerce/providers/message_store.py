"""Stores messages of revenue providers, delivered or polled.

Facts of subscriptions are written before the events are offered, both under ids that follow from the
provider's own, and afterwards the messages are remembered for ever: whatever fails in between, the
next attempt adds what is missing and doubles nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from service_core.commerce.providers.map_message import (
    UnmappedMessage,
    map_verified_delivery,
    subscriber_ids,
    to_received_event,
)
from service_core.commerce.providers.models import MappedMessage, WebhookDelivery
from service_core.commerce.providers.ports import ProcessedMessages, RevenueProvider
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.track import Decode

_DEFAULT_ACCOUNT: Final = ""
"""Where a message does not say its account: a workspace has one connection with a provider. What is noted
there of accounts may change, and would make other subscriptions of those there are."""


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
        await self._store_subscription_facts(workspace_id, provider, [messages[position] for position in new])
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

    async def _store_subscription_facts(
        self,
        workspace_id: UUID,
        provider: RevenueProvider,
        messages: Sequence[MappedMessage | UnmappedMessage],
    ) -> None:
        mapped = [message for message in messages if isinstance(message, MappedMessage)]
        states = [
            replace(state, identity=subscriber_ids(provider.id, message))
            for message in mapped
            for state in message.states
        ]
        payments = [payment for message in mapped for payment in message.payments]
        if states or payments:
            await self.subscriptions.add_new_subscription_reports(workspace_id, states, payments)


def _processed_id(message: MappedMessage | UnmappedMessage) -> str:
    """What a message is remembered by; one that is not read today may be read by a later version."""
    return message.message_id if isinstance(message, MappedMessage) else f"unread:{message.message_id}"
