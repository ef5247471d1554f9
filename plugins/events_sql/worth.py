"""Money of other currencies in that of a scan, by rates that are given as lists: whole numbers, and no join.

The rule is `kernel.rates.Rates.worth`: exact fractions, rounded half-even once for a movement.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.periods import bucket_index
from plugins.events_sql.prepared import Derived
from plugins.events_sql.rows import naive
from service_core.plugin import MOST, Rates, Scan

TOLD: Final = "told_"
_WHOLE: Final = "whole_"
_INTEGERS: Final = sa.ARRAY(sa.BigInteger)
_MOST: Final = sa.literal(MOST, sa.BigInteger)
_UNKNOWN: Final = sa.literal(1, sa.BigInteger)
_FIRST: Final = sa.literal(2, sa.BigInteger)
"""Where days begin in the lists: at 1 stands what there is no rate for."""


def is_foreign(currency: Expression, scan: Scan) -> Expression:
    """Whether money is of another currency than the scan's; what nobody named one of is not."""
    return sa.func.coalesce(currency != sa.literal(scan.currency), sa.false())


def told(table: Derived, scan: Scan, rates: Rates, at: str, names: Sequence[str]) -> Derived:
    """The rows of a table with their money in the currency of the scan beside it, and whether a rate is missing.

    Args:
        table: rows with a ``currency``.
        scan: the currency and the zone.
        rates: into that currency.
        at: the column with the instant whose day tells the rate.
        names: columns of money; what they come to is called ``told_*``.
    """
    priced = _priced(table, scan, rates, at)
    halves = priced.wider("halves", *(_quotient(priced, name).label(f"{_WHOLE}{name}") for name in names))
    rounded = halves.wider(
        "rounded", *(_rounded(halves, name).label(f"{TOLD}whole_{name}") for name in names)
    )
    whole = [rounded.c[f"{TOLD}whole_{name}"] for name in names]
    fits = sa.and_(rounded.c.fx_num > 0, *(sa.func.coalesce(each <= _MOST, sa.true()) for each in whole))
    foreign = is_foreign(rounded.c.currency, scan)
    missing = rounded.wider("missing", sa.and_(foreign, sa.not_(fits)).label("no_rate"))
    changed = sa.and_(is_foreign(missing.c.currency, scan), sa.not_(missing.c.no_rate))
    return missing.wider(
        table.name, *(_told(missing, name, changed).label(f"{TOLD}{name}") for name in names)
    )


def _priced(table: Derived, scan: Scan, rates: Rates, at: str) -> Derived:
    """The rows with ``fx_num / fx_den``, what a minor unit of theirs is worth; 0 without a rate."""
    known = rates.table(ZoneInfo(scan.zone))
    day: Expression = _UNKNOWN
    if known.days is not None:
        instant, starts = table.c[at], known.days.starts
        inside = sa.and_(instant >= sa.literal(naive(starts[0])), instant < sa.literal(naive(known.days.end)))
        day = sa.case((inside, bucket_index(instant, known.days.stretches()) + _FIRST), else_=_UNKNOWN)
    dated = table.wider("dated", day.label("fx_day"))
    # A list for each currency: ClickHouse takes no field of more than 128 KiB.
    num = {
        code: [0, *(each.numerator if each else 0 for each in worth)] for code, worth in known.worth.items()
    }
    den = {
        code: [1, *(each.denominator if each else 1 for each in worth)] for code, worth in known.worth.items()
    }
    return dated.wider(
        "priced", _of_day(dated, num, 0).label("fx_num"), _of_day(dated, den, 1).label("fx_den")
    )


def _of_day(dated: Derived, listed: Mapping[str, Sequence[int]], otherwise: int) -> Expression:
    """The number of a row's currency and day."""
    other = sa.literal(otherwise, sa.BigInteger)
    found = [
        (dated.c.currency == sa.literal(code), fn.At(sa.literal([*numbers], _INTEGERS), dated.c.fx_day))
        for code, numbers in listed.items()
    ]
    return sa.case(*found, else_=other) if found else other


def _quotient(priced: Derived, name: str) -> Expression:
    """What an amount is worth, without the rest."""
    return fn.WideQuotient(fn.Huge(priced.c[name]) * priced.c.fx_num, priced.c.fx_den)


def _rounded(halves: Derived, name: str) -> Expression:
    whole = halves.c[f"{_WHOLE}{name}"]
    twice = (fn.Huge(halves.c[name]) * halves.c.fx_num - whole * halves.c.fx_den) * 2
    is_odd = sa.func.mod(whole, 2) == 1
    up = sa.or_(twice > halves.c.fx_den, sa.and_(twice == halves.c.fx_den, is_odd))
    found: Expression = whole + sa.case((up, 1), else_=0)
    return found


def _told(missing: Derived, name: str, changed: Expression) -> Expression:
    # What fits is not changed by this; what does not is not told. Without it DuckDB 2.0 believes to know how large
    # the result can be, packs it into fewer bytes than it needs, and sums what is left.
    worth = sa.func.mod(missing.c[f"{TOLD}whole_{name}"], sa.literal(MOST + 1, sa.BigInteger))
    return sa.case((changed, sa.cast(worth, sa.BigInteger)), else_=missing.c[name])
