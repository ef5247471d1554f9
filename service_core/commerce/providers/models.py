"""Webhook deliveries and messages of revenue providers, and what they are mapped to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from service_core.analytics.connections.declaration import ConnectionDeclaration
from service_core.commerce.subscriptions.models import SubscriptionPayment, SubscriptionState
from service_core.ingestion.parse_event import ExternalIdEvent


@dataclass(frozen=True, slots=True)
class RevenueProviderInfo:
    """Properties of a revenue provider.

    Attributes:
        event_names: names of the events that its messages become.
        is_storefront: whether it sells, as opposed to processing payments. Of several reports of one order that of a
            storefront counts.
        external_id_events: events of a site that carry an id of this provider, by event name.
        connection: how it is connected; None where only its page says so.
    """

    event_names: tuple[str, ...] = ()
    is_storefront: bool = False
    external_id_events: Mapping[str, ExternalIdEvent] = field(default_factory=dict)
    connection: ConnectionDeclaration | None = None


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A webhook as it came: header names in lower case, the body byte for byte."""

    headers: Mapping[str, str]
    body: bytes
    received_at: datetime


@dataclass(frozen=True, slots=True)
class PolledMessage:
    """A message that a provider gave when it was asked: as its webhook would have sent it, unsigned."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MappedMessage:
    """The content of a message: an event, and changes of subscriptions.

    Attributes:
        message_id: the provider's id of the message; the event's is ``<provider>_<message_id>``.
        event_name: name of the event; None for a message that only identifies a person, and for one of an unknown kind.
        occurred_at: when it happened.
        identity: the ids of the person, in the fields of ``/track``: ``visitor_id``, ``user_id``, and ``email``.
        properties: of the event, as ``/track`` takes them: ``revenue`` as a decimal text, ``currency``,
            ``order_id``, and what else is worth keeping; `ingestion.amounts.CHARGE_COMPONENTS` that are known, as decimal texts, too.
        external_ids: ids of other systems, by namespace, such as the customer of the provider under
            the provider's id. Persons that carry the same one are one.
    """

    message_id: str
    event_name: str | None
    occurred_at: datetime
    identity: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    external_ids: Mapping[str, str] = field(default_factory=dict)
    states: tuple[SubscriptionState, ...] = ()
    payments: tuple[SubscriptionPayment, ...] = ()
    test: bool = False

    @property
    def is_unknown_kind(self) -> bool:
        """Whether the kind of the message is unknown, so nothing of it is used."""
        content = self.identity or self.external_ids or self.states or self.payments
        return self.event_name is None and not content
