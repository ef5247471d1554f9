"""Converts amounts into the scan's currency by exchange rates that are array parameters: integers, and no join.

It computes the same as `Rates.worth` in the core: exact fractions, rounded half to even once per payment.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import NamedSubquery
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.time_buckets import bucket_index
from service_core.plugin import MAX_CONVERTED_MINOR, ExchangeRates, QueryScope

CONVERTED_PREFIX: Final = "converted_"
_TRUNCATED_PREFIX: Final = "whole_"
_INTEGERS: Final = sa.ARRAY(sa.BigInteger)
_MAX_AMOUNT: Final = sa.literal(MAX_CONVERTED_MINOR, sa.BigInteger)
_NO_RATE_INDEX: Final = sa.literal(1, sa.BigInteger)
_FIRST_DAY_INDEX: Final = sa.literal(2, sa.BigInteger)
"""The array index of the first day; index 1 is for days without a rate."""


def is_foreign(currency: Expression, scan: QueryScope) -> Expression:
    """Returns whether money is of another currency than the scan's; money without a currency is not."""
    return sa.func.coalesce(currency != sa.literal(scan.currency), sa.false())


def add_converted_amounts(
    table: NamedSubquery,
    scan: QueryScope,
    rates: ExchangeRates,
    rate_instant: str,
    amount_columns: Sequence[str],
) -> NamedSubquery:
    """Returns the rows of a table with converted amounts, and whether a rate is missing.

    Args:
        table: rows with a ``currency``.
        scan: the target currency and the time zone of days.
        rates: exchange rates into that currency.
        rate_instant: the column with the instant whose day selects the rate.
        amount_columns: columns of amounts; the converted ones are named ``converted_*``.
    """
    priced = _with_rate(table, scan, rates, rate_instant)
    halves = priced.with_columns(
        "halves",
        *(_truncated_amount(priced, name).label(f"{_TRUNCATED_PREFIX}{name}") for name in amount_columns),
    )
    rounded = halves.with_columns(
        "rounded",
        *(
            _half_even_amount(halves, name).label(f"{CONVERTED_PREFIX}whole_{name}")
            for name in amount_columns
        ),
    )
    whole = [rounded.c[f"{CONVERTED_PREFIX}whole_{name}"] for name in amount_columns]
    fits = sa.and_(
        rounded.c.fx_num > 0, *(sa.func.coalesce(each <= _MAX_AMOUNT, sa.true()) for each in whole)
    )
    foreign = is_foreign(rounded.c.currency, scan)
    missing = rounded.with_columns("missing", sa.and_(foreign, sa.not_(fits)).label("missing_fx_rate"))
    changed = sa.and_(is_foreign(missing.c.currency, scan), sa.not_(missing.c.missing_fx_rate))
    return missing.with_columns(
        table.name,
        *(
            _converted_or_original(missing, name, changed).label(f"{CONVERTED_PREFIX}{name}")
            for name in amount_columns
        ),
    )


def _with_rate(table: NamedSubquery, scan: QueryScope, rates: ExchangeRates, at: str) -> NamedSubquery:
    """Returns the rows with the rate of a minor unit as ``fx_num / fx_den``; 0 without a rate."""
    known = rates.daily_table(ZoneInfo(scan.zone))
    day: Expression = _NO_RATE_INDEX
    if known.days is not None:
        instant, starts = table.c[at], known.days.starts
        inside = sa.and_(
            instant >= sa.literal(to_naive_utc(starts[0])), instant < sa.literal(to_naive_utc(known.days.end))
        )
        day = sa.case(
            (inside, bucket_index(instant, known.days.runs()) + _FIRST_DAY_INDEX), else_=_NO_RATE_INDEX
        )
    dated = table.with_columns("dated", day.label("fx_day"))
    # A list for each currency: ClickHouse takes no field of more than 128 KiB.
    num = {
        code: [0, *(each.numerator if each else 0 for each in worth)] for code, worth in known.factors.items()
    }
    den = {
        code: [1, *(each.denominator if each else 1 for each in worth)]
        for code, worth in known.factors.items()
    }
    return dated.with_columns(
        "priced", _rate_number(dated, num, 0).label("fx_num"), _rate_number(dated, den, 1).label("fx_den")
    )


def _rate_number(dated: NamedSubquery, listed: Mapping[str, Sequence[int]], otherwise: int) -> Expression:
    """Returns the number for a row's currency and day."""
    other = sa.literal(otherwise, sa.BigInteger)
    found = [
        (
            dated.c.currency == sa.literal(code),
            fn.ElementAt(sa.literal([*numbers], _INTEGERS), dated.c.fx_day),
        )
        for code, numbers in listed.items()
    ]
    return sa.case(*found, else_=other) if found else other


def _truncated_amount(priced: NamedSubquery, name: str) -> Expression:
    """Returns the converted amount without its fraction."""
    return fn.WideIntegerDivide(fn.WideInteger(priced.c[name]) * priced.c.fx_num, priced.c.fx_den)


def _half_even_amount(halves: NamedSubquery, name: str) -> Expression:
    whole = halves.c[f"{_TRUNCATED_PREFIX}{name}"]
    twice = (fn.WideInteger(halves.c[name]) * halves.c.fx_num - whole * halves.c.fx_den) * 2
    is_odd = sa.func.mod(whole, 2) == 1
    up = sa.or_(twice > halves.c.fx_den, sa.and_(twice == halves.c.fx_den, is_odd))
    found: Expression = whole + sa.case((up, 1), else_=0)
    return found


def _converted_or_original(missing: NamedSubquery, name: str, changed: Expression) -> Expression:
    # What fits is not changed by this; what does not is not told. Without it DuckDB 2.0 believes to know how large
    # the result can be, packs it into fewer bytes than it needs, and sums what is left.
    worth = sa.func.mod(
        missing.c[f"{CONVERTED_PREFIX}whole_{name}"], sa.literal(MAX_CONVERTED_MINOR + 1, sa.BigInteger)
    )
    return sa.case((changed, sa.cast(worth, sa.BigInteger)), else_=missing.c[name])
