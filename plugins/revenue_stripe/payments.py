"""Messages about money: payments, invoices, Checkout sessions, refunds and disputes.

The id of an order is the ``order_id`` of its metadata, else its invoice, else its payment. Which of them a
message tells differs; what all of one payment share is the id of the payment, or of the invoice.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from plugins.revenue_stripe.amounts import format_amount, to_minor_units
from plugins.revenue_stripe.event import StripeEvent, referenced_id, subscription_details
from plugins.revenue_stripe.line_items import sold_invoice_items_unless_truncated
from service_core.plugin import (
    RENEWAL_PROPERTY,
    MappedMessage,
    MessageFields,
    PaymentKind,
    SubscriptionPayment,
)

PURCHASE: Final = "purchase"
REFUND: Final = "refund"
_INVOICE_PREFIX: Final = "in_"
_RENEWAL_REASON: Final = "subscription_cycle"
_ZERO: Final = Decimal(0)


def map_succeeded_payment_as_purchase_net_of_tax_and_shipping(event: StripeEvent) -> MappedMessage:
    """Maps a succeeded payment; tax and shipping are included if Stripe knows them."""
    about, details = event.object, event.object.object("amount_details")
    payment = about.required_text("id")
    properties = {
        **_net_charge_properties(
            event,
            event.required_amount_in_stripe_units("amount_received"),
            tax=details.object("tax").number("total_tax_amount"),
            shipping=details.object("shipping").number("amount"),
            discount=details.number("discount_amount"),
        ),
        **order_ids(about, payment, invoice_id_of_any_api_version(about) or payment),
    }
    return event.to_message(PURCHASE, properties, payment_id=payment)


def map_paid_or_free_invoice(event: StripeEvent) -> MappedMessage:
    """Maps a paid invoice to a purchase; one over nothing, as of a trial, gives no event."""
    about, paid = event.object, event.required_amount_in_stripe_units("amount_paid")
    discount = _sum_if_listed(about, "total_discount_amounts")
    payment, subscription = _invoice_payment_id(about), _subscription_id_of_any_api_version(about)
    if paid == 0 and not discount and (about.number("subtotal") or _ZERO) <= 0:
        return event.to_message(None, {"subscription_id": subscription}, payment_id=payment)
    tax, shipping = _invoice_tax_of_any_api_version(about), _invoice_shipping(about)
    properties = {
        **_net_charge_properties(event, paid, tax=tax, shipping=shipping, discount=discount),
        **order_ids(about, payment, about.required_text("id")),
        "subscription_id": subscription,
        "billing_reason": about.text("billing_reason"),
        RENEWAL_PROPERTY: True if about.text("billing_reason") == _RENEWAL_REASON else None,
        "items": sold_invoice_items_unless_truncated(about, event.required_currency()) or None,
    }
    paid_amounts = _payments_if_of_subscription(
        event, subscription, PaymentKind.CHARGE, _amount_net_of_tax_and_shipping(paid, tax, shipping)
    )
    return event.to_message(PURCHASE, properties, payment_id=payment, payments=paid_amounts)


def map_failed_invoice(event: StripeEvent) -> MappedMessage:
    """Maps an invoice that could not be paid to a failed payment without revenue."""
    about, due, currency = (
        event.object,
        event.required_amount_in_stripe_units("amount_due"),
        event.required_currency(),
    )
    subscription = _subscription_id_of_any_api_version(about)
    properties = {
        "amount_due": format_amount(due, currency),
        "currency": currency,
        "invoice_id": about.required_text("id"),
        "subscription_id": subscription,
        "attempts": None if (attempts := about.number("attempt_count")) is None else int(attempts),
    }
    paid_amounts = _payments_if_of_subscription(
        event,
        subscription,
        PaymentKind.FAILED_PAYMENT,
        _amount_net_of_tax_and_shipping(due, _invoice_tax_of_any_api_version(about), None),
    )
    return event.to_message("billing_failed", properties, payments=paid_amounts)


def map_checkout_session_as_purchase_if_paid(event: StripeEvent) -> MappedMessage:
    """Maps a completed Checkout session: to a purchase if it is paid, else to its ids only."""
    about, totals = event.object, event.object.object("total_details")
    session, payment = about.required_text("id"), referenced_id(about, "payment_intent")
    status, mode = about.text("payment_status"), about.text("mode")
    if status != "paid" and not (status == "no_payment_required" and mode == "payment"):
        return event.to_message(None, payment_id=payment, checkout_session_id=session)
    properties = {
        **_net_charge_properties(
            event,
            event.required_amount_in_stripe_units("amount_total"),
            tax=totals.number("amount_tax"),
            shipping=totals.number("amount_shipping"),
            discount=totals.number("amount_discount"),
        ),
        **order_ids(about, payment, payment or referenced_id(about, "invoice") or session),
        "checkout_session_id": session,
        "subscription_id": referenced_id(about, "subscription"),
    }
    return event.to_message(PURCHASE, properties, payment_id=payment, checkout_session_id=session)


def map_newly_refunded_amount(event: StripeEvent) -> MappedMessage:
    """Maps the amount of a charge that was refunded since the previous event of it."""
    about = event.object
    back = event.required_amount_in_stripe_units("amount_refunded") - (
        event.previous_attributes.number("amount_refunded") or _ZERO
    )
    payment = referenced_id(about, "payment_intent")
    properties = {
        **_positive_refund_properties(event, back),
        **order_ids(
            about, payment, invoice_id_of_any_api_version(about) or payment or about.required_text("id")
        ),
        "charge_id": about.required_text("id"),
    }
    return event.to_message(REFUND, properties, payment_id=payment)


def map_dispute_as_refund_if_lost(event: StripeEvent) -> MappedMessage:
    """Maps a lost dispute to a refund; one that was won or withdrawn gives no event."""
    about = event.object
    if about.text("status") != "lost":
        return MappedMessage(event.id, None, event.occurred_at)
    payment, charge = referenced_id(about, "payment_intent"), referenced_id(about, "charge")
    properties = {
        **_positive_refund_properties(event, event.required_amount_in_stripe_units("amount")),
        **order_ids(about, payment, payment or charge),
        "charge_id": charge,
        "dispute_id": about.required_text("id"),
        "reason": about.text("reason"),
    }
    return event.to_message(REFUND, properties, payment_id=payment)


def _net_charge_properties(
    event: StripeEvent,
    paid: Decimal,
    *,
    tax: Decimal | None,
    shipping: Decimal | None,
    discount: Decimal | None,
) -> dict[str, str]:
    """Returns the amounts of a charge, net of tax and shipping; unknown ones are left out."""
    currency = event.required_currency()
    parts = {"tax": tax, "shipping": shipping, "discount": discount}
    known = {
        name: format_amount(part, currency) for name, part in parts.items() if part is not None and part >= 0
    }
    return {
        "revenue": format_amount(_amount_net_of_tax_and_shipping(paid, tax, shipping), currency),
        "currency": currency,
        **known,
    }


def _positive_refund_properties(event: StripeEvent, amount: Decimal) -> dict[str, str]:
    if amount <= 0:
        raise ValueError("nothing was given back")
    currency = event.required_currency()
    return {"revenue": format_amount(-amount, currency), "currency": currency}


def _amount_net_of_tax_and_shipping(paid: Decimal, tax: Decimal | None, shipping: Decimal | None) -> Decimal:
    """Returns the amount without tax and shipping, at least 0: a credit may have paid a part of them."""
    return max(paid - (tax or _ZERO) - (shipping or _ZERO), _ZERO)


def order_ids(
    subject: MessageFields, payment_id: str | None, fallback_order_id: str | None
) -> dict[str, str | None]:
    """Returns order and payment id; an ``order_id`` in the metadata takes precedence."""
    named = subject.object("metadata").text("order_id")
    return {
        "order_id": named or fallback_order_id,
        "payment_id": payment_id or (fallback_order_id if named else None),
    }


def _invoice_tax_of_any_api_version(invoice: MessageFields) -> Decimal | None:
    """Returns the tax of an invoice, in API versions since 2025-03-31 and before; 0 if it is null, None if it is not listed."""
    for name in ("total_taxes", "total_tax_amounts"):
        if invoice.objects(name):
            return _sum_amounts(invoice.objects(name))
    listed_fields = {"total_taxes", "total_tax_amounts", "tax"} & invoice.values.keys()
    return (invoice.number("tax") or _ZERO) if listed_fields else None


def _invoice_shipping(invoice: MessageFields) -> Decimal | None:
    """Returns the shipping before tax; 0 for an explicit null, None if it is not listed."""
    subtotal = invoice.object("shipping_cost").number("amount_subtotal")
    return _ZERO if subtotal is None and invoice.values.get("shipping_cost", "absent") is None else subtotal


def _sum_if_listed(about: MessageFields, name: str) -> Decimal | None:
    """Returns the sum of a list of amounts: 0 for an empty one, None if there is none."""
    return _sum_amounts(about.objects(name)) if name in about.values else None


def _sum_amounts(parts: Iterable[MessageFields]) -> Decimal:
    return sum((part.number("amount") or _ZERO for part in parts), _ZERO)


def invoice_id_of_any_api_version(about: MessageFields) -> str | None:
    """Returns the invoice of a payment or charge, in API versions before 2025-03-31 and since."""
    order_reference = about.object("payment_details").text("order_reference") or ""
    return referenced_id(about, "invoice") or (
        order_reference if order_reference.startswith(_INVOICE_PREFIX) else None
    )


def _invoice_payment_id(invoice: MessageFields) -> str | None:
    payments = invoice.object("payments").objects("data")
    payment_ids = [referenced_id(payment.object("payment"), "payment_intent") for payment in payments]
    return referenced_id(invoice, "payment_intent") or next(filter(None, payment_ids), None)


def _subscription_id_of_any_api_version(invoice: MessageFields) -> str | None:
    since, before = (
        referenced_id(subscription_details(invoice)[0], "subscription"),
        referenced_id(invoice, "subscription"),
    )
    return since or before


def _payments_if_of_subscription(
    event: StripeEvent,
    subscription_id: str | None,
    payment_kind: PaymentKind,
    amount_in_stripe_units: Decimal,
) -> tuple[SubscriptionPayment, ...]:
    if subscription_id is None:
        return ()
    currency = event.required_currency()
    return (
        SubscriptionPayment(
            provider="stripe",
            account_id=event.account_id,
            subscription_id=subscription_id,
            message_id=event.id,
            at=event.occurred_at,
            kind=payment_kind,
            amount=to_minor_units(amount_in_stripe_units, currency),
            currency=currency,
            test=event.test,
        ),
    )
