"""Messages about subscriptions: each tells a whole state."""

from datetime import datetime
from typing import Any, Final

from plugins.revenue_stripe.amounts import to_minor_units
from plugins.revenue_stripe.event import PROVIDER, StripeEvent, referenced_id
from plugins.revenue_stripe.pricing import price_subscription_after_lasting_discounts
from service_core.plugin import MappedMessage, MessageFields, SubscriptionState, SubscriptionStatus

_STATUS_BY_NAME: Final = {"incomplete_expired": SubscriptionStatus.EXPIRED} | {
    status.value: status for status in SubscriptionStatus if status is not SubscriptionStatus.EXPIRED
}


def map_started_subscription(event: StripeEvent) -> MappedMessage:
    """Maps a new subscription or trial."""
    state = _subscription_state(event)
    trial = state.status is SubscriptionStatus.TRIALING
    return _message_with_state(event, state, "trial_started" if trial else "subscription_started")


def map_changed_subscription(event: StripeEvent) -> MappedMessage:
    """Maps a changed subscription."""
    return _message_with_state(event, _subscription_state(event), "subscription_changed")


def map_cancelled_subscription(event: StripeEvent) -> MappedMessage:
    """Maps the end of a subscription."""
    return _message_with_state(event, _subscription_state(event), "subscription_cancelled")


def _message_with_state(event: StripeEvent, state: SubscriptionState, event_name: str) -> MappedMessage:
    properties: dict[str, Any] = {
        "subscription_id": state.subscription_id,
        "status": state.status.value,
        "previous_status": event.previous_attributes.text("status"),
        "plan": state.plan,
        "product_id": state.product_id,
        "cancel_at_period_end": state.cancel_at_period_end,
        "cancellation_reason": event.object.object("cancellation_details").text("reason"),
    }
    return event.to_message(event_name, properties, states=(state,))


def _subscription_state(event: StripeEvent) -> SubscriptionState:
    about, currency = event.object, event.required_currency()
    status = _STATUS_BY_NAME.get(about.required_text("status"))
    if status is None:
        raise ValueError(f"the status {about.text('status')} is unknown")
    items, cost = about.object("items").objects("data"), price_subscription_after_lasting_discounts(about)
    period_end = about.epoch_seconds("current_period_end") or max(
        (end for item in items if (end := item.epoch_seconds("current_period_end"))), default=None
    )
    price = items[0].object("price") if items else MessageFields({})
    return SubscriptionState(
        provider=PROVIDER,
        account_id=event.account_id,
        subscription_id=about.required_text("id"),
        message_id=event.id,
        at=event.occurred_at,
        status=status,
        amount=None if cost.amount is None else to_minor_units(cost.amount, currency),
        currency=currency,
        interval=cost.interval,
        interval_count=cost.count,
        quantity=cost.quantity,
        started_at=about.epoch_seconds("start_date") or about.epoch_seconds("created"),
        plan=price.text("nickname") or price.text("lookup_key") or price.text("id"),
        product_id=referenced_id(price, "product"),
        trial_ends_at=about.epoch_seconds("trial_end"),
        current_period_end=period_end,
        cancel_at_period_end=_ends_with_period(about, period_end),
        canceled_at=about.epoch_seconds("canceled_at"),
        ended_at=about.epoch_seconds("ended_at"),
        test=event.test,
    )


def _ends_with_period(subscription: MessageFields, period_end: datetime | None) -> bool:
    """Returns whether it is cancelled at the end of the paid period, by flag or by date."""
    cancel_at = subscription.epoch_seconds("cancel_at")
    return subscription.is_true("cancel_at_period_end") or (cancel_at is not None and cancel_at == period_end)
