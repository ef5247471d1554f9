"""What a message of an app store says of its subscription."""

from dataclasses import replace

from service_core.commerce.providers.app_stores.model import (
    BILLING_REASON,
    PAUSED_REASON,
    AppStoreKind,
    AppStoreMessage,
)
from service_core.commerce.providers.app_stores.periods import period_of
from service_core.commerce.subscriptions.model import SubscriptionState, SubscriptionStatus


def states(message: AppStoreMessage, provider: str, account_id: str) -> tuple[SubscriptionState, ...]:
    """The state it tells, if any.

    A changed product holds from the renewal that pays for it, and a transfer names no subscription.
    """
    if message.subscription_id is None or not message.is_of_subscription:
        return ()
    state = _told(message, _running(message, message.subscription_id, provider, account_id))
    return () if state is None else (state,)


def _told(message: AppStoreMessage, running: SubscriptionState) -> SubscriptionState | None:
    state: SubscriptionState | None = None
    match message.kind:
        case AppStoreKind.INITIAL_PURCHASE | AppStoreKind.RENEWAL:
            state = _priced(running, message)
        case AppStoreKind.UNCANCELLATION | AppStoreKind.SUBSCRIPTION_EXTENDED:
            state = running
        case AppStoreKind.BILLING_ISSUE:
            state = replace(running, status=SubscriptionStatus.PAST_DUE)
        case AppStoreKind.CANCELLATION:
            state = _cancelled(running, message)
        case AppStoreKind.EXPIRATION:
            state = _ended(running, message)
        case AppStoreKind.SUBSCRIPTION_PAUSED:
            state = _paused(running, message)
        case AppStoreKind.REFUND_REVERSED if not _is_over(message):
            state = running
    return state


def _running(
    message: AppStoreMessage, subscription_id: str, provider: str, account_id: str
) -> SubscriptionState:
    return SubscriptionState(
        provider=provider,
        account_id=account_id,
        subscription_id=subscription_id,
        message_id=message.id,
        at=message.told_at,
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


def _priced(running: SubscriptionState, message: AppStoreMessage) -> SubscriptionState:
    """With the price of the period that begins; one that costs nothing does not say it."""
    begun = message.purchased_at or message.told_at
    first = message.kind is AppStoreKind.INITIAL_PURCHASE
    if message.paid is None:
        return replace(running, started_at=begun if first else None)
    interval, count = period_of(begun, message.expires_at)
    return replace(
        running,
        amount=message.paid,
        interval=interval,
        interval_count=count,
        started_at=begun if first else None,
    )


def _cancelled(running: SubscriptionState, message: AppStoreMessage) -> SubscriptionState | None:
    """Not renewed any more. A failed payment ends nothing yet, and a refund only what is over by it."""
    if message.reason == BILLING_REASON:
        return replace(running, status=SubscriptionStatus.PAST_DUE)
    if message.is_refund:
        return _ended(running, message) if _is_over(message) else None
    return replace(
        running, cancel_at_period_end=True, canceled_at=message.told_at, ended_at=message.expires_at
    )


def _ended(running: SubscriptionState, message: AppStoreMessage) -> SubscriptionState:
    paused = message.reason == PAUSED_REASON
    return replace(
        running,
        status=SubscriptionStatus.PAUSED if paused else SubscriptionStatus.EXPIRED,
        ended_at=None if paused else message.expires_at or message.told_at,
    )


def _paused(running: SubscriptionState, message: AppStoreMessage) -> SubscriptionState:
    """A pause begins where the paid period ends."""
    begins = max(message.told_at, message.expires_at or message.told_at)
    return replace(running, status=SubscriptionStatus.PAUSED, at=begins)


def _is_over(message: AppStoreMessage) -> bool:
    return message.expires_at is None or message.expires_at <= message.told_at
