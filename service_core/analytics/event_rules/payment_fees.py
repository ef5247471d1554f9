"""The fee of a charge: as its provider reported it, else by the rate that the workspace names.

Some providers report fees with the charge, others later, in the list of what they paid out. Such a report becomes an
event `PAYMENT_FEE_EVENT` that names the order or the payment; it moves no money by itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from service_core.access.analytics_settings import MILLION, FeeRate
from service_core.analytics.event_rules.order_deduplication import (
    ORDER_DEDUP_WINDOW,
    TRACKED,
    provider_of_payment,
)
from service_core.ingestion.event_names import PAYMENT_FEE_EVENT
from service_core.ingestion.models import Event


def is_fee_report(event: Event) -> bool:
    """Returns whether an event reports the fee of a charge that other events report."""
    is_counted = not event.is_bot and not event.is_test
    return is_counted and event.event_name == PAYMENT_FEE_EVENT and event.fee is not None


def sum_fees_reported_within_7_days_by_charge(
    charges: Iterable[Event], events: Iterable[Event]
) -> Mapping[int, int]:
    """Returns the reported fees of charges in minor units, by the sequence number of the charge.

    A report belongs to each charge of its order id or payment id in its currency less than 7 days before or after it.
    Charges without a report are absent.
    """
    charges_by_id: defaultdict[tuple[str, str | None], list[Event]] = defaultdict(list)
    for charge in charges:
        for column in ("order_id", "payment_id"):
            charges_by_id[column, getattr(charge, column)].append(charge)
    fees: defaultdict[int, int] = defaultdict(int)
    for report in filter(is_fee_report, events):
        matching = {
            charge.seq
            for column in ("order_id", "payment_id")
            if (id_ := getattr(report, column)) is not None
            for charge in charges_by_id[column, id_]
            if charge.currency == report.currency
            and abs(charge.timestamp - report.timestamp) < ORDER_DEDUP_WINDOW
        }
        for seq in matching:
            fees[seq] += report.fee or 0
    return fees


def reported_fee_or_by_rate(charge: Event, reported_fee: int | None, rates: Iterable[FeeRate]) -> int | None:
    """Returns the fee of a charge in minor units; None if nobody knows it.

    The fee reported with the charge counts, else that of later reports, else nothing for a free order, else the
    first rate of the provider and the currency. A tracked charge without a rate has no fee.

    Args:
        charge: the event of the charge.
        reported_fee: of later reports, in minor units; None without any.
        rates: the rates that the workspace names.
    """
    provider = provider_of_payment(charge)
    if provider != TRACKED and charge.fee is not None:
        return charge.fee
    if reported_fee is not None:
        return reported_fee
    paid = abs(charge.revenue or 0) + (charge.tax or 0) + (charge.shipping or 0)
    if not paid:
        return 0
    for rate in rates:
        if rate.provider == provider and rate.currency in {None, charge.currency}:
            return round(Fraction(paid * rate.millionths, MILLION)) + rate.fixed
    return 0 if provider == TRACKED else None
