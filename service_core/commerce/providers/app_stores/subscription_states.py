"""Maps app store notifications to subscription states."""

from dataclasses import replace

from service_core.commerce.providers.app_stores.billing_interval import nearest_billing_interval
from service_core.commerce.providers.app_stores.models import (
    BILLING_REASON,
    PAUSED_REASON,
    AppStoreNotification,
    NotificationKind,
)
from service_core.commerce.subscriptions.models import SubscriptionState, SubscriptionStatus


def subscription_states(
    notification: AppStoreNotification, provider: str, account_id: str
) -> tuple[SubscriptionState, ...]:
    """Returns the subscription state of a notification, if it has one.

    A changed product holds from the renewal that pays for it, and a transfer names no subscription.
    """
    if notification.subscription_id is None or not notification.concerns_subscription:
        return ()
    state = _state_after_notification(
        notification,
        _active_or_trialing_state(notification, notification.subscription_id, provider, account_id),
    )
    return () if state is None else (state,)


def _state_after_notification(
    message: AppStoreNotification, active_state: SubscriptionState
) -> SubscriptionState | None:
    state: SubscriptionState | None = None
    match message.kind:
        case NotificationKind.INITIAL_PURCHASE | NotificationKind.RENEWAL:
            state = _with_price_of_started_period(active_state, message)
        case NotificationKind.UNCANCELLATION | NotificationKind.SUBSCRIPTION_EXTENDED:
            state = active_state
        case NotificationKind.BILLING_ISSUE:
            state = replace(active_state, status=SubscriptionStatus.PAST_DUE)
        case NotificationKind.CANCELLATION:
            state = _canceled_past_due_or_ended_state(active_state, message)
        case NotificationKind.EXPIRATION:
            state = _expired_or_paused_state(active_state, message)
        case NotificationKind.SUBSCRIPTION_PAUSED:
            state = _paused_state(active_state, message)
        case NotificationKind.REFUND_REVERSED if not _is_expired(message):
            state = active_state
    return state


def _active_or_trialing_state(
    message: AppStoreNotification, subscription_id: str, provider: str, account_id: str
) -> SubscriptionState:
    return SubscriptionState(
        provider=provider,
        account_id=account_id,
        subscription_id=subscription_id,
        message_id=message.id,
        at=message.notified_at,
        status=SubscriptionStatus.TRIALING if message.is_free_trial else SubscriptionStatus.ACTIVE,
        amount=None,
        currency=message.currency,
        interval=None,
        started_at=None,
        plan=message.plan,
        product_id=message.product_id,
        trial_ends_at=message.expires_at if message.trial else None,
        current_period_end=message.expires_at,
        test=message.test,
    )


def _with_price_of_started_period(
    active: SubscriptionState, message: AppStoreNotification
) -> SubscriptionState:
    """Returns the state with price and interval of the period that begins; a free period has none."""
    begun = message.purchased_at or message.notified_at
    first = message.kind is NotificationKind.INITIAL_PURCHASE
    if message.paid_amount is None:
        return replace(active, started_at=begun if first else None)
    interval, count = nearest_billing_interval(begun, message.expires_at)
    return replace(
        active,
        amount=message.paid_amount,
        interval=interval,
        interval_count=count,
        started_at=begun if first else None,
    )


def _canceled_past_due_or_ended_state(
    active: SubscriptionState, message: AppStoreNotification
) -> SubscriptionState | None:
    """Returns the state after a cancellation: past due after a failed payment; a refund ends only an expired one."""
    if message.reason == BILLING_REASON:
        return replace(active, status=SubscriptionStatus.PAST_DUE)
    if message.is_refund:
        return _expired_or_paused_state(active, message) if _is_expired(message) else None
    return replace(
        active, cancel_at_period_end=True, canceled_at=message.notified_at, ended_at=message.expires_at
    )


def _expired_or_paused_state(active: SubscriptionState, message: AppStoreNotification) -> SubscriptionState:
    paused = message.reason == PAUSED_REASON
    return replace(
        active,
        status=SubscriptionStatus.PAUSED if paused else SubscriptionStatus.EXPIRED,
        ended_at=None if paused else message.expires_at or message.notified_at,
    )


def _paused_state(active: SubscriptionState, message: AppStoreNotification) -> SubscriptionState:
    """Returns the paused state, which begins at the end of the paid period."""
    begins = max(message.notified_at, message.expires_at or message.notified_at)
    return replace(active, status=SubscriptionStatus.PAUSED, at=begins)


def _is_expired(message: AppStoreNotification) -> bool:
    return message.expires_at is None or message.expires_at <= message.notified_at
