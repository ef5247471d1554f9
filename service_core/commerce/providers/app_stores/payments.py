"""Maps app store notifications to payments of subscriptions."""

from service_core.commerce.providers.app_stores.models import AppStoreNotification, NotificationKind
from service_core.commerce.subscriptions.models import PaymentKind, SubscriptionPayment


def subscription_payments(
    notification: AppStoreNotification, provider: str, account_id: str
) -> tuple[SubscriptionPayment, ...]:
    """Returns the charge or failed payment of a subscription, if there is one; a cancellation after a failure adds none."""
    failed = notification.kind is NotificationKind.BILLING_ISSUE
    if notification.subscription_id is None or not notification.concerns_subscription:
        return ()
    if not failed and notification.paid_amount is None:
        return ()
    return (
        SubscriptionPayment(
            provider=provider,
            account_id=account_id,
            subscription_id=notification.subscription_id,
            message_id=notification.id,
            at=notification.occurred_at,
            kind=PaymentKind.FAILED_PAYMENT if failed else PaymentKind.CHARGE,
            amount=notification.paid_amount,
            currency=notification.currency if notification.paid_amount is not None else None,
            test=notification.test,
        ),
    )
