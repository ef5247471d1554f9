"""Maps Stripe events to messages. Pure functions."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from plugins.revenue_stripe import payments, subscriptions
from plugins.revenue_stripe.event import StripeEvent
from plugins.revenue_stripe.fees import BALANCE_TRANSACTION, map_balance_transaction
from service_core.plugin import MappedMessage, MessageFields


def map_customer(event: StripeEvent) -> MappedMessage:
    """Maps a customer to a message with ids only."""
    return event.to_message(None)


MAPPERS_BY_TYPE: Final[Mapping[str, Callable[[StripeEvent], MappedMessage]]] = MappingProxyType(
    {
        "charge.dispute.closed": payments.map_dispute_as_refund_if_lost,
        "charge.refunded": payments.map_newly_refunded_amount,
        "checkout.session.completed": payments.map_checkout_session_as_purchase_if_paid,
        "customer.created": map_customer,
        "customer.subscription.created": subscriptions.map_started_subscription,
        "customer.subscription.deleted": subscriptions.map_cancelled_subscription,
        "customer.subscription.updated": subscriptions.map_changed_subscription,
        "invoice.payment_failed": payments.map_failed_invoice,
        "invoice.payment_succeeded": payments.map_paid_or_free_invoice,
        "payment_intent.succeeded": payments.map_succeeded_payment_as_purchase_net_of_tax_and_shipping,
    }
)
"""The kinds of message to send to the webhook endpoint."""


def map_message(message: Mapping[str, Any], account_id: str) -> MappedMessage:
    """Returns the mapped message of an event of Stripe, or of a balance transaction.

    Raises:
        ValueError: it is not what Stripe documents.
    """
    if message.get("object") == BALANCE_TRANSACTION:
        return map_balance_transaction(MessageFields(message))
    event = StripeEvent.parse(message, account_id)
    mapper = MAPPERS_BY_TYPE.get(event.kind)
    return MappedMessage(event.id, None, event.occurred_at) if mapper is None else mapper(event)
