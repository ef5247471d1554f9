"""Money of orders and refunds: Shopify writes it as decimal texts in the currency of the shop."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from service_core.plugin import MessageFields, to_major, to_minor

_ZERO: Final = Decimal(0)
_SHIPPING_REFUND: Final = "shipping_refund"


def order_amounts(order: MessageFields) -> dict[str, str]:
    """The properties of a paid order.

    ``subtotal_price`` is after discounts and without shipping; where prices include taxes it holds
    those of the items, and a shipping price those of shipping.

    Raises:
        ValueError: an amount is missing.
    """
    currency, told_tax = _required_currency(order), order.number("total_tax")
    tax = told_tax or _ZERO
    subtotal = _required_amount(order, "subtotal_price")
    lines = order.objects("shipping_lines")
    shipping = _sum_first_amounts(lines, "discounted_price", "price")
    shipping_tax = _sum_first_amounts((each for line in lines for each in line.objects("tax_lines")), "price")
    included = order.is_true("taxes_included")
    before = order.number("total_line_items_price")
    discount = _required_amount(order, "total_discounts") if before is None else before - subtotal
    return _format_properties(
        currency,
        revenue=max(subtotal - (tax - shipping_tax), _ZERO) if included else subtotal,
        tax=told_tax,
        shipping=(shipping - shipping_tax if included else shipping)
        if "shipping_lines" in order.values
        else None,
        discount=discount,
    )


def refund_amounts(refund: MessageFields) -> dict[str, str]:
    """The properties of a refund: the money that went back, of it taxes and shipping; none without any.

    Raises:
        ValueError: it names no currency, or more taxes and shipping than money.
    """
    paid_back = [each for each in refund.objects("transactions") if _is_refund(each)]
    if not paid_back:
        return {}
    currency, money = _required_currency(paid_back[0]), _sum_first_amounts(paid_back, "amount")
    lines = refund.objects("refund_line_items")
    tax = _sum_in_currency(lines, "total_tax", currency)
    shipping, shipping_tax = _refunded_shipping(refund, currency)
    if money == _sum_in_currency(lines, "subtotal", currency) + shipping:  # as where prices include taxes
        shipping -= shipping_tax
    back = money - tax - shipping - shipping_tax
    if back < 0:
        raise ValueError("more taxes and shipping were given back than money")
    return _format_properties(currency, revenue=-back, tax=tax + shipping_tax, shipping=shipping)


def _refunded_shipping(refund: MessageFields, currency: str) -> tuple[Decimal, Decimal]:
    """Shipping that was given back, and its tax; since version 2024-10 of the API it stands in lines of its own."""
    adjusted = [each for each in refund.objects("order_adjustments") if each.text("kind") == _SHIPPING_REFUND]
    if adjusted:
        return _sum_in_currency(adjusted, "amount", currency), _sum_in_currency(
            adjusted, "tax_amount", currency
        )
    lines = refund.objects("refund_shipping_lines")
    taxes = (_refunded_shipping_tax(line, currency) for line in lines)
    return _sum_in_currency(lines, "subtotal_amount", currency), sum(taxes, _ZERO)


def _refunded_shipping_tax(line: MessageFields, currency: str) -> Decimal:
    """As it is told, or the share of the tax on all of the shipping."""
    if line.object("tax_amount_set").values:
        return abs(_amount_in_currency(line, "tax_amount", currency))
    whole = line.object("shipping_line")
    price = _amount_in_currency(whole, "discounted_price", currency)
    taxes = _sum_in_currency(whole.objects("tax_lines"), "price", currency)
    share = (
        taxes * abs(_amount_in_currency(line, "subtotal_amount", currency)) / price if price > 0 else _ZERO
    )
    return to_major(to_minor(share, currency), currency)


def _is_refund(transaction: MessageFields) -> bool:
    """Whether it gave money back, or will: nothing tells when one that is pending succeeds."""
    return transaction.text("kind") == "refund" and transaction.text("status") in {"success", "pending"}


def _required_currency(fields: MessageFields) -> str:
    code = fields.currency("currency")
    if code is None:
        raise ValueError("currency is missing")
    return code


def _required_amount(fields: MessageFields, name: str) -> Decimal:
    amount = fields.number(name)
    if amount is None:
        raise ValueError(f"{name} is missing")
    return amount


def _sum_first_amounts(parts: Iterable[MessageFields], *names: str) -> Decimal:
    """The first of these amounts that each has, together."""
    told = ([part.number(name) for name in names] for part in parts)
    return sum((next((each for each in one if each is not None), _ZERO) for one in told), _ZERO)


def _sum_in_currency(parts: Iterable[MessageFields], name: str, currency: str) -> Decimal:
    """An amount of all parts in a currency, without its sign: the buyer's, where it is another than the shop's."""
    return sum((abs(_amount_in_currency(part, name, currency)) for part in parts), _ZERO)


def _amount_in_currency(part: MessageFields, name: str, currency: str) -> Decimal:
    kept = part.object(f"{name}_set")
    monies = [kept.object("shop_money"), kept.object("presentment_money")]
    told = [money.number("amount") for money in monies if money.currency("currency_code") == currency]
    return next((amount for amount in [*told, part.number(name)] if amount is not None), _ZERO)


def _format_properties(currency: str, *, revenue: Decimal, **parts: Decimal | None) -> dict[str, str]:
    known = {name: f"{part:f}" for name, part in parts.items() if part is not None and part >= 0}
    return {"revenue": f"{revenue:f}", "currency": currency, **known}
