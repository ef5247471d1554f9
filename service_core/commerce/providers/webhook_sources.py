"""Webhook sources as providers whose messages are never money."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from service_core.commerce.providers.models import MappedMessage, RevenueProviderInfo, WebhookDelivery
from service_core.commerce.providers.ports import RevenueProvider, WebhookSource
from service_core.ingestion.amounts import AMOUNT_FIELDS
from service_core.ingestion.event_names import PURCHASE_EVENTS, REFUND_EVENTS
from service_core.kernel.unique_index import index_unique_or_startup_error

SENT_AMOUNT_PREFIX: Final = "sent_"
"""Begins the names under which the amounts of a webhook source are kept."""

_MONEY_EVENTS: Final = PURCHASE_EVENTS | REFUND_EVENTS


class SourceWithoutMoney:
    """A webhook source as the machinery of revenue providers takes it; implements `RevenueProvider`.

    Args:
        source: verifies and maps the messages.
    """

    def __init__(self, source: WebhookSource) -> None:
        self._source = source

    @property
    def id(self) -> str:
        """Id of the source."""
        return self._source.id

    @property
    def info(self) -> RevenueProviderInfo:
        """Its declaration, never that of a storefront."""
        return replace(self._source.info, is_storefront=False)

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Returns what the source says."""
        return self._source.verify_signature(delivery, secrets)

    def map_message(
        self, message: Mapping[str, Any], delivery: WebhookDelivery, account_id: str
    ) -> MappedMessage:
        """Returns the event without money: amounts get other names, and a purchase or refund becomes no event."""
        mapped = self._source.map_message(message, delivery, account_id)
        if mapped.event_name in _MONEY_EVENTS:
            return MappedMessage(mapped.message_id, None, mapped.occurred_at)
        properties = {
            SENT_AMOUNT_PREFIX + name if name in AMOUNT_FIELDS else name: value
            for name, value in mapped.properties.items()
        }
        return replace(mapped, properties=properties, states=(), payments=())


def index_webhook_sources_by_id(sources: Iterable[WebhookSource]) -> Mapping[str, RevenueProvider]:
    """Returns the webhook sources by id, as providers without money.

    Raises:
        StartupError: two have the same id.
    """
    by_id = index_unique_or_startup_error(
        sources, lambda source: source.id, lambda source: f"the webhook source {source.id!r}"
    )
    return MappingProxyType({id_: SourceWithoutMoney(source) for id_, source in by_id.items()})
