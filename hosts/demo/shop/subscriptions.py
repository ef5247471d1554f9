"""The coffee club of the example shop, as messages that a payment provider sends. Pure functions of the current time."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from service_core.commerce.providers.models import WebhookDelivery

PROVIDER: Final = "stripe"
SEED: Final = 21
EARLIER_SUBSCRIBERS: Final = 12
"""Subscribers from before the first visit."""

_MONTH: Final = timedelta(days=30)
_TRIAL: Final = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan with its monthly price in minor units."""

    product: str
    name: str
    amount: int


CLUB: Final = Plan("club", "Coffee club", 1900)
CLUB_PLUS: Final = Plan("club-plus", "Coffee club plus", 3400)


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A customer who subscribes; ``user_id`` is None for one who never visited the site."""

    number: int
    email: str
    begins_at: datetime
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Course:
    """What happens to a subscription: its trial, its change of plan, its failed payment and its end.

    Attributes:
        upgrade_after, failure_after, end_after: number of paid months before it; None for never.
    """

    has_trial: bool
    upgrade_after: int | None
    failure_after: int | None
    end_after: int | None


def subscription_deliveries(subscribers: Sequence[Subscriber], now: datetime) -> list[WebhookDelivery]:
    """Returns all messages about the subscriptions, oldest first; none is later than ``now``."""
    random = Random(SEED)  # noqa: S311 - invented subscriptions, no secret
    messages = [
        message
        for subscriber in (*_earlier_subscribers(random, now), *subscribers)
        for message in _messages_of_subscriber(subscriber, _choose_course(random), now)
    ]
    return [
        WebhookDelivery({}, json.dumps(message).encode(), now)
        for message in sorted(messages, key=lambda message: int(message["created"]))
    ]


def _earlier_subscribers(random: Random, now: datetime) -> list[Subscriber]:
    return [
        Subscriber(
            number, f"subscriber{number}@example.com", now - timedelta(days=random.randint(62, 170), hours=5)
        )
        for number in range(1, EARLIER_SUBSCRIBERS + 1)
    ]


def _choose_course(random: Random) -> _Course:
    return _Course(
        has_trial=random.random() < 0.3,  # noqa: PLR2004
        upgrade_after=random.choice((None, None, None, 1, 2)),
        failure_after=random.choice((None, None, None, None, 2)),
        end_after=random.choice((None, None, None, 1, 3, 4)),
    )


def _messages_of_subscriber(
    subscriber: Subscriber, course: _Course, now: datetime
) -> Iterator[dict[str, Any]]:
    """Yields the messages of one subscription until now, or until it ends."""
    story = _Subscription(subscriber)
    at = subscriber.begins_at
    if course.has_trial and at <= now:
        yield story.state("created", at, CLUB, "trialing", trial_end=int((at + _TRIAL).timestamp()))
        at += _TRIAL
    for month in range(12):
        if at > now:
            return
        if month == course.end_after:
            ended = int(at.timestamp())
            yield story.state("deleted", at, CLUB, "canceled", canceled_at=ended, ended_at=ended)
            return
        plan = CLUB_PLUS if course.upgrade_after is not None and month >= course.upgrade_after else CLUB
        yield story.state("updated" if month or course.has_trial else "created", at, plan)
        paid_at = at
        if month == course.failure_after:
            yield story.failed_invoice(month, at, plan)
            paid_at = at + timedelta(days=3)
        if paid_at <= now:
            yield from story.paid_invoice_with_fee(month, paid_at, plan)
        at += _MONTH


class _Subscription:
    """The messages about one subscription."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._id = f"sub_demo_{subscriber.number}"
        self._customer = f"cus_demo_{subscriber.number}"
        self._messages = 0

    def state(
        self, change: str, at: datetime, plan: Plan, status: str = "active", **more: Any
    ) -> dict[str, Any]:
        """Returns the message of a new state of the subscription."""
        price = {
            "id": f"price_{plan.product}", "unit_amount": plan.amount, "product": plan.product, "nickname": plan.name,
            "recurring": {"interval": "month", "interval_count": 1, "usage_type": "licensed"},
        }  # fmt: skip
        about = {
            "id": self._id, "object": "subscription", "status": status, "currency": "usd", "customer": self._customer,
            "start_date": int(self._subscriber.begins_at.timestamp()),
            "current_period_end": int((at + _MONTH).timestamp()), "cancel_at_period_end": False,
            "items": {"data": [{"price": price, "quantity": 1}]}, "metadata": self._metadata, **more,
        }  # fmt: skip
        return self._build_stripe_event(f"customer.subscription.{change}", at, about)

    def paid_invoice_with_fee(self, month: int, at: datetime, plan: Plan) -> Iterator[dict[str, Any]]:
        """Yields the message of a paid month, and of the fee of its payment."""
        invoice = self._build_invoice(month, plan)
        yield self._build_stripe_event(
            "invoice.payment_succeeded", at, invoice | {"amount_paid": plan.amount}
        )
        charge = {
            "id": f"ch_{invoice['id']}", "object": "charge", "amount": plan.amount, "currency": "usd",
            "created": int(at.timestamp()), "customer": self._customer, "payment_intent": invoice["payment_intent"],
            "invoice": invoice["id"],
        }  # fmt: skip
        yield {
            "id": f"txn_{invoice['id']}", "object": "balance_transaction", "created": int(at.timestamp()),
            "amount": plan.amount, "currency": "usd", "fee": round(plan.amount * 0.029) + 30, "source": charge,
        }  # fmt: skip

    def failed_invoice(self, month: int, at: datetime, plan: Plan) -> dict[str, Any]:
        """Returns the message of a month that could not be paid at first."""
        return self._build_stripe_event(
            "invoice.payment_failed", at, self._build_invoice(month, plan) | {"attempt_count": 1}
        )

    @property
    def _metadata(self) -> dict[str, str]:
        return {"user_id": self._subscriber.user_id} if self._subscriber.user_id else {}

    def _build_invoice(self, month: int, plan: Plan) -> dict[str, Any]:
        line = {
            "amount": plan.amount, "quantity": 1,
            "price": {"id": f"price_{plan.product}", "product": plan.product, "unit_amount_decimal": str(plan.amount)},
        }  # fmt: skip
        id_ = f"in_demo_{self._subscriber.number}_{month}"
        return {
            "id": id_, "object": "invoice", "amount_due": plan.amount, "subtotal": plan.amount, "currency": "usd",
            "customer": self._customer, "customer_email": self._subscriber.email, "payment_intent": f"pi_{id_}",
            "subscription": self._id, "subscription_details": {"metadata": self._metadata},
            "billing_reason": "subscription_cycle" if month else "subscription_create",
            "total_taxes": [], "total_discount_amounts": [], "shipping_cost": None,
            "lines": {"has_more": False, "data": [line]},
        }  # fmt: skip

    def _build_stripe_event(self, kind: str, at: datetime, about: dict[str, Any]) -> dict[str, Any]:
        self._messages += 1
        return {
            "id": f"evt_demo_{self._subscriber.number}_{self._messages}", "object": "event", "type": kind,
            "created": int(at.timestamp()), "livemode": True, "data": {"object": about},
        }  # fmt: skip
