"""A shop that sells subscriptions, and what its provider says of them."""

from dataclasses import replace
from datetime import UTC, datetime

from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.subscriptions.models import (
    Interval,
    PaymentKind,
    SubscriptionPayment,
    SubscriptionState,
    SubscriptionStatus,
)
from tests.analytics.deployment import NOW

FIRST = datetime(2026, 6, 1, 12, tzinfo=UTC)
MONTHLY = SubscriptionState(
    "stripe", "acct_1", "sub_1", "m1", FIRST, SubscriptionStatus.ACTIVE, 1000, "USD", Interval.MONTH, FIRST,
    plan="pro",
)  # fmt: skip
CHARGE_PAYMENT = SubscriptionPayment(
    "stripe", "acct_1", "sub_1", "c1", FIRST, PaymentKind.CHARGE, 1000, "USD"
)


def state_on_day(state, day, **fields):
    """What a message of a day in June said."""
    when = FIRST.replace(day=day)
    return replace(state, message_id=f"{state.subscription_id}-{day}", at=when, **fields)


async def connect_revenue_provider(shop, status=ConnectionStatus.CONNECTED, provider="stripe"):
    """A provider is connected, or stands in some other way."""
    stripe = Connection(shop.workspace.id, provider, ProviderKind.REVENUE, status, NOW)
    await shop.service.ports.workspace.connections.save_connection_keeping_created_at(stripe)


async def save_subscription_facts(shop, *states, payments=()):
    """The store holds what was told."""
    await shop.service.ports.workspace.subscriptions.add_new_subscription_reports(
        shop.workspace.id, states, payments
    )
