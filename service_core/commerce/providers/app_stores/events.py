"""A message of an app store as an event (semantics 11.1)."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from service_core.commerce.providers.app_stores.deeds import deeds
from service_core.commerce.providers.app_stores.model import PURCHASES, AppStoreKind, AppStoreMessage
from service_core.commerce.providers.app_stores.states import states
from service_core.commerce.providers.model import Mapped
from service_core.kernel.money import to_major, to_minor

EVENTS: Final[Mapping[AppStoreKind, str]] = MappingProxyType(
    {
        AppStoreKind.INITIAL_PURCHASE: "subscription_started",
        AppStoreKind.RENEWAL: "subscription_renewed",
        AppStoreKind.NON_RENEWING_PURCHASE: "purchase",
        AppStoreKind.CANCELLATION: "subscription_cancelled",
        AppStoreKind.UNCANCELLATION: "subscription_reactivated",
        AppStoreKind.EXPIRATION: "subscription_expired",
        AppStoreKind.BILLING_ISSUE: "billing_failed",
        AppStoreKind.PRODUCT_CHANGE: "subscription_changed",
        AppStoreKind.SUBSCRIPTION_PAUSED: "subscription_paused",
        AppStoreKind.SUBSCRIPTION_EXTENDED: "subscription_extended",
        AppStoreKind.TRANSFER: "subscription_transferred",
        AppStoreKind.REFUND_REVERSED: "refund_reversed",
    }
)


def map_app_store(message: AppStoreMessage, provider: str, account_id: str) -> Mapped:
    """The event of a message, with what it says of its subscription."""
    return Mapped(
        message.id,
        event_name(message),
        message.at,
        message.identity,
        dict(_properties(message)),
        message.external_ids,
        states(message, provider, account_id),
        deeds(message, provider, account_id),
        test=message.test,
    )


def event_name(message: AppStoreMessage) -> str:
    """Its name; a trial begins under one of its own, and so does the first payment after it."""
    if message.kind is AppStoreKind.INITIAL_PURCHASE and message.is_free_trial:
        return "trial_started"
    if message.kind is AppStoreKind.RENEWAL and message.converts_trial:
        return "trial_converted"
    return EVENTS[message.kind]


def _properties(message: AppStoreMessage) -> Iterator[tuple[str, Any]]:
    """What is known of it; an amount of 0 is told only where it is the price of something bought."""
    yield from message.properties.items()
    known = {
        "subscription_id": message.subscription_id,
        "product_id": message.product_id,
        "reason": message.reason,
    }
    yield from ((name, value) for name, value in known.items() if value is not None)
    bought = message.kind in PURCHASES and not message.trial
    if message.price is not None and message.currency is not None and (message.price or bought):
        yield from _money(message, message.price, message.currency)


def _money(message: AppStoreMessage, price: Decimal, currency: str) -> Iterator[tuple[str, str]]:
    yield "revenue", f"{price:f}"
    yield "currency", currency
    if message.transaction_id is not None:
        # Within days a second charge of an order is left out as a repeat, and what came back is none.
        reversed_ = message.kind is AppStoreKind.REFUND_REVERSED
        yield "reversed_order_id" if reversed_ else "order_id", message.transaction_id
    if price >= 0:
        yield "shipping", "0"  # what app stores sell comes over the wire
        yield from _fee(message, price, currency)


def _fee(message: AppStoreMessage, price: Decimal, currency: str) -> Iterator[tuple[str, str]]:
    """What the store keeps: a share of the price, of nothing nothing."""
    share = message.commission if price else Decimal(0)
    if share is not None and share >= 0:
        yield "fee", f"{to_major(to_minor(price * share, currency), currency):f}"
