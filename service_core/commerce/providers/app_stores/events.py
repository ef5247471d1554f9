"""Maps app store notifications to events."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from service_core.commerce.providers.app_stores.models import (
    PURCHASE_KINDS,
    AppStoreNotification,
    NotificationKind,
)
from service_core.commerce.providers.app_stores.payments import subscription_payments
from service_core.commerce.providers.app_stores.subscription_states import subscription_states
from service_core.commerce.providers.models import MappedMessage
from service_core.kernel.money import to_major, to_minor

EVENTS: Final[Mapping[NotificationKind, str]] = MappingProxyType(
    {
        NotificationKind.INITIAL_PURCHASE: "subscription_started",
        NotificationKind.RENEWAL: "subscription_renewed",
        NotificationKind.NON_RENEWING_PURCHASE: "purchase",
        NotificationKind.CANCELLATION: "subscription_cancelled",
        NotificationKind.UNCANCELLATION: "subscription_reactivated",
        NotificationKind.EXPIRATION: "subscription_expired",
        NotificationKind.BILLING_ISSUE: "billing_failed",
        NotificationKind.PRODUCT_CHANGE: "subscription_changed",
        NotificationKind.SUBSCRIPTION_PAUSED: "subscription_paused",
        NotificationKind.SUBSCRIPTION_EXTENDED: "subscription_extended",
        NotificationKind.TRANSFER: "subscription_transferred",
        NotificationKind.REFUND_REVERSED: "refund_reversed",
    }
)


_TRIAL_EVENTS: Final = frozenset({"trial_started", "trial_converted"})


def app_store_event_names(kinds: Iterable[NotificationKind]) -> tuple[str, ...]:
    """Returns the sorted names of the events that notifications of some kinds become."""
    return tuple(sorted(_TRIAL_EVENTS.union(EVENTS[kind] for kind in kinds)))


def map_app_store_notification(
    notification: AppStoreNotification, provider: str, account_id: str
) -> MappedMessage:
    """Returns the event of a notification, with its subscription states and payments."""
    return MappedMessage(
        notification.id,
        trial_or_kind_event_name(notification),
        notification.occurred_at,
        notification.identity,
        dict(_event_properties_with_known_money(notification)),
        notification.external_ids,
        subscription_states(notification, provider, account_id),
        subscription_payments(notification, provider, account_id),
        test=notification.test,
    )


def trial_or_kind_event_name(notification: AppStoreNotification) -> str:
    """Returns the event name of a notification; trial starts and conversions have names of their own."""
    if notification.kind is NotificationKind.INITIAL_PURCHASE and notification.is_free_trial:
        return "trial_started"
    if notification.kind is NotificationKind.RENEWAL and notification.converts_trial:
        return "trial_converted"
    return EVENTS[notification.kind]


def _event_properties_with_known_money(notification: AppStoreNotification) -> Iterator[tuple[str, Any]]:
    """Yields the known properties; a price of 0 is included only for purchases outside trials."""
    yield from notification.properties.items()
    known = {
        "subscription_id": notification.subscription_id,
        "product_id": notification.product_id,
        "reason": notification.reason,
    }
    yield from ((name, value) for name, value in known.items() if value is not None)
    bought = notification.kind in PURCHASE_KINDS and not notification.trial
    if (
        notification.price is not None
        and notification.currency is not None
        and (notification.price or bought)
    ):
        yield from _money_and_order_properties(notification, notification.price, notification.currency)


def _money_and_order_properties(
    notification: AppStoreNotification, price: Decimal, currency: str
) -> Iterator[tuple[str, str]]:
    yield "revenue", f"{price:f}"
    yield "currency", currency
    if notification.transaction_id is not None:
        # Within days a second charge of an order is left out as a repeat, and what came back is none.
        reversed_ = notification.kind is NotificationKind.REFUND_REVERSED
        yield "reversed_order_id" if reversed_ else "order_id", notification.transaction_id
    if price >= 0:
        yield "shipping", "0"  # what app stores sell comes over the wire
        yield from _store_fee_property(notification, price, currency)


def _store_fee_property(
    message: AppStoreNotification, price: Decimal, currency: str
) -> Iterator[tuple[str, str]]:
    """Yields the commission of the store; 0 for a free item, nothing if the share is unknown."""
    share = message.commission if price else Decimal(0)
    if share is not None and share >= 0:
        yield "fee", f"{to_major(to_minor(price * share, currency), currency):f}"
