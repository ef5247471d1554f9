"""Messages about subscriptions: each tells a whole state."""

from datetime import datetime
from typing import Any, Final

from plugins.revenue_stripe.amounts import minor
from plugins.revenue_stripe.event import PROVIDER, StripeEvent, reference
from plugins.revenue_stripe.pricing import priced
from service_core.plugin import Mapped, MessageFields, SubscriptionState, SubscriptionStatus

_STATUS: Final = {"incomplete_expired": SubscriptionStatus.EXPIRED} | {
    status.value: status for status in SubscriptionStatus if status is not SubscriptionStatus.EXPIRED
}


def subscription_started(event: StripeEvent) -> Mapped:
    """A new subscription, or a trial."""
    state = _state(event)
    trial = state.status is SubscriptionStatus.TRIALING
    return _told(event, state, "trial_started" if trial else "subscription_started")


def subscription_changed(event: StripeEvent) -> Mapped:
    """Anything about it is another than before."""
    return _told(event, _state(event), "subscription_changed")


def subscription_cancelled(event: StripeEvent) -> Mapped:
    """It is over."""
    return _told(event, _state(event), "subscription_cancelled")


def _told(event: StripeEvent, state: SubscriptionState, event_name: str) -> Mapped:
    properties: dict[str, Any] = {
        "subscription_id": state.subscription_id,
        "status": state.status.value,
        "previous_status": event.before.text("status"),
        "plan": state.plan,
        "product_id": state.product_id,
        "cancel_at_period_end": state.cancel_at_period_end,
        "cancellation_reason": event.about.inner("cancellation_details").text("reason"),
    }
    return event.mapped(event_name, properties, states=(state,))


def _state(event: StripeEvent) -> SubscriptionState:
    about, currency = event.about, event.currency()
    status = _STATUS.get(about.required("status"))
    if status is None:
        raise ValueError(f"the status {about.text('status')} is unknown")
    items, cost = about.inner("items").inners("data"), priced(about)
    period_end = about.seconds("current_period_end") or max(
        (end for item in items if (end := item.seconds("current_period_end"))), default=None
    )
    price = items[0].inner("price") if items else MessageFields({})
    return SubscriptionState(
        provider=PROVIDER,
        account_id=event.account_id,
        subscription_id=about.required("id"),
        message_id=event.id,
        at=event.at,
        status=status,
        amount=None if cost.amount is None else minor(cost.amount, currency),
        currency=currency,
        interval=cost.interval,
        interval_count=cost.count,
        quantity=cost.quantity,
        started_at=about.seconds("start_date") or about.seconds("created"),
        plan=price.text("nickname") or price.text("lookup_key") or price.text("id"),
        product_id=reference(price, "product"),
        trial_ends_at=about.seconds("trial_end"),
        current_period_end=period_end,
        cancel_at_period_end=_ends_with_period(about, period_end),
        canceled_at=about.seconds("canceled_at"),
        ended_at=about.seconds("ended_at"),
        test=event.test,
    )


def _ends_with_period(about: MessageFields, period_end: datetime | None) -> bool:
    """Whether somebody ended it while it is paid for; newer accounts name the day instead of saying so."""
    cancel_at = about.seconds("cancel_at")
    return about.flag("cancel_at_period_end") or (cancel_at is not None and cancel_at == period_end)
