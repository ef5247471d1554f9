"""The order of a refund, and its amount without the tax and shipping that it gives back."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from service_core.analytics.event_rules.order_deduplication import (
    TRACKED,
    event_time_key,
    order_and_payment_ids,
    provider_of_payment,
)
from service_core.ingestion.models import Event


def charge_of_refund(
    refund: Event, charges: Iterable[Event], linked_ids: Mapping[str, frozenset[str]]
) -> Event | None:
    """Returns the latest charge of a refund's order that is not after it, else the earliest after it.

    A charge with the order id or the payment id of the refund precedes one that only other events link with it, such
    as the shop's charge of an order whose refund names the payment.

    Args:
        refund: the refund.
        charges: the charges that count.
        linked_ids: as `linked_order_ids` returns them.
    """
    counted = list(charges)
    ids = order_and_payment_ids(refund)
    linked = frozenset[str]().union(*(linked_ids[id_] for id_ in ids if id_ in linked_ids))
    of_order = [charge for charge in counted if _is_same_order(charge, refund)] or [
        charge for charge in counted if order_and_payment_ids(charge) & linked
    ]
    earlier = (charge for charge in of_order if event_time_key(charge) <= event_time_key(refund))
    return max(earlier, key=event_time_key, default=min(of_order, key=event_time_key, default=None))


def refund_amounts_without_tax_and_shipping(
    refunds: Iterable[Event], charges: Iterable[Event], linked_ids: Mapping[str, frozenset[str]]
) -> Mapping[int, int]:
    """Returns the amounts of refunds that include tax and shipping, without them, in minor units by sequence number.

    A payment provider reports what went back, and its charge says how much of it was tax and shipping. The refund
    leaves out the same share of them. The sum of the refunds of a charge is rounded, half to even, not each of
    them, so partial refunds add up to the charge. Other refunds are as sent: those that are tracked, that a
    storefront reports, that tell tax or shipping themselves, or without a provider's charge.

    Args:
        refunds: the refunds that count, in order of `event_time_key`.
        charges: the charges that count.
        linked_ids: as `linked_order_ids` returns them.
    """
    reported_charges = [charge for charge in charges if provider_of_payment(charge) != TRACKED]
    amounts: dict[int, int] = {}
    gross_of_charge: dict[int, int] = {}
    for refund in refunds:
        if not _includes_tax_and_shipping(refund):
            continue
        charge = charge_of_refund(refund, reported_charges, linked_ids)
        if charge is not None:
            before = gross_of_charge.get(charge.seq, 0)
            gross_of_charge[charge.seq] = total = before + abs(refund.revenue or 0)
            amounts[refund.seq] = _revenue_share(total, charge) - _revenue_share(before, charge)
    return amounts


def _includes_tax_and_shipping(refund: Event) -> bool:
    is_by_payment_provider = provider_of_payment(refund) != TRACKED and not refund.is_storefront
    return is_by_payment_provider and refund.tax is None and refund.shipping is None


def _revenue_share(refunded: int, charge: Event) -> int:
    """Returns the part of a refunded sum that is the charge's revenue, rounded half to even."""
    revenue = charge.revenue or 0
    paid = revenue + (charge.tax or 0) + (charge.shipping or 0)
    return round(Fraction(refunded * revenue, paid)) if paid else refunded


def _is_same_order(charge: Event, refund: Event) -> bool:
    """Returns whether both events have the same order id or payment id."""
    is_order = refund.order_id is not None and charge.order_id == refund.order_id
    return is_order or (refund.payment_id is not None and charge.payment_id == refund.payment_id)
