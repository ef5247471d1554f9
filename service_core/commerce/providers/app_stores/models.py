"""A notification about a purchase in an app store, independent of the service that sent it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from service_core.kernel.money import to_minor

PAUSED_REASON: Final = "SUBSCRIPTION_PAUSED"
BILLING_REASON: Final = "BILLING_ERROR"


class NotificationKind(StrEnum):
    """Kind of a message."""

    INITIAL_PURCHASE = "initial_purchase"
    RENEWAL = "renewal"
    NON_RENEWING_PURCHASE = "non_renewing_purchase"
    CANCELLATION = "cancellation"
    UNCANCELLATION = "uncancellation"
    EXPIRATION = "expiration"
    BILLING_ISSUE = "billing_issue"
    PRODUCT_CHANGE = "product_change"
    SUBSCRIPTION_PAUSED = "subscription_paused"
    SUBSCRIPTION_EXTENDED = "subscription_extended"
    TRANSFER = "transfer"
    REFUND_REVERSED = "refund_reversed"


PERIOD_START_KINDS: Final = frozenset({NotificationKind.INITIAL_PURCHASE, NotificationKind.RENEWAL})
"""Kinds that begin a period of a subscription."""

PURCHASE_KINDS: Final = PERIOD_START_KINDS | {NotificationKind.NON_RENEWING_PURCHASE}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppStoreNotification:
    """The content of a notification; None for what it does not contain.

    Attributes:
        notified_at: when the service sent it; the state of a subscription holds since then.
        subscription_id: the first transaction of the subscription, the same through all renewals.
        plan: what was bought, for people.
        trial: whether the period is a free trial.
        converts_trial: whether a renewal is the first payment after a trial.
        price: of the transaction in major units of ``currency``, below zero for a refund.
        commission: share of the price that the store keeps.
        purchased_at, expires_at: begin and end of the period.
        reason: of a cancellation or an expiration, in the words of the store.
        properties: what else is worth keeping with the event.
    """

    id: str
    kind: NotificationKind
    notified_at: datetime
    subscription_id: str | None = None
    transaction_id: str | None = None
    product_id: str | None = None
    plan: str | None = None
    trial: bool = False
    converts_trial: bool = False
    price: Decimal | None = None
    currency: str | None = None
    commission: Decimal | None = None
    purchased_at: datetime | None = None
    expires_at: datetime | None = None
    reason: str | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    external_ids: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    test: bool = False

    @property
    def occurred_at(self) -> datetime:
        """Returns the instant of the charge: a store may report it after or before it charges."""
        if self.kind in PURCHASE_KINDS and self.purchased_at is not None:
            return min(self.purchased_at, self.notified_at)
        return self.notified_at

    @property
    def concerns_subscription(self) -> bool:
        """Whether it is about a subscription: what never ends was bought once."""
        if self.kind in {NotificationKind.CANCELLATION, NotificationKind.REFUND_REVERSED}:
            return self.expires_at is not None
        return self.kind is not NotificationKind.NON_RENEWING_PURCHASE

    @property
    def is_free_trial(self) -> bool:
        """Whether its period is a trial that costs nothing."""
        return self.trial and not self.price

    @property
    def is_refund(self) -> bool:
        """Whether money went back."""
        return self.price is not None and self.price < 0

    @property
    def paid_amount(self) -> int | None:
        """Returns the amount paid, in minor units; None when nothing was paid."""
        if self.price is None or self.price <= 0 or self.currency is None:
            return None
        return to_minor(self.price, self.currency)
