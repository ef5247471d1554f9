"""The exchange rates by which the records of a receipt were converted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.query.relation_columns import is_money
from service_core.analytics.receipts.terms import TermRecords
from service_core.kernel.exchange_rates import MAX_RATE_AGE
from service_core.kernel.money import currency_decimals
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.kernel.wall_clock import day_start, local_date


@dataclass(frozen=True, slots=True)
class RateOfDay:
    """Units of the workspace currency for one unit of another currency on a day."""

    currency: str
    day: date
    rate: float


async def list_applied_rates(
    terms: Sequence[TermRecords], rate_lookup: RateLookup, date_range: ResolvedRange, target: str
) -> list[RateOfDay]:
    """Returns the rates of the records in other currencies, by currency and day.

    Args:
        terms: the terms with their records.
        rate_lookup: the stored rates.
        date_range: gives the time zone of the days.
        target: the currency of the workspace.
    """
    wanted = sorted(
        {
            (currency, _rate_day(record, date_range))
            for term, currency, record in _foreign_records(terms, target)
            if is_money(term.base)
        }
    )
    if not wanted:
        return []
    first, last = min(day for _, day in wanted), max(day for _, day in wanted)
    zone = date_range.zone
    days = ResolvedRange(
        TimeRange(day_start(first, zone), day_start(last + timedelta(days=1), zone)), zone, date_range.now
    )
    rates = await rate_lookup.stored_rates_or_empty_without_source(
        target, {currency for currency, _ in wanted}, days, look_back=MAX_RATE_AGE
    )
    applied = []
    for currency, day in wanted:
        minor_rate = rates.minor_unit_rate_up_to_7_days_old(day, currency)
        if minor_rate is not None:
            exponent = currency_decimals(currency) - currency_decimals(target)
            applied.append(RateOfDay(currency, day, float(round(minor_rate * 10**exponent, 10))))
    return applied


def _foreign_records(terms: Sequence[TermRecords], target: str) -> Iterator[tuple[TermRecords, str, Any]]:
    for term in terms:
        for record in term.records:
            if record.get("currency") not in {None, target}:
                yield term, record["currency"], record


def _rate_day(record: Any, date_range: ResolvedRange) -> date:
    """Returns the day whose rate converts a record: that of spend, else the local day of the payment or its order."""
    rated_at = record.get("rated_at")
    return local_date(rated_at, date_range.zone) if isinstance(rated_at, datetime) else record["date"]
