"""Maps app store notifications to payments of subscriptions."""

from service_core.commerce.providers.app_stores.models import AppStoreNotification, NotificationKind
from service_core.commerce.subscriptions.models import PaymentKind, SubscriptionPayment


def subscription_payments(
    message: AppStoreNotification, provider: str, account_id: str
) -> tuple[SubscriptionPayment, ...]:
    """Returns the charge or failed payment of a subscription, if there is one; a cancellation after a failure adds none."""
    failed = message.kind is NotificationKind.BILLING_ISSUE
    if message.subscription_id is None or not message.concerns_subscription:
        return ()
    if not failed and message.paid_amount is None:
        return ()
    return (
        SubscriptionPayment(
            provider=provider,
            account_id=account_id,
            subscription_id=message.subscription_id,
            message_id=message.id,
            at=message.occurred_at,
            kind=PaymentKind.FAILED_PAYMENT if failed else PaymentKind.CHARGE,
            amount=message.paid_amount,
            currency=message.currency if message.paid_amount is not None else None,
            test=message.test,
        ),
    )
