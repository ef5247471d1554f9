"""Computes the value of a conversion from its rule."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from service_core.analytics.event_rules.order_deduplication import (
    CHARGE,
    classify_as_charge_refund_or_no_payment,
    deduplicate_order_reports_within_7_days,
    linked_order_ids,
    order_and_payment_ids,
    order_payment_and_message_ids,
)
from service_core.analytics.event_rules.revenue_events import is_order_event
from service_core.analytics.ports import ConversionSet
from service_core.delivery.postbacks.event_properties import get_path
from service_core.ingestion.amounts import parse_first_amount_in_minor_units
from service_core.ingestion.models import Event
from service_core.kernel.money import to_major
from service_core.workspace.rules.models import ConversionRule

_CURRENCY_LENGTH: Final = 3
_PLACEHOLDER_CURRENCY: Final = "USD"
"""Replaces a missing currency when the only question is whether there is an amount."""


class ConversionValue(NamedTuple):
    """Amount in minor units and currency; None where unknown."""

    value: int | None
    currency: str | None


def conversion_value(rule: ConversionRule, event: Event) -> ConversionValue:
    """Returns the value a rule assigns to an event; refunds have none."""
    if rule.value_type == "none":
        return ConversionValue(None, None)
    if rule.value_type == "static":
        return ConversionValue(_to_minor_units(rule.static_value, rule.currency), rule.currency)
    currency = _currency_at_path_or_of_event(rule, event)
    value = _to_minor_units(_amount_at_path_or_event_revenue(rule, event), currency)
    return ConversionValue(value if value is None or value >= 0 else None, currency)


def order_value_or_event_value(
    rule: ConversionRule, event: Event, reports: Sequence[Event], conversions: ConversionSet
) -> ConversionValue:
    """Returns the value of an event's order: what counts as its revenue, refunds not deducted.

    A rule with a value of its own, an event that reports no order, and an order without a charge have the value of
    the event.

    Args:
        rule: the rule that sends the event.
        event: the event.
        reports: all reports of the order.
        conversions: which events are orders in the workspace.
    """
    kind = classify_as_charge_refund_or_no_payment(event, conversions)
    is_order = kind == CHARGE or (event.revenue is None and is_order_event(event.event_name, conversions))
    if rule.value_type == "dynamic" and rule.value_path is None and is_order:
        charge = _counting_charge(event, reports, conversions)
        if charge is not None:
            return ConversionValue(charge.revenue, charge.currency)
    return conversion_value(rule, event)


def _counting_charge(event: Event, reports: Sequence[Event], conversions: ConversionSet) -> Event | None:
    """Returns the charge that counts as revenue, of several the one nearest in time."""
    linked_ids = linked_order_ids(reports)
    charges = deduplicate_order_reports_within_7_days(
        (each for each in reports if classify_as_charge_refund_or_no_payment(each, conversions) == CHARGE),
        order_and_payment_ids,
        index_keys_of=lambda report: order_payment_and_message_ids(report, linked_ids),
    )
    return min(charges, key=lambda charge: abs(charge.timestamp - event.timestamp), default=None)


def _amount_at_path_or_event_revenue(rule: ConversionRule, event: Event) -> Any:
    if rule.value_path is not None:
        return get_path(event.event_data, rule.value_path)
    if event.revenue is None or event.currency is None:
        return None
    return str(to_major(event.revenue, event.currency))


def _to_minor_units(amount: Any, currency: str | None) -> int | None:
    """Returns an amount in major units as minor units, parsed like `/track` parses it."""
    return parse_first_amount_in_minor_units({"value": amount}, currency or _PLACEHOLDER_CURRENCY)[0]


def _currency_at_path_or_of_event(rule: ConversionRule, event: Event) -> str | None:
    if rule.currency_path is None:
        return event.currency or rule.currency
    currency = get_path(event.event_data, rule.currency_path)
    code = currency.strip().upper() if isinstance(currency, str) else ""
    return code if len(code) == _CURRENCY_LENGTH and code.isascii() and code.isalpha() else None
