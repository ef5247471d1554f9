"""Converts amounts into the scope's currency by exchange rates that are array parameters: integers, and no join.

It computes the same as `ExchangeRates.convert_minor_amount_or_none` in the core: exact fractions, rounded half to even once per payment.
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


def is_foreign(currency: Expression, scope: QueryScope) -> Expression:
    """Returns whether money is of another currency than the scope's; money without a currency is not."""
    return sa.func.coalesce(currency != sa.literal(scope.currency), sa.false())


def with_converted_amounts_and_missing_flag(
    table: NamedSubquery,
    scope: QueryScope,
    rates: ExchangeRates,
    rate_instant_column: str,
    amount_columns: Sequence[str],
) -> NamedSubquery:
    """Returns the rows of a table with converted amounts, and whether a rate is missing.

    Args:
        table: rows with a ``currency``.
        scope: the target currency and the time zone of days.
        rates: exchange rates into that currency.
        rate_instant_column: the column with the instant whose day selects the rate.
        amount_columns: columns of amounts; the converted ones are named ``converted_*``.
    """
    priced = _with_rate_fraction_of_day(table, scope, rates, rate_instant_column)
    halves = priced.with_columns(
        "halves",
        *(_truncated_amount(priced, name).label(f"{_TRUNCATED_PREFIX}{name}") for name in amount_columns),
    )
    rounded = halves.with_columns(
        "rounded",
        *(
            _amount_rounded_half_even(halves, name).label(f"{CONVERTED_PREFIX}whole_{name}")
            for name in amount_columns
        ),
    )
    amounts = [rounded.c[f"{CONVERTED_PREFIX}whole_{name}"] for name in amount_columns]
    fits = sa.and_(
        rounded.c.fx_num > 0, *(sa.func.coalesce(amount <= _MAX_AMOUNT, sa.true()) for amount in amounts)
    )
    foreign = is_foreign(rounded.c.currency, scope)
    missing = rounded.with_columns("missing", sa.and_(foreign, sa.not_(fits)).label("missing_fx_rate"))
    changed = sa.and_(is_foreign(missing.c.currency, scope), sa.not_(missing.c.missing_fx_rate))
    return missing.with_columns(
        table.name,
        *(
            _converted_amount_or_original(missing, name, changed).label(f"{CONVERTED_PREFIX}{name}")
            for name in amount_columns
        ),
    )


def _with_rate_fraction_of_day(
    table: NamedSubquery, scope: QueryScope, rates: ExchangeRates, rate_instant_column: str
) -> NamedSubquery:
    """Returns the rows with the rate of a minor unit as ``fx_num / fx_den``; 0 without a rate."""
    rate_table = rates.daily_factor_table_by_currency(ZoneInfo(scope.zone))
    day: Expression = _NO_RATE_INDEX
    if rate_table.days is not None:
        instant, starts = table.c[rate_instant_column], rate_table.days.starts
        inside = sa.and_(
            instant >= sa.literal(to_naive_utc(starts[0])),
            instant < sa.literal(to_naive_utc(rate_table.days.end)),
        )
        day = sa.case(
            (inside, bucket_index(instant, rate_table.days.runs_of_equal_length()) + _FIRST_DAY_INDEX),
            else_=_NO_RATE_INDEX,
        )
    dated = table.with_columns("dated", day.label("fx_day"))
    # A list for each currency: ClickHouse takes no field of more than 128 KiB.
    numerators = {
        code: [0, *(rate.numerator if rate else 0 for rate in rates_of_days)]
        for code, rates_of_days in rate_table.factors.items()
    }
    denominators = {
        code: [1, *(rate.denominator if rate else 1 for rate in rates_of_days)]
        for code, rates_of_days in rate_table.factors.items()
    }
    return dated.with_columns(
        "priced",
        _number_for_currency_and_day(dated, numerators, 0).label("fx_num"),
        _number_for_currency_and_day(dated, denominators, 1).label("fx_den"),
    )


def _number_for_currency_and_day(
    dated: NamedSubquery, numbers_by_currency: Mapping[str, Sequence[int]], default: int
) -> Expression:
    """Returns the number for a row's currency and day."""
    other = sa.literal(default, sa.BigInteger)
    cases = [
        (
            dated.c.currency == sa.literal(code),
            fn.ElementAt(sa.literal([*numbers], _INTEGERS), dated.c.fx_day),
        )
        for code, numbers in numbers_by_currency.items()
    ]
    return sa.case(*cases, else_=other) if cases else other


def _truncated_amount(priced: NamedSubquery, amount_column: str) -> Expression:
    """Returns the converted amount without its fraction."""
    return fn.WideIntegerDivide(fn.WideInteger(priced.c[amount_column]) * priced.c.fx_num, priced.c.fx_den)


def _amount_rounded_half_even(truncated_rows: NamedSubquery, amount_column: str) -> Expression:
    truncated = truncated_rows.c[f"{_TRUNCATED_PREFIX}{amount_column}"]
    twice = (
        fn.WideInteger(truncated_rows.c[amount_column]) * truncated_rows.c.fx_num
        - truncated * truncated_rows.c.fx_den
    ) * 2
    is_odd = sa.func.mod(truncated, 2) == 1
    up = sa.or_(twice > truncated_rows.c.fx_den, sa.and_(twice == truncated_rows.c.fx_den, is_odd))
    rounded: Expression = truncated + sa.case((up, 1), else_=0)
    return rounded


def _converted_amount_or_original(
    rows: NamedSubquery, amount_column: str, is_converted: Expression
) -> Expression:
    # The modulo changes no amount that fits. Without it DuckDB 2.0 assumes to know how large
    # the result can be, packs it into fewer bytes than it needs, and sums what is left.
    amount = sa.func.mod(
        rows.c[f"{CONVERTED_PREFIX}whole_{amount_column}"], sa.literal(MAX_CONVERTED_MINOR + 1, sa.BigInteger)
    )
    return sa.case((is_converted, sa.cast(amount, sa.BigInteger)), else_=rows.c[amount_column])
