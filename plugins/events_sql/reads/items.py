"""Aggregates sold and returned order items; item lists of events are unnested in the engine."""

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.item_lines import absolute_number, first_text_of_keys, listed_lines
from plugins.events_sql.relations.charges_and_refunds import PaymentRows
from plugins.events_sql.relations.order_deduplication import (
    ORDER_ID_COLUMNS,
    charge_per_refund,
    is_tracked,
    is_within_repeat_window,
    report_precedence,
    unnested_order_ids,
)
from plugins.events_sql.relations.order_ids import order_id_links
from plugins.events_sql.relations.relation_rows import span_conditions
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import charge_or_refund_kind, is_revenue_event, name_in
from plugins.events_sql.sql.time_buckets import bucket_index, epoch_microseconds
from service_core.plugin import (
    CHARGE,
    ORDER_DEDUP_WINDOW,
    REFUND_EVENTS,
    TRACKED,
    LineItemQuery,
    LineItemSum,
    QueryScope,
    TimeRange,
    line_item_lists,
)

_FOREVER: Final = 2**62
"""Microseconds beyond the first and last sale."""
_SALE_COLUMNS: Final = ("provider", "currency", "is_listed")
_ITEM_ID_COLUMNS: Final = ("sku", "variant_id")


def sum_items_booked_in_span(plan: LineItemQuery, runner: StatementRunner) -> list[LineItemSum]:
    """Returns the sums of each item sold or returned in the span; returns are read only when there are refunds."""
    starts = plan.buckets.starts if plan.buckets else (None,)
    sold = [
        LineItemSum(starts[bucket], *row)
        for bucket, *row in runner.fetch_rows(_sums_by_item_period_and_bucket(_items_of_charges(plan), plan))
    ]
    if not runner.fetch_rows(_unsuperseded_refunds_with_item_list(plan).limit(1)):
        return sold
    returned = runner.fetch_rows(
        _sums_by_item_period_and_bucket(_items_of_refunds_booked_in_span(plan), plan)
    )
    return sold + [
        LineItemSum(starts[bucket], *(*kind, -quantity, 0, 0)) for bucket, *kind, quantity, _, _ in returned
    ]


def _items_of_charges(plan: LineItemQuery) -> sa.Subquery:
    """Returns the items of each charge: its own list, the list of another report of its order, or its properties."""
    charges = _charges_with_own_item_list(plan.scope)
    other_listings = _best_item_list_of_other_reports(charges, plan.scope)
    lines = sa.func.coalesce(charges.c.lines, other_listings.c.lines)
    all_lines = sa.func.coalesce(
        lines, fn.JsonSingletonList(charges.c.event_data), type_=EVENTS.c.event_data.type
    )
    return (
        sa.select(
            charges.c.timestamp.label("sold"),
            charges.c.timestamp.label("booked"),
            charges.c.provider,
            charges.c.currency,
            charges.c.amount,
            lines.is_not(None).label("is_listed"),
            all_lines.label("lines"),
        )
        .select_from(charges.outerjoin(other_listings, other_listings.c.seq == charges.c.seq))
        .subquery("sales")
    )


def _charges_with_own_item_list(scope: QueryScope) -> sa.CTE:
    ledger = PaymentRows(replace(scope, order_refunds=False), scope.span)
    payment, event = ledger.table.c, EVENTS.alias("charge_event")
    same = sa.and_(event.c.seq == payment.seq, event.c.timestamp == payment.timestamp)
    return (
        sa.select(
            *(payment[name] for name in ("seq", "timestamp", "provider", "currency", "amount")),
            *(event.c[name] for name in (*ORDER_ID_COLUMNS, "event_data")),
            listed_lines(event).label("lines"),
        )
        .select_from(ledger.source.join(event, same))
        .where(*ledger.where, payment.kind == CHARGE)
        .where(event.c.workspace_id == scope.workspace_id, *span_conditions(event.c.timestamp, scope.span))
        .cte("charges")
    )


def _best_item_list_of_other_reports(charges: sa.CTE, scope: QueryScope) -> sa.Subquery:
    """Returns the item list of the report with the highest precedence, for orders whose charge has none."""
    report = EVENTS.alias("report")
    c = report.c
    with_list = (
        sa.select(
            c.seq,
            c.timestamp,
            report_precedence(c).label("standing"),
            listed_lines(report).label("lines"),
            unnested_order_ids(c),
        )
        .where(
            c.workspace_id == scope.workspace_id,
            *span_conditions(c.timestamp, _span_with_repeats(scope.span)),
        )
        .where(
            c.revenue.is_not(None),
            charge_or_refund_kind(c, scope) == CHARGE,
            listed_lines(report).is_not(None),
        )
        .subquery("lists")
    )
    without_list = (
        sa.select(charges.c.seq, charges.c.timestamp, unnested_order_ids(charges.c))
        .where(charges.c.lines.is_(None))
        .subquery("lacks")
    )
    best = (with_list.c.standing.desc(), with_list.c.timestamp, with_list.c.seq)
    place = sa.func.row_number().over(partition_by=without_list.c.seq, order_by=best)
    listings = (
        sa.select(without_list.c.seq, with_list.c.lines, place.label("place"))
        .join_from(without_list, with_list, with_list.c.key == without_list.c.key)
        .where(is_within_repeat_window(with_list.c, without_list.c))
        .subquery("listings")
    )
    return sa.select(listings.c.seq, listings.c.lines).where(listings.c.place == 1).subquery("best")


def _items_of_refunds_booked_in_span(plan: LineItemQuery) -> sa.Subquery:
    """Returns the items of each refund, with the charge of its order."""
    refunds = _unsuperseded_refunds_with_item_list(plan).subquery("refunds")
    order = _charge_per_refund(refunds, plan.scope)
    sold = sa.func.coalesce(order.c.timestamp, refunds.c.timestamp)
    has_order = order.c.seq.is_not(None)
    returns = (
        sa.select(
            sold.label("sold"),
            (sold if plan.scope.order_refunds else refunds.c.timestamp).label("booked"),
            sa.case((has_order, order.c.provider), else_=refunds.c.provider).label("provider"),
            sa.case((has_order, order.c.currency), else_=refunds.c.currency).label("currency"),
            sa.literal(0, sa.BigInteger).label("amount"),
            sa.true().label("is_listed"),
            refunds.c.lines,
        )
        .select_from(refunds.outerjoin(order, order.c.refund == refunds.c.seq))
        .subquery("returns")
    )
    return sa.select(returns).where(*span_conditions(returns.c.booked, plan.scope.span)).subquery("returned")


def _unsuperseded_refunds_with_item_list(plan: LineItemQuery) -> sa.Select[Any]:
    """Selects refunds with an item list, without those that a report of higher precedence supersedes."""
    scope, refund = plan.scope, EVENTS.alias("refund")
    c, has_listing = refund.c, _is_refund_with_item_list(refund, scope)
    reports = sa.select(
        c.seq, c.timestamp, report_precedence(c).label("standing"), unnested_order_ids(c)
    ).where(has_listing)
    report, better = reports.subquery("report"), reports.subquery("better")
    superseded = (
        sa.select(report.c.seq)
        .join_from(report, better, report.c.key == better.c.key)
        .where(is_within_repeat_window(report.c, better.c), better.c.standing > report.c.standing)
    )
    in_span = [] if scope.order_refunds else span_conditions(c.timestamp, scope.span)
    return sa.select(
        c.seq,
        c.timestamp,
        c.order_id,
        c.payment_id,
        c.currency,
        sa.case((is_tracked(c), TRACKED), else_=c.source).label("provider"),
        listed_lines(refund).label("lines"),
    ).where(
        has_listing,
        *in_span,
        c.seq.not_in(superseded),
    )


def _is_refund_with_item_list(table: Any, scope: QueryScope) -> Expression:
    c = table.c
    refunds = sa.or_(name_in(c.event_name, REFUND_EVENTS), sa.func.coalesce(c.revenue, 0) < 0)
    real = sa.and_(sa.not_(sa.or_(c.is_bot, c.is_test)), is_revenue_event(c.event_name, scope))
    return sa.and_(c.workspace_id == scope.workspace_id, refunds, real, listed_lines(table).is_not(None))


def _charge_per_refund(refunds: sa.Subquery, scope: QueryScope) -> sa.Subquery:
    """Returns the latest charge of each refund's order that is not after it."""
    payment = PaymentRows(replace(scope, order_refunds=True), scope.span).table.c  # reads all time
    names = ("provider", "currency")
    columns = (payment[name] for name in ("seq", "timestamp", "order_id", "payment_id", *names))
    charges = sa.select(*columns).where(payment.kind == CHARGE).subquery("paid")
    return charge_per_refund(refunds, charges, order_id_links(workspace=scope.workspace_id), *names)


def _sums_by_item_period_and_bucket(orders: sa.Subquery, plan: LineItemQuery) -> sa.Select[Any]:
    """Selects the sums by item, cost period and bucket."""
    lines = _item_lines_with_quantity_and_amount(_item_lines_as_text(orders), plan)
    keys = [lines.c[name] for name in ("bucket", "period", *_ITEM_ID_COLUMNS, *_SALE_COLUMNS)]
    unpriced = sa.func.sum(sa.case((lines.c.worth.is_(None), 1), else_=0))
    sums = (sa.func.sum(lines.c.quantity), sa.func.sum(lines.c.worth), unpriced)
    return sa.select(*keys, *map(fn.IntegerOrZero, sums)).group_by(*keys)


def _item_lines_as_text(orders: sa.Subquery) -> sa.Subquery:
    """Returns a row per item line with its values as text."""
    order_columns = [
        orders.c[name] for name in ("sold", "booked", "provider", "currency", "amount", "is_listed")
    ]
    lines = sa.select(*order_columns, fn.JsonElements(orders.c.lines).label("line")).subquery("order_lines")
    keys = {
        "sku": line_item_lists.SKU_KEYS,
        "variant_id": line_item_lists.VARIANT_KEYS,
        "count": line_item_lists.QUANTITY_KEYS,
        "price": line_item_lists.PRICE_KEYS,
    }
    texts = (first_text_of_keys(lines.c.line, names).label(name) for name, names in keys.items())
    return sa.select(*(lines.c[column.name] for column in order_columns), *texts).subquery("line_texts")


def _item_lines_with_quantity_and_amount(lines: sa.Subquery, plan: LineItemQuery) -> sa.Subquery:
    """Returns a row per item line: item ids, quantity and amount."""
    c, period = lines.c, _cost_period_ranges(plan)
    count, price = absolute_number(c["count"]), absolute_number(c.price)
    is_valid = sa.or_(c["count"].is_(None), count.is_not(None))
    quantity = sa.func.coalesce(count, sa.literal(1.0, sa.Double))
    amount = sa.case((c.is_listed, _to_millionths(price * quantity)), else_=c.amount)
    bucket = (
        bucket_index(c.booked, plan.buckets.runs_of_equal_length())
        if plan.buckets
        else sa.literal(0, sa.BigInteger)
    )
    sold = fn.EpochMicroseconds(c.sold)
    return (
        sa.select(
            bucket.label("bucket"),
            period.c.period,
            *(sa.case((is_valid, c[name])).label(name) for name in _ITEM_ID_COLUMNS),
            *(c[name] for name in _SALE_COLUMNS),
            _to_millionths(quantity).label("quantity"),
            amount.label("worth"),
        )
        .select_from(lines.join(period, sa.and_(sold >= period.c.start, sold < period.c.end)))
        .subquery("numbers")
    )


def _cost_period_ranges(plan: LineItemQuery) -> sa.Subquery:
    """Returns the time ranges between the edges of the plan, with their numbers."""
    edges, integers = [*map(epoch_microseconds, plan.period_starts)], sa.ARRAY(sa.BigInteger)
    ends = {"start": [-_FOREVER, *edges], "end": [*edges, _FOREVER]}
    places = sa.literal(list(range(1, len(edges) + 2)), integers)
    place = sa.select(fn.Unnest(places).label("place")).subquery("places").c.place
    listed = (fn.ElementAt(sa.literal(values, integers), place).label(name) for name, values in ends.items())
    return sa.select((place - 1).label("period"), *listed).subquery("periods")


def _to_millionths(number: Expression) -> Expression:
    half = sa.literal_column("0.5", sa.Double)
    return sa.cast(sa.func.floor(number * sa.literal_column("1e6", sa.Double) + half), sa.BigInteger)


def _span_with_repeats(span: TimeRange) -> TimeRange:
    return TimeRange(span.start - ORDER_DEDUP_WINDOW, span.end + ORDER_DEDUP_WINDOW)
