"""What attribution shares out: conversions and charges, and refunds on the path of their order."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.facts import charge_or_refund, converts, not_a_repeat, standard_name
from plugins.events_sql.rows import naive
from plugins.events_sql.tables import EVENTS
from service_core.plugin import CHARGE, REFUND, REPEAT, Scan, Span

WHOLE: Final = 1_000_000
"""One conversion, in the millionths credits are counted in."""

_ANCHOR: Final = ("timestamp", "seq", "event_name", "visitor_no", "strong_no")
"""What makes a unit's path: that of a refund is its order's."""


def units(scan: Scan, span: Span, *, whole: bool) -> sa.Subquery:
    """Every unit booked in a span, or over all time; a refund's order may be any time before it."""
    marked = _marked(scan, None if whole or scan.order_refunds else Span(span.start - REPEAT, span.end))
    own = _own(marked).where(sa.or_(marked.c.is_conversion, marked.c.is_charge))
    charges = _marked(scan, None)
    return sa.union_all(own, _refunds(scan, charges, None if whole or scan.order_refunds else span)).subquery(
        "units"
    )


def _marked(scan: Scan, span: Span | None) -> sa.Subquery:
    """Events that convert or move money, with whether they count."""
    c = EVENTS.c
    convert, kind = converts(c, scan.conversions), charge_or_refund(c)
    columns = [c[name] for name in (*_ANCHOR, "revenue", "currency", "order_id")]
    looked = [] if span is None else [c.timestamp >= naive(span.start), c.timestamp < naive(span.end)]
    found = (
        sa.select(*columns, convert.label("converts"), kind.label("kind"))
        .where(c.workspace_id == scan.workspace_id, sa.not_(c.is_bot), sa.not_(c.is_test), *looked)
        .where(sa.or_(convert, c.revenue.is_not(None)))
        .subquery()
    )
    conversion = not_a_repeat(found.c, found.c.converts, standard_name(found.c.event_name))
    charge = not_a_repeat(found.c, found.c.kind)
    return sa.select(
        found,
        sa.and_(sa.func.coalesce(found.c.converts, sa.false()), conversion).label("is_conversion"),
        sa.func.coalesce(sa.and_(found.c.kind == CHARGE, charge), sa.false()).label("is_charge"),
    ).subquery()


def _own(marked: Any) -> sa.Select[Any]:
    c = marked.c
    return sa.select(
        (c.seq * 2).label("unit"),
        *(c[name] for name in _ANCHOR),
        c.timestamp.label("booked"),
        c.currency,
        _when(c.is_conversion, sa.literal(WHOLE)).label("credit"),
        _when(c.is_charge, sa.func.abs(c.revenue, type_=sa.BigInteger)).label("amount"),
        sa.literal_column("0", sa.BigInteger).label("refunded"),
        c.is_charge.label("is_order"),
        sa.true().label("has_path"),
    )


def _when(condition: Expression, value: Expression) -> Expression:
    return sa.case((condition, value), else_=sa.literal_column("0", sa.BigInteger))


def _refunds(scan: Scan, marked: Any, span: Span | None) -> sa.Select[Any]:
    """Refunds with the latest charge of their order that is not after them."""
    refund, order = marked.alias("refund"), marked.alias("charge")
    before = sa.or_(
        order.c.timestamp < refund.c.timestamp,
        sa.and_(order.c.timestamp == refund.c.timestamp, order.c.seq <= refund.c.seq),
    )
    joined = refund.outerjoin(
        order, sa.and_(order.c.is_charge, order.c.order_id == refund.c.order_id, before)
    )
    place = sa.func.row_number().over(
        partition_by=refund.c.seq, order_by=(order.c.timestamp.desc().nulls_last(), order.c.seq.desc())
    )
    has_order = order.c.seq.is_not(None)
    anchor = [sa.case((has_order, order.c[n]), else_=refund.c[n]).label(n) for n in _ANCHOR]
    booked = (
        sa.func.coalesce(order.c.timestamp, refund.c.timestamp) if scan.order_refunds else refund.c.timestamp
    )
    found = (
        sa.select(
            (refund.c.seq * 2 + 1).label("unit"),
            *anchor,
            booked.label("booked"),
            refund.c.currency,
            sa.literal_column("0", sa.BigInteger).label("credit"),
            sa.literal_column("0", sa.BigInteger).label("amount"),
            sa.func.abs(refund.c.revenue, type_=sa.BigInteger).label("refunded"),
            sa.false().label("is_order"),
            has_order.label("has_path"),
            place.label("place"),
        )
        .select_from(joined)
        .where(refund.c.kind == REFUND)
    )
    if span is not None:
        found = found.where(refund.c.timestamp >= naive(span.start), refund.c.timestamp < naive(span.end))
    listed = found.subquery()
    return sa.select(*(column for column in listed.c if column.name != "place")).where(listed.c.place == 1)
