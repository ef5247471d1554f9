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
    map_delivery,
    subscriber_ids,
    to_arrival,
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
        messages: which are kept already.
        decode: reads JSON, strictly.
        visitor_names: what the visitor's id stands under, by provider, besides the name each has of its own.
    """

    subscriptions: SubscriptionStore
    processed_messages: ProcessedMessages
    queue: IngestQueue
    decode: Decode
    visitor_id_fields: Mapping[str, str] = field(default_factory=dict)

    async def store_messages(
        self, workspace_id: UUID, provider: RevenueProvider, deliveries: Sequence[WebhookDelivery]
    ) -> list[EnqueueResult | None]:
        """Keep what some messages say.

        Returns:
            What the queue said of each, in their order; None of one that was kept before and not offered.

        Raises:
            StoreUnavailable: what is kept cannot be read or written.
            EnqueueFailed: some are not kept; those that are, are so for good.
        """
        name = self.visitor_id_fields.get(provider.id)
        told = [map_delivery(provider, each, _DEFAULT_ACCOUNT, self.decode, name) for each in deliveries]
        keys = [_processed_id(each) for each in told]
        known = await self.processed_messages.processed_messages(workspace_id, provider.id, set(keys))
        new = [place for place, key in enumerate(keys) if key not in known]
        await self._store_subscription_facts(workspace_id, provider, [told[place] for place in new])
        arrivals = [to_arrival(workspace_id, provider, deliveries[place], told[place]) for place in new]
        outcomes = dict(zip(new, await self.queue.offer_all(arrivals) if arrivals else [], strict=True))
        offers = {place: offer for place, offer in outcomes.items() if isinstance(offer, EnqueueResult)}
        if offers:
            await self.processed_messages.mark_processed(
                workspace_id, provider.id, {keys[place] for place in offers}
            )
        failed = next((each for each in outcomes.values() if isinstance(each, EnqueueFailed)), None)
        if failed is not None:
            raise failed
        return [offers.get(place) for place in range(len(told))]

    async def _store_subscription_facts(
        self, workspace_id: UUID, provider: RevenueProvider, told: Sequence[MappedMessage | UnmappedMessage]
    ) -> None:
        mapped = [each for each in told if isinstance(each, MappedMessage)]
        states = [
            replace(state, identity=subscriber_ids(provider.id, each))
            for each in mapped
            for state in each.states
        ]
        deeds = [deed for each in mapped for deed in each.payments]
        if states or deeds:
            await self.subscriptions.add_subscription_reports(workspace_id, states, deeds)


def _processed_id(told: MappedMessage | UnmappedMessage) -> str:
    """What a message is remembered by; one that is not read today may be read by a later version."""
    return told.message_id if isinstance(told, MappedMessage) else f"unread:{told.message_id}"
