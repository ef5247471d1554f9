"""Messages about money: payments, invoices, Checkout sessions, refunds and disputes.

The id of an order is the ``order_id`` of its metadata, else its invoice, else its payment. Which of them a
message tells differs; what all of one payment share is the id of the payment, or of the invoice.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from plugins.revenue_stripe.amounts import minor, written
from plugins.revenue_stripe.event import StripeEvent, reference, subscription_details
from plugins.revenue_stripe.lines import invoiced
from service_core.plugin import DeedKind, Mapped, MessageFields, SubscriptionDeed

PURCHASE: Final = "purchase"
REFUND: Final = "refund"
_INVOICE: Final = "in_"
_NOTHING: Final = Decimal(0)


def payment_succeeded(event: StripeEvent) -> Mapped:
    """A payment; tax and shipping are known where they were told to Stripe."""
    about, details = event.about, event.about.inner("amount_details")
    payment = about.required("id")
    properties = {
        **_money(
            event,
            event.amount("amount_received"),
            tax=details.inner("tax").number("total_tax_amount"),
            shipping=details.inner("shipping").number("amount"),
            discount=details.number("discount_amount"),
        ),
        **_order(about, payment, _invoice(about) or payment),
    }
    return event.mapped(PURCHASE, properties, payment=payment)


def invoice_paid(event: StripeEvent) -> Mapped:
    """A paid invoice, of a subscription or by itself; one over nothing, as of a trial, is no purchase."""
    about, paid = event.about, event.amount("amount_paid")
    discount = _told_sum(about, "total_discount_amounts")
    payment, subscription = _payment_of_invoice(about), _subscription_of_invoice(about)
    if paid == 0 and not discount and (about.number("subtotal") or _NOTHING) <= 0:
        return event.mapped(None, {"subscription_id": subscription}, payment=payment)
    tax, shipping = _tax(about), _shipping(about)
    properties = {
        **_money(event, paid, tax=tax, shipping=shipping, discount=discount),
        **_order(about, payment, about.required("id")),
        "subscription_id": subscription,
        "billing_reason": about.text("billing_reason"),
        "items": invoiced(about, event.currency()) or None,
    }
    deeds = _deeds(event, subscription, DeedKind.CHARGE, _net(paid, tax, shipping))
    return event.mapped(PURCHASE, properties, payment=payment, deeds=deeds)


def invoice_failed(event: StripeEvent) -> Mapped:
    """An invoice that could not be paid; what is due is no revenue."""
    about, due, currency = event.about, event.amount("amount_due"), event.currency()
    subscription = _subscription_of_invoice(about)
    properties = {
        "amount_due": written(due, currency),
        "currency": currency,
        "invoice_id": about.required("id"),
        "subscription_id": subscription,
        "attempts": None if (attempts := about.number("attempt_count")) is None else int(attempts),
    }
    deeds = _deeds(event, subscription, DeedKind.FAILED_PAYMENT, _net(due, _tax(about), None))
    return event.mapped("billing_failed", properties, deeds=deeds)


def session_completed(event: StripeEvent) -> Mapped:
    """A finished Checkout: a purchase when it is paid, and always whose it was."""
    about, totals = event.about, event.about.inner("total_details")
    session, payment = about.required("id"), reference(about, "payment_intent")
    status, mode = about.text("payment_status"), about.text("mode")
    if status != "paid" and not (status == "no_payment_required" and mode == "payment"):
        return event.mapped(None, payment=payment, session=session)
    properties = {
        **_money(
            event,
            event.amount("amount_total"),
            tax=totals.number("amount_tax"),
            shipping=totals.number("amount_shipping"),
            discount=totals.number("amount_discount"),
        ),
        **_order(about, payment, payment or reference(about, "invoice") or session),
        "checkout_session_id": session,
        "subscription_id": reference(about, "subscription"),
    }
    return event.mapped(PURCHASE, properties, payment=payment, session=session)


def charge_refunded(event: StripeEvent) -> Mapped:
    """A refund: of what is refunded of a charge by now, what was not before."""
    about = event.about
    back = event.amount("amount_refunded") - (event.before.number("amount_refunded") or _NOTHING)
    payment = reference(about, "payment_intent")
    properties = {
        **_back(event, back),
        **_order(about, payment, _invoice(about) or payment or about.required("id")),
        "charge_id": about.required("id"),
    }
    return event.mapped(REFUND, properties, payment=payment)


def dispute_closed(event: StripeEvent) -> Mapped:
    """A dispute that was lost; one that was won or withdrawn changes nothing."""
    about = event.about
    if about.text("status") != "lost":
        return Mapped(event.id, None, event.at)
    payment, charge = reference(about, "payment_intent"), reference(about, "charge")
    properties = {
        **_back(event, event.amount("amount")),
        **_order(about, payment, payment or charge),
        "charge_id": charge,
        "dispute_id": about.required("id"),
        "reason": about.text("reason"),
    }
    return event.mapped(REFUND, properties, payment=payment)


def _money(
    event: StripeEvent,
    paid: Decimal,
    *,
    tax: Decimal | None,
    shipping: Decimal | None,
    discount: Decimal | None,
) -> dict[str, str]:
    """The properties of a charge; what is not known is left out."""
    currency = event.currency()
    parts = {"tax": tax, "shipping": shipping, "discount": discount}
    known = {name: written(part, currency) for name, part in parts.items() if part is not None and part >= 0}
    return {"revenue": written(_net(paid, tax, shipping), currency), "currency": currency, **known}


def _back(event: StripeEvent, amount: Decimal) -> dict[str, str]:
    if amount <= 0:
        raise ValueError("nothing was given back")
    currency = event.currency()
    return {"revenue": written(-amount, currency), "currency": currency}


def _net(paid: Decimal, tax: Decimal | None, shipping: Decimal | None) -> Decimal:
    """Without tax and shipping; a credit of the customer may have paid a part of them."""
    return max(paid - (tax or _NOTHING) - (shipping or _NOTHING), _NOTHING)


def _order(about: MessageFields, payment: str | None, own: str | None) -> dict[str, str | None]:
    """By what others know the order: the merchant's id of it where the metadata has one."""
    named = about.inner("metadata").text("order_id")
    return {"order_id": named or own, "payment_id": payment or (own if named else None)}


def _tax(invoice: MessageFields) -> Decimal | None:
    """In versions of the API since 2025-03-31, and before; what is null there is nothing."""
    for name in ("total_taxes", "total_tax_amounts"):
        if invoice.inners(name):
            return _sum(invoice.inners(name))
    told = {"total_taxes", "total_tax_amounts", "tax"} & invoice.values.keys()
    return (invoice.number("tax") or _NOTHING) if told else None


def _shipping(invoice: MessageFields) -> Decimal | None:
    """Before its taxes; an invoice without any says null."""
    told = invoice.inner("shipping_cost").number("amount_subtotal")
    return _NOTHING if told is None and _is_null(invoice, "shipping_cost") else told


def _told_sum(about: MessageFields, name: str) -> Decimal | None:
    """The amounts of a list together: nothing of an empty one, unknown without any."""
    return _sum(about.inners(name)) if name in about.values else None


def _is_null(about: MessageFields, name: str) -> bool:
    return name in about.values and about.values[name] is None


def _sum(parts: Iterable[MessageFields]) -> Decimal:
    return sum((part.number("amount") or _NOTHING for part in parts), _NOTHING)


def _invoice(about: MessageFields) -> str | None:
    """The invoice that a payment or charge is for, in versions of the API before 2025-03-31 and since."""
    told = about.inner("payment_details").text("order_reference") or ""
    return reference(about, "invoice") or (told if told.startswith(_INVOICE) else None)


def _payment_of_invoice(invoice: MessageFields) -> str | None:
    payments = invoice.inner("payments").inners("data")
    told = [reference(each.inner("payment"), "payment_intent") for each in payments]
    return reference(invoice, "payment_intent") or next(filter(None, told), None)


def _subscription_of_invoice(invoice: MessageFields) -> str | None:
    since, before = (
        reference(subscription_details(invoice)[0], "subscription"),
        reference(invoice, "subscription"),
    )
    return since or before


def _deeds(
    event: StripeEvent, subscription: str | None, kind: DeedKind, amount: Decimal
) -> tuple[SubscriptionDeed, ...]:
    if subscription is None:
        return ()
    currency = event.currency()
    return (
        SubscriptionDeed(
            provider="stripe",
            account_id=event.account_id,
            subscription_id=subscription,
            message_id=event.id,
            at=event.at,
            kind=kind,
            amount=minor(amount, currency),
            currency=currency,
            test=event.test,
        ),
    )
