"""Items sold and returned, as events list them: lists are taken apart inside the engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression, of_data
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among, charge_or_refund
from plugins.events_sql.ledger import MoneyRows
from plugins.events_sql.orders import ORDER_IDS, is_tracked, sold_before, standing
from plugins.events_sql.periods import bucket_index, micros, micros_of
from plugins.events_sql.relations import between
from plugins.events_sql.rows import naive
from plugins.events_sql.tables import EVENTS
from service_core.plugin import (
    CHARGE,
    REFUND_EVENTS,
    REPEAT,
    TRACKED,
    UNPAID,
    ItemPlan,
    ItemSum,
    Scan,
    Span,
    item_lists,
)

_WEEK: Final = micros_of(REPEAT)
_FOREVER: Final = 2**62
"""Microseconds before and after which nothing was sold."""
_TELLING: Final = ("provider", "currency", "is_listed")
_KINDS: Final = ("sku", "variant_id")


def items(plan: ItemPlan, reader: Reader) -> list[ItemSum]:
    """Every kind of item that was sold or came back in the span; where nothing came back, that is all it looks for."""
    starts = plan.buckets.starts if plan.buckets else (None,)
    sold = [ItemSum(starts[bucket], *row) for bucket, *row in reader.rows(_summed(_sold(plan), plan))]
    if not reader.rows(_refunds(plan).limit(1)):
        return sold
    returned = reader.rows(_summed(_returned(plan), plan))
    return sold + [
        ItemSum(starts[bucket], *(*kind, -quantity, 0, 0)) for bucket, *kind, quantity, _, _ in returned
    ]


def _sold(plan: ItemPlan) -> sa.Subquery:
    """What each charge of the span lists, or another report of its order, or its properties alone."""
    told = _charges(plan.scan)
    best = _best_listings(told, plan.scan)
    lines = sa.func.coalesce(told.c.lines, best.c.lines)
    every = sa.func.coalesce(lines, fn.JsonOne(told.c.event_data), type_=EVENTS.c.event_data.type)
    return (
        sa.select(
            told.c.timestamp.label("sold"),
            told.c.timestamp.label("booked"),
            told.c.provider,
            told.c.currency,
            told.c.amount,
            lines.is_not(None).label("is_listed"),
            every.label("lines"),
        )
        .select_from(told.outerjoin(best, best.c.seq == told.c.seq))
        .subquery("sales")
    )


def _charges(scan: Scan) -> sa.CTE:
    ledger = MoneyRows(replace(scan, order_refunds=False), scan.span)
    one, told = ledger.table.c, EVENTS.alias("told")
    same = sa.and_(told.c.seq == one.seq, told.c.timestamp == one.timestamp)
    return (
        sa.select(
            *(one[name] for name in ("seq", "timestamp", "provider", "currency", "amount")),
            *(told.c[name] for name in (*ORDER_IDS, "event_data")),
            _lines(told).label("lines"),
        )
        .select_from(ledger.source.join(told, same))
        .where(*ledger.where, one.kind == CHARGE)
        .where(told.c.workspace_id == scan.workspace_id, *between(told.c.timestamp, scan.span))
        .cte("charges")
    )


def _best_listings(told: sa.CTE, scan: Scan) -> sa.Subquery:
    """What the report that knows best lists, of orders whose charge that counts lists nothing."""
    report = EVENTS.alias("report")
    c = report.c
    lists = (
        sa.select(c.seq, c.timestamp, standing(c).label("standing"), _lines(report).label("lines"), _ids(c))
        .where(c.workspace_id == scan.workspace_id, *between(c.timestamp, _around(scan.span)))
        .where(c.revenue.is_not(None), charge_or_refund(c) == CHARGE, _lines(report).is_not(None))
        .subquery("lists")
    )
    lacks = (
        sa.select(told.c.seq, told.c.timestamp, _ids(told.c)).where(told.c.lines.is_(None)).subquery("lacks")
    )
    best = (lists.c.standing.desc(), lists.c.timestamp, lists.c.seq)
    place = sa.func.row_number().over(partition_by=lacks.c.seq, order_by=best)
    found = (
        sa.select(lacks.c.seq, lists.c.lines, place.label("place"))
        .join_from(lacks, lists, lists.c.key == lacks.c.key)
        .where(_near(lists.c, lacks.c))
        .subquery("listings")
    )
    return sa.select(found.c.seq, found.c.lines).where(found.c.place == 1).subquery("best")


def _ids(c: Any) -> sa.Label[Any]:
    """What an order is known by, one row each."""
    return sa.type_coerce(fn.Each(fn.Row(*(c[name] for name in ORDER_IDS))), sa.Text).label("key")


def _near(one: Any, other: Any) -> Expression:
    return sa.func.abs(fn.Micros(one.timestamp) - fn.Micros(other.timestamp)) < _WEEK


def _returned(plan: ItemPlan) -> sa.Subquery:
    """What each refund lists, with the charge of its order."""
    told = _refunds(plan).subquery("told")
    order = _orders(told, plan.scan)
    sold = sa.func.coalesce(order.c.timestamp, told.c.timestamp)
    known = order.c.seq.is_not(None)
    found = (
        sa.select(
            sold.label("sold"),
            (sold if plan.scan.order_refunds else told.c.timestamp).label("booked"),
            sa.case((known, order.c.provider), else_=told.c.provider).label("provider"),
            sa.case((known, order.c.currency), else_=told.c.currency).label("currency"),
            sa.literal(0, sa.BigInteger).label("amount"),
            sa.true().label("is_listed"),
            told.c.lines,
        )
        .select_from(told.outerjoin(order, order.c.refund == told.c.seq))
        .subquery("returns")
    )
    return sa.select(found).where(*between(found.c.booked, plan.scan.span)).subquery("returned")


def _refunds(plan: ItemPlan) -> sa.Select[Any]:
    """Refunds that list what came back, those left out that somebody tells of who knows better."""
    scan, refund = plan.scan, EVENTS.alias("refund")
    c, lists = refund.c, _lists_returns(refund, scan.workspace_id)
    told = sa.select(c.seq, c.timestamp, standing(c).label("standing"), _ids(c)).where(lists)
    one, better = told.subquery("one"), told.subquery("better")
    superseded = (
        sa.select(one.c.seq)
        .join_from(one, better, one.c.key == better.c.key)
        .where(_near(one.c, better.c), better.c.standing > one.c.standing)
    )
    lasting = [] if scan.order_refunds else [c.timestamp < sa.literal(naive(scan.span.end))]
    return sa.select(
        c.seq,
        c.timestamp,
        c.order_id,
        c.payment_id,
        c.currency,
        sa.case((is_tracked(c), TRACKED), else_=c.source).label("provider"),
        _lines(refund).label("lines"),
    ).where(
        lists,
        c.timestamp >= sa.literal(naive(scan.span.start)),
        *lasting,
        c.seq.not_in(superseded),
    )


def _lists_returns(table: Any, workspace_id: Any) -> Expression:
    c = table.c
    refunds = sa.or_(among(c.event_name, REFUND_EVENTS), sa.func.coalesce(c.revenue, 0) < 0)
    real = sa.not_(sa.or_(c.is_bot, c.is_test, among(c.event_name, UNPAID)))
    return sa.and_(c.workspace_id == workspace_id, refunds, real, _lines(table).is_not(None))


def _orders(told: sa.Subquery, scan: Scan) -> sa.Subquery:
    """The latest charge of the order of each refund that is not after it."""
    one = MoneyRows(replace(scan, order_refunds=True), scan.span).table.c  # looks at all time
    names = ("provider", "currency")
    told_of = (one[name] for name in ("seq", "timestamp", "order_id", "payment_id", *names))
    charges = sa.select(*told_of).where(one.kind == CHARGE).subquery("paid")
    return sold_before(told, charges, *names)


def _summed(orders: sa.Subquery, plan: ItemPlan) -> sa.Select[Any]:
    """What orders list, by kind, period and bucket."""
    lines = _numbers(_taken_apart(orders), plan)
    keys = [lines.c[name] for name in ("bucket", "period", *_KINDS, *_TELLING)]
    unpriced = sa.func.sum(sa.case((lines.c.worth.is_(None), 1), else_=0))
    sums = (sa.func.sum(lines.c.quantity), sa.func.sum(lines.c.worth), unpriced)
    return sa.select(*keys, *map(fn.Whole, sums)).group_by(*keys)


def _taken_apart(orders: sa.Subquery) -> sa.Subquery:
    """A row per line, and what it says as text."""
    named = [orders.c[name] for name in ("sold", "booked", "provider", "currency", "amount", "is_listed")]
    each = sa.select(*named, fn.JsonElements(orders.c.lines).label("line")).subquery("each")
    said = {
        "sku": item_lists.SKU,
        "variant_id": item_lists.VARIANT,
        "count": item_lists.QUANTITY,
        "price": item_lists.PRICE,
    }
    texts = (_text(each.c.line, names).label(name) for name, names in said.items())
    return sa.select(*(each.c[one.name] for one in named), *texts).subquery("said")


def _numbers(said: sa.Subquery, plan: ItemPlan) -> sa.Subquery:
    """A row per line: its kind, how many, and what they are worth."""
    c, period = said.c, _periods(plan)
    count, price = _number(c["count"]), _number(c.price)
    known = sa.or_(c["count"].is_(None), count.is_not(None))
    quantity = sa.func.coalesce(count, sa.literal(1.0, sa.Double))
    worth = sa.case((c.is_listed, _in_millionths(price * quantity)), else_=c.amount)
    bucket = (
        bucket_index(c.booked, plan.buckets.stretches()) if plan.buckets else sa.literal(0, sa.BigInteger)
    )
    sold = fn.Micros(c.sold)
    return (
        sa.select(
            bucket.label("bucket"),
            period.c.period,
            *(sa.case((known, c[name])).label(name) for name in _KINDS),
            *(c[name] for name in _TELLING),
            _in_millionths(quantity).label("quantity"),
            worth.label("worth"),
        )
        .select_from(said.join(period, sa.and_(sold >= period.c.start, sold < period.c.end)))
        .subquery("numbers")
    )


def _periods(plan: ItemPlan) -> sa.Subquery:
    """The stretches of time between the edges, with their numbers."""
    edges, integers = [*map(micros, plan.edges)], sa.ARRAY(sa.BigInteger)
    ends = {"start": [-_FOREVER, *edges], "end": [*edges, _FOREVER]}
    places = sa.literal(list(range(1, len(edges) + 2)), integers)
    place = sa.select(fn.Each(places).label("place")).subquery("places").c.place
    listed = (fn.At(sa.literal(each, integers), place).label(name) for name, each in ends.items())
    return sa.select((place - 1).label("period"), *listed).subquery("periods")


def _lines(table: Any) -> Expression:
    return fn.JsonList(table.c.event_data, *map(sa.literal, item_lists.LISTS))


def _text(line: Expression, names: Sequence[str]) -> Expression:
    """The first of some texts of a line that says something."""
    texts = (of_data(line, name).text for name in names)
    return sa.func.coalesce(*(sa.func.nullif(text, "") for text in texts), sa.null())


def _number(text: Expression) -> Expression:
    number = fn.Spelled(text, sa.literal(item_lists.NUMBER))
    return sa.case((number < 0, -number), else_=number)


def _in_millionths(number: Expression) -> Expression:
    half = sa.literal_column("0.5", sa.Double)
    return sa.cast(sa.func.floor(number * sa.literal_column("1e6", sa.Double) + half), sa.BigInteger)


def _around(span: Span) -> Span:
    return Span(span.start - REPEAT, span.end + REPEAT)
