"""Money of orders and refunds: Shopify writes it as decimal texts in the currency of the shop."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from service_core.plugin import MessageFields, to_major, to_minor

_ZERO: Final = Decimal(0)
_SHIPPING_REFUND: Final = "shipping_refund"


def order_amounts_net_of_tax_and_shipping(order: MessageFields) -> dict[str, str]:
    """Returns the amounts of a paid order: revenue is after discounts, without tax and shipping.

    ``subtotal_price`` is after discounts and without shipping; where prices include taxes it holds
    those of the items, and a shipping price those of shipping.

    Raises:
        ValueError: an amount is missing.
    """
    currency, told_tax = _required_currency(order), order.number("total_tax")
    tax = told_tax or _ZERO
    subtotal = _required_amount(order, "subtotal_price")
    lines = order.objects("shipping_lines")
    shipping = _sum_first_known_amounts(lines, "discounted_price", "price")
    shipping_tax = _sum_first_known_amounts(
        (tax_line for line in lines for tax_line in line.objects("tax_lines")), "price"
    )
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


def refund_amounts_as_negative_revenue(refund: MessageFields) -> dict[str, str]:
    """Returns the amounts of a refund, with a negative revenue; empty if no money was paid back.

    Raises:
        ValueError: it names no currency, or more taxes and shipping than money.
    """
    paid_back = [transaction for transaction in refund.objects("transactions") if _is_refund(transaction)]
    if not paid_back:
        return {}
    currency, money = _required_currency(paid_back[0]), _sum_first_known_amounts(paid_back, "amount")
    lines = refund.objects("refund_line_items")
    tax = _sum_absolute_in_currency(lines, "total_tax", currency)
    shipping, shipping_tax = _refunded_shipping_and_tax(refund, currency)
    if (
        money == _sum_absolute_in_currency(lines, "subtotal", currency) + shipping
    ):  # as where prices include taxes
        shipping -= shipping_tax
    back = money - tax - shipping - shipping_tax
    if back < 0:
        raise ValueError("more taxes and shipping were given back than money")
    return _format_properties(currency, revenue=-back, tax=tax + shipping_tax, shipping=shipping)


def _refunded_shipping_and_tax(refund: MessageFields, currency: str) -> tuple[Decimal, Decimal]:
    """Returns the refunded shipping and its tax; since version 2024-10 of the API it has lines of its own."""
    adjusted = [
        adjustment
        for adjustment in refund.objects("order_adjustments")
        if adjustment.text("kind") == _SHIPPING_REFUND
    ]
    if adjusted:
        return _sum_absolute_in_currency(adjusted, "amount", currency), _sum_absolute_in_currency(
            adjusted, "tax_amount", currency
        )
    lines = refund.objects("refund_shipping_lines")
    taxes = (_reported_or_prorated_shipping_tax(line, currency) for line in lines)
    return _sum_absolute_in_currency(lines, "subtotal_amount", currency), sum(taxes, _ZERO)


def _reported_or_prorated_shipping_tax(shipping_line: MessageFields, currency: str) -> Decimal:
    """Returns the reported tax, else the refunded share of the tax on the whole shipping."""
    if shipping_line.object("tax_amount_set").values:
        return abs(_amount_in_currency(shipping_line, "tax_amount", currency))
    whole = shipping_line.object("shipping_line")
    price = _amount_in_currency(whole, "discounted_price", currency)
    taxes = _sum_absolute_in_currency(whole.objects("tax_lines"), "price", currency)
    share = (
        taxes * abs(_amount_in_currency(shipping_line, "subtotal_amount", currency)) / price
        if price > 0
        else _ZERO
    )
    return to_major(to_minor(share, currency), currency)


def _is_refund(transaction: MessageFields) -> bool:
    """Returns whether a transaction paid money back; a pending one counts, as nothing reports its success."""
    return transaction.text("kind") == "refund" and transaction.text("status") in {"success", "pending"}


def _required_currency(fields: MessageFields) -> str:
    code = fields.currency("currency")
    if code is None:
        raise ValueError("currency is missing")
    return code


def _required_amount(fields: MessageFields, field_name: str) -> Decimal:
    amount = fields.number(field_name)
    if amount is None:
        raise ValueError(f"{field_name} is missing")
    return amount


def _sum_first_known_amounts(parts: Iterable[MessageFields], *field_names: str) -> Decimal:
    """Returns the sum of the first known of these amounts of each part."""
    amounts_by_part = ([part.number(name) for name in field_names] for part in parts)
    return sum(
        (next((amount for amount in amounts if amount is not None), _ZERO) for amounts in amounts_by_part),
        _ZERO,
    )


def _sum_absolute_in_currency(parts: Iterable[MessageFields], field_name: str, currency: str) -> Decimal:
    """Returns the sum of the absolute amounts of all parts in a currency, that of the shop or of the buyer."""
    return sum((abs(_amount_in_currency(part, field_name, currency)) for part in parts), _ZERO)


def _amount_in_currency(part: MessageFields, field_name: str, currency: str) -> Decimal:
    money_set = part.object(f"{field_name}_set")
    monies = [money_set.object("shop_money"), money_set.object("presentment_money")]
    amounts = [money.number("amount") for money in monies if money.currency("currency_code") == currency]
    return next((amount for amount in [*amounts, part.number(field_name)] if amount is not None), _ZERO)


def _format_properties(currency: str, *, revenue: Decimal, **parts: Decimal | None) -> dict[str, str]:
    known = {name: f"{part:f}" for name, part in parts.items() if part is not None and part >= 0}
    return {"revenue": f"{revenue:f}", "currency": currency, **known}
