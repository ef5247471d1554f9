"""Charges and failed charges of subscriptions, as messages of app stores tell them."""

from service_core.commerce.providers.app_stores.model import AppStoreKind, AppStoreMessage
from service_core.commerce.subscriptions.model import DeedKind, SubscriptionDeed


def deeds(message: AppStoreMessage, provider: str, account_id: str) -> tuple[SubscriptionDeed, ...]:
    """What was paid, or was not. The cancellation that comes with a failed payment does not count it again."""
    failed = message.kind is AppStoreKind.BILLING_ISSUE
    if message.subscription_id is None or not message.is_of_subscription:
        return ()
    if not failed and message.paid is None:
        return ()
    return (
        SubscriptionDeed(
            provider=provider,
            account_id=account_id,
            subscription_id=message.subscription_id,
            message_id=message.id,
            at=message.at,
            kind=DeedKind.FAILED_PAYMENT if failed else DeedKind.CHARGE,
            amount=message.paid,
            currency=message.currency if message.paid is not None else None,
            test=message.test,
        ),
    )
