"""A message of Stripe as what it says. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from plugins.revenue_stripe import payments, subscriptions
from plugins.revenue_stripe.event import StripeEvent
from service_core.plugin import Mapped


def customer_created(event: StripeEvent) -> Mapped:
    """A customer, for the ids it brings."""
    return event.mapped(None)


KINDS: Final[Mapping[str, Callable[[StripeEvent], Mapped]]] = MappingProxyType(
    {
        "charge.dispute.closed": payments.dispute_closed,
        "charge.refunded": payments.charge_refunded,
        "checkout.session.completed": payments.session_completed,
        "customer.created": customer_created,
        "customer.subscription.created": subscriptions.subscription_started,
        "customer.subscription.deleted": subscriptions.subscription_cancelled,
        "customer.subscription.updated": subscriptions.subscription_changed,
        "invoice.payment_failed": payments.invoice_failed,
        "invoice.payment_succeeded": payments.invoice_paid,
        "payment_intent.succeeded": payments.payment_succeeded,
    }
)
"""The kinds of message to send to the webhook endpoint."""


def mapped(message: Mapping[str, Any], account_id: str) -> Mapped:
    """What an event of Stripe says.

    Raises:
        ValueError: it is not what Stripe documents.
    """
    event = StripeEvent.of(message, account_id)
    read = KINDS.get(event.kind)
    return Mapped(event.id, None, event.at) if read is None else read(event)
