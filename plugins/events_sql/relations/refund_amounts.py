"""Amounts of refunds without tax and shipping, as `refund_amounts_without_tax_and_shipping` computes them in the core."""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.relations.order_deduplication import (
    charge_per_refund,
    is_tracked,
    report_columns,
    superseded_reports,
)
from plugins.events_sql.relations.order_ids import materialized_cte, order_id_links
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import END, START, WORKSPACE, compiled_source
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import charge_or_refund_kind
from service_core.plugin import CHARGE, REFUND


def refund_amounts_without_tax_and_shipping(*, only_if_refunded_in_span: bool) -> Any:
    """Returns the amounts of refunds that include tax and shipping, by ``seq``.

    All time is read, because a charge and its earlier refunds may be at any time.

    Args:
        only_if_refunded_in_span: read nothing unless there is such a refund between `START` and `END`.
    """
    return compiled_source(_net_refunds_query, only_if_refunded_in_span).as_subquery("net_refund")


def _net_refunds_query(only_if_refunded_in_span: bool) -> sa.Select[Any]:
    reports = materialized_cte(_provider_reports(only_if_refunded_in_span), "provider_reports")
    links = order_id_links()
    counts = reports.c.seq.not_in(superseded_reports(reports, links, only_kind_with_repeats=CHARGE))
    charge = sa.select(reports).where(reports.c.what == CHARGE, counts).subquery("charge")
    refund = sa.select(reports).where(reports.c.includes_tax, counts).subquery("refund")
    order = charge_per_refund(refund, charge, links, "revenue", "paid")
    own = sa.func.abs(refund.c.revenue, type_=sa.BigInteger)
    total = sa.func.sum(own).over(
        partition_by=order.c.seq, order_by=(refund.c.timestamp, refund.c.seq), rows=(None, 0)
    )
    summed = (
        sa.select(refund.c.seq, own.label("own"), total.label("total"), order.c.revenue, order.c.paid)
        .select_from(refund.join(order, order.c.refund == refund.c.seq))
        .subquery("summed")
    )
    c = summed.c
    share = _revenue_share(c.total, c) - _revenue_share(c.total - c.own, c)
    amount = sa.case((c.paid > 0, share), else_=c.own)
    return sa.select(c.seq, sa.cast(amount, sa.BigInteger).label("amount"))


def _provider_reports(only_if_refunded_in_span: bool) -> sa.Select[Any]:
    """Selects all charges and refunds that providers report, and whether a refund includes tax and shipping."""
    c = EVENTS.c
    zero = sa.literal_column("0", sa.BigInteger)
    paid = c.revenue + sa.func.coalesce(c.tax, zero) + sa.func.coalesce(c.shipping, zero)
    moved = (c.workspace_id == WORKSPACE, c.revenue.is_not(None), sa.not_(is_tracked(c)))
    columns = (*report_columns(c, charge_or_refund_kind(c)), c.revenue, paid.label("paid"))
    query = sa.select(*columns, _includes_tax_and_shipping(c).label("includes_tax")).where(*moved)
    if not only_if_refunded_in_span:
        return query
    in_span = sa.select(sa.literal(1)).where(
        *moved, _includes_tax_and_shipping(c), c.timestamp >= START, c.timestamp < END
    )
    return query.where(in_span.correlate(None).exists())


def _includes_tax_and_shipping(c: Any) -> Expression:
    is_refund = sa.func.coalesce(charge_or_refund_kind(c) == REFUND, sa.false())
    return sa.and_(is_refund, sa.not_(c.is_storefront), c.tax.is_(None), c.shipping.is_(None))


def _revenue_share(refunded: Expression, c: Any) -> Expression:
    """Returns the part of a refunded sum that is the charge's revenue, rounded half to even."""
    paid = sa.func.greatest(c.paid, 1)
    product = fn.WideInteger(refunded) * c.revenue
    whole = fn.WideIntegerDivide(product, paid)
    twice = (product - whole * paid) * 2
    up = sa.or_(twice > paid, sa.and_(twice == paid, sa.func.mod(whole, 2) == 1))
    share: Expression = whole + sa.case((up, 1), else_=0)
    return share
