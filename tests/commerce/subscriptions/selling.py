"""A shop that sells subscriptions, and what its provider says of them."""

from dataclasses import replace
from datetime import UTC, datetime

from service_core.commerce.subscriptions.model import (
    DeedKind,
    Interval,
    SubscriptionDeed,
    SubscriptionState,
    SubscriptionStatus,
)
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind
from tests.insight.served import NOW

FIRST = datetime(2026, 6, 1, 12, tzinfo=UTC)
MONTHLY = SubscriptionState(
    "stripe", "acct_1", "sub_1", "m1", FIRST, SubscriptionStatus.ACTIVE, 1000, "USD", Interval.MONTH, FIRST,
    plan="pro",
)  # fmt: skip
CHARGED = SubscriptionDeed("stripe", "acct_1", "sub_1", "c1", FIRST, DeedKind.CHARGE, 1000, "USD")


def at(state, day, **said):
    """What a message of a day in June said."""
    when = FIRST.replace(day=day)
    return replace(state, message_id=f"{state.subscription_id}-{day}", at=when, **said)


async def connect(shop, status=ConnectionStatus.CONNECTED, provider="stripe"):
    """A provider is connected, or stands in some other way."""
    stripe = Connection(shop.workspace.id, provider, ProviderKind.REVENUE, status, NOW)
    await shop.service.ports.workspace.save_connection(stripe)


async def told(shop, *states, deeds=()):
    """The store holds what was told."""
    await shop.service.ports.workspace.add_subscription_facts(shop.workspace.id, states, deeds)
