"""Parses the amount of an event (``value``, ``revenue`` or ``amount``, in major units) and its components."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from service_core.ingestion.text_cache import cache_by_text
from service_core.kernel.money import ISO_4217_CODES, MAX_MINOR_UNITS, to_minor_or_none_if_out_of_range

AMOUNT_FIELDS: Final = ("value", "revenue", "amount")

CHARGE_COMPONENTS: Final = ("discount", "tax", "shipping", "fee")
"""Properties of a provider's charge: components of its amount, in its currency, never negative.

``revenue`` is after the discount, without tax and shipping, and before the fee.
"""

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_CURRENCY: Final = re.compile(r"[A-Za-z]{3}")
_MAX_DIGITS: Final = 64
_CURRENCY_SIGN: Final = re.compile(r"(?:^([+-]?)[$€£¥₹₩₽₺₴₪₫฿₦₱¢]\s*)|(?:\s*[$€£¥₹₩₽₺₴₪₫฿₦₱¢]$)")
_GROUPED_NUMBER: Final = re.compile(
    r"[+-]?[0-9]{1,3}(?:([,' \u00a0\u202f])[0-9]{3}(?:\1[0-9]{3})*)(?:\.[0-9]*)?"
)
_SEPARATOR: Final = re.compile(r"[,' \u00a0\u202f]")


def parse_first_amount_in_minor_units(
    properties: Mapping[str, Any], default_currency: str
) -> tuple[int | None, str | None]:
    """Returns the amount in minor units and its currency.

    Args:
        properties: the properties of the event.
        default_currency: currency of amounts that were sent without one.

    Returns:
        The amount of the first of `AMOUNT_FIELDS` with a number or numeric text, negative for a refund, and the
        currency that was sent, or else the default. Without an amount, None and only a currency that was sent.
        A code that ISO 4217 does not list has no amount and no currency: nobody can convert it.
    """
    sent = properties.get("currency")
    sent = sent.strip() if isinstance(sent, str) else ""
    sent_currency = sent.upper() if _CURRENCY.fullmatch(sent) else None
    if sent_currency is not None and sent_currency not in ISO_4217_CODES:
        return None, None
    for field in AMOUNT_FIELDS:
        if field in properties and (amount := _parse_decimal_number_or_text(properties[field])) is not None:
            currency = sent_currency or default_currency
            minor = to_minor_or_none_if_out_of_range(amount, currency)
            if minor is not None:
                return minor, currency
    return None, sent_currency


def valid_charge_components_in_minor_units(
    properties: Mapping[str, Any], currency: str, *, allows_returned_fee: bool = False
) -> dict[str, int]:
    """Returns the `CHARGE_COMPONENTS` an event reports, in minor units of its currency; negative ones are left out.

    Args:
        properties: of the event.
        currency: of all amounts.
        allows_returned_fee: a negative fee was given back, and is kept.
    """
    amounts = {
        name: _parse_decimal_number_or_text(properties[name])
        for name in CHARGE_COMPONENTS
        if name in properties
    }
    minor = {
        name: to_minor_or_none_if_out_of_range(amount, currency)
        for name, amount in amounts.items()
        if amount is not None
    }
    lowest = {"fee": -MAX_MINOR_UNITS} if allows_returned_fee else {}
    return {
        name: amount for name, amount in minor.items() if amount is not None and amount >= lowest.get(name, 0)
    }


def _without_sign_and_separators(text: str) -> str:
    """Returns a number as text without one currency sign and without separators between groups of three digits."""
    text = _CURRENCY_SIGN.sub(r"\1", text.strip(), count=1)
    return _SEPARATOR.sub("", text) if _GROUPED_NUMBER.fullmatch(text) else text


def _parse_decimal_number_or_text(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _parse_decimal(value) if isinstance(value, str) else _decimal_or_none(repr(value))


@cache_by_text(2048)
def _parse_decimal(text: str) -> Decimal | None:
    return _decimal_or_none(_without_sign_and_separators(text))


def _decimal_or_none(text: str) -> Decimal | None:
    return Decimal(text) if len(text) <= _MAX_DIGITS and _NUMBER.fullmatch(text) else None
