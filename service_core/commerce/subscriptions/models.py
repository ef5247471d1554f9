"""Subscription states and payments, as providers report them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SubscriptionStatus(StrEnum):
    """Status of a subscription."""

    TRIALING = "trialing"
    ACTIVE = "active"
    PAST_DUE = "past_due"
    PAUSED = "paused"
    CANCELED = "canceled"
    EXPIRED = "expired"
    UNPAID = "unpaid"
    INCOMPLETE = "incomplete"


class Interval(StrEnum):
    """Billing interval of a price."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class SubscriptionState:
    """State of a subscription by one message of a provider: valid from ``at`` until the next state.

    Its natural key is provider, account, subscription and ``message_id``. States come in any order
    and any number of times. A message of an app store's cancellation names no price: what it does not
    say is None here, and its last value holds (`carry_unreported_fields_forward`).

    Attributes:
        at: since when it holds.
        message_id: the provider's id of the message; ties of ``at`` are in its order.
        amount: price of one unit for ``interval_count`` intervals, in minor units; discounts for ever
            are taken off, others, taxes and metered amounts are not in it; None when it is not said.
        interval, started_at, plan, product_id, trial_ends_at, current_period_end: None when not said.
        identity: ids the person is known by, as in the properties of an event: ``visitor_id``,
            ``user_id``, ``email`` ...
        canceled_at: when it was canceled; it lasts until ``ended_at``, the end of the last paid period.
    """

    provider: str
    account_id: str
    subscription_id: str
    message_id: str
    at: datetime
    status: SubscriptionStatus
    amount: int | None
    currency: str | None
    interval: Interval | None
    started_at: datetime | None
    interval_count: int = 1
    quantity: int = 1
    plan: str | None = None
    product_id: str | None = None
    trial_ends_at: datetime | None = None
    current_period_end: datetime | None = None
    cancel_at_period_end: bool = False
    canceled_at: datetime | None = None
    ended_at: datetime | None = None
    identity: tuple[tuple[str, str], ...] = ()
    test: bool = False


class PaymentKind(StrEnum):
    """An event of a subscription that does not change its state."""

    CHARGE = "charge"
    FAILED_PAYMENT = "failed_payment"


@dataclass(frozen=True, slots=True)
class SubscriptionPayment:
    """A charge of a subscription, or a charge that failed, once per message.

    Attributes:
        amount: in minor units, without tax; None with its currency when a failed payment does not say it.
    """

    provider: str
    account_id: str
    subscription_id: str
    message_id: str
    at: datetime
    kind: PaymentKind
    amount: int | None
    currency: str | None
    test: bool = False
