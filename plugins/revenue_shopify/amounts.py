"""Money of orders and refunds: Shopify writes it as decimal texts in the currency of the shop."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from service_core.plugin import MessageFields, to_major, to_minor

_NOTHING: Final = Decimal(0)
_SHIPPING: Final = "shipping_refund"


def order_amounts(order: MessageFields) -> dict[str, str]:
    """The properties of a paid order.

    ``subtotal_price`` is after discounts and without shipping; where prices include taxes it holds
    those of the items, and a shipping price those of shipping.

    Raises:
        ValueError: an amount is missing.
    """
    currency, told_tax = _currency(order), order.number("total_tax")
    tax = told_tax or _NOTHING
    subtotal = _required(order, "subtotal_price")
    lines = order.inners("shipping_lines")
    shipping = _sum(lines, "discounted_price", "price")
    shipping_tax = _sum((each for line in lines for each in line.inners("tax_lines")), "price")
    included = order.flag("taxes_included")
    before = order.number("total_line_items_price")
    discount = _required(order, "total_discounts") if before is None else before - subtotal
    return _written(
        currency,
        revenue=max(subtotal - (tax - shipping_tax), _NOTHING) if included else subtotal,
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
    paid_back = [each for each in refund.inners("transactions") if _went_back(each)]
    if not paid_back:
        return {}
    currency, money = _currency(paid_back[0]), _sum(paid_back, "amount")
    lines = refund.inners("refund_line_items")
    tax = _total(lines, "total_tax", currency)
    shipping, shipping_tax = _shipping_back(refund, currency)
    if money == _total(lines, "subtotal", currency) + shipping:  # as where prices include taxes
        shipping -= shipping_tax
    back = money - tax - shipping - shipping_tax
    if back < 0:
        raise ValueError("more taxes and shipping were given back than money")
    return _written(currency, revenue=-back, tax=tax + shipping_tax, shipping=shipping)


def _shipping_back(refund: MessageFields, currency: str) -> tuple[Decimal, Decimal]:
    """Shipping that was given back, and its tax; since version 2024-10 of the API it stands in lines of its own."""
    adjusted = [each for each in refund.inners("order_adjustments") if each.text("kind") == _SHIPPING]
    if adjusted:
        return _total(adjusted, "amount", currency), _total(adjusted, "tax_amount", currency)
    lines = refund.inners("refund_shipping_lines")
    taxes = (_shipping_tax(line, currency) for line in lines)
    return _total(lines, "subtotal_amount", currency), sum(taxes, _NOTHING)


def _shipping_tax(line: MessageFields, currency: str) -> Decimal:
    """As it is told, or the share of the tax on all of the shipping."""
    if line.inner("tax_amount_set").values:
        return abs(_in(line, "tax_amount", currency))
    whole = line.inner("shipping_line")
    price = _in(whole, "discounted_price", currency)
    taxes = _total(whole.inners("tax_lines"), "price", currency)
    share = taxes * abs(_in(line, "subtotal_amount", currency)) / price if price > 0 else _NOTHING
    return to_major(to_minor(share, currency), currency)


def _went_back(transaction: MessageFields) -> bool:
    """Whether it gave money back, or will: nothing tells when one that is pending succeeds."""
    return transaction.text("kind") == "refund" and transaction.text("status") in {"success", "pending"}


def _currency(fields: MessageFields) -> str:
    code = fields.currency("currency")
    if code is None:
        raise ValueError("currency is missing")
    return code


def _required(fields: MessageFields, name: str) -> Decimal:
    amount = fields.number(name)
    if amount is None:
        raise ValueError(f"{name} is missing")
    return amount


def _sum(parts: Iterable[MessageFields], *names: str) -> Decimal:
    """The first of these amounts that each has, together."""
    told = ([part.number(name) for name in names] for part in parts)
    return sum((next((each for each in one if each is not None), _NOTHING) for one in told), _NOTHING)


def _total(parts: Iterable[MessageFields], name: str, currency: str) -> Decimal:
    """An amount of all parts in a currency, without its sign: the buyer's, where it is another than the shop's."""
    return sum((abs(_in(part, name, currency)) for part in parts), _NOTHING)


def _in(part: MessageFields, name: str, currency: str) -> Decimal:
    kept = part.inner(f"{name}_set")
    monies = [kept.inner("shop_money"), kept.inner("presentment_money")]
    told = [money.number("amount") for money in monies if money.currency("currency_code") == currency]
    return next((amount for amount in [*told, part.number(name)] if amount is not None), _NOTHING)


def _written(currency: str, *, revenue: Decimal, **parts: Decimal | None) -> dict[str, str]:
    known = {name: f"{part:f}" for name, part in parts.items() if part is not None and part >= 0}
    return {"revenue": f"{revenue:f}", "currency": currency, **known}
