"""The fee of a charge, by the same rule as `reported_fee_or_by_rate` in the core."""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.relations.order_deduplication import (
    is_tracked,
    is_within_repeat_window,
)
from plugins.events_sql.relations.order_ids import ORDER_NAME_COLUMNS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import CHARGE, MILLION, PAYMENT_FEE_EVENT, TRACKED, FeeRate

IS_FEE_REPORT: Final = "is_fee_report"
_MAX_FEE: Final = 2**62


def is_fee_report(c: Any) -> Expression:
    """Returns whether an event reports the fee of a charge that other events report."""
    is_counted = sa.and_(sa.not_(c.is_bot), sa.not_(c.is_test))
    return sa.and_(is_counted, c.event_name == sa.literal(PAYMENT_FEE_EVENT), c.fee.is_not(None))


def reported_fees_by_charge(reports: sa.CTE) -> sa.Subquery:
    """Returns the sums of reported fees as ``fee``, by ``charge``, the sequence number of the charge.

    A report belongs to each charge of its order id or payment id in its currency less than 7 days before or after it.

    Args:
        reports: charges and fee reports, with the columns of `order_deduplication.report_columns`, `IS_FEE_REPORT`,
            ``fee`` and ``currency``.
    """
    charge, report = reports.alias("charged").c, reports.alias("fee_report").c
    pairs = (
        sa.select(charge.seq.label("charge"), report.seq.label("report"), report.fee)
        .join_from(charge.seq.table, report.seq.table, charge[id_] == report[id_])
        .where(
            report[IS_FEE_REPORT],
            charge.what == CHARGE,
            charge.currency == report.currency,
            is_within_repeat_window(charge, report),
        )
        for id_ in ORDER_NAME_COLUMNS
    )
    pair = sa.union(*pairs).subquery("fee_pairs").c
    summed = sa.cast(sa.func.sum(pair.fee), sa.BigInteger).label("fee")
    return sa.select(pair.charge, summed).group_by(pair.charge).subquery("reported_fees")


def reported_fee_or_by_rate(c: Any, reported_fee: Expression, rates: Iterable[FeeRate]) -> Expression:
    """Returns the fee of a charge in minor units; NULL if nobody knows it.

    Args:
        c: the columns of the charge's event.
        reported_fee: of later reports; NULL without any.
        rates: the rates that the workspace names.
    """
    tracked, nothing = is_tracked(c), sa.literal_column("0", sa.BigInteger)
    paid = sa.func.abs(c.revenue) + sa.func.coalesce(c.tax, nothing) + sa.func.coalesce(c.shipping, nothing)
    by_rate = [(_is_of_rate(c, tracked, rate), _fee_by_rate(paid, rate)) for rate in rates]
    return sa.case(
        (sa.and_(sa.not_(tracked), c.fee.is_not(None)), c.fee),
        (reported_fee.is_not(None), reported_fee),
        (paid == 0, nothing),
        *by_rate,
        (tracked, nothing),
    )


def _is_of_rate(c: Any, tracked: Expression, rate: FeeRate) -> Expression:
    is_of_provider = (
        tracked
        if rate.provider == TRACKED
        else sa.and_(sa.not_(tracked), c.source == sa.literal(rate.provider))
    )
    if rate.currency is None:
        return is_of_provider
    return sa.and_(is_of_provider, c.currency == sa.literal(rate.currency))


def _fee_by_rate(paid: Expression, rate: FeeRate) -> Expression:
    """Returns the share of the amount, rounded half-even, and the fixed part."""
    product = fn.WideInteger(paid) * sa.literal(rate.millionths, sa.BigInteger)
    million = sa.literal(MILLION, sa.BigInteger)
    truncated = fn.WideIntegerDivide(product, million)
    twice = (product - truncated * million) * 2
    is_up = sa.or_(twice > million, sa.and_(twice == million, sa.func.mod(truncated, 2) == 1))
    fee = truncated + sa.case((is_up, 1), else_=0) + sa.literal(rate.fixed, sa.BigInteger)
    # The modulo changes no fee that fits; see `currency_conversion`.
    return sa.cast(sa.func.mod(fee, sa.literal(_MAX_FEE, sa.BigInteger)), sa.BigInteger)
