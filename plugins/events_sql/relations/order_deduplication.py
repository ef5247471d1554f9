"""Decides in SQL which report of an order counts, by the same rule as `deduplicate_order_reports_within_7_days` in the core.

Repeats of tracked events are found by comparing with the previous report. Reports of revenue providers are few or
none, so superseded events are searched starting from them, which costs other workspaces little.
"""

from functools import reduce
from operator import add
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.relations.order_ids import (
    ORDER_NAME_COLUMNS,
    materialized_cte,
    order_id_links,
    rows_by_linked_order_id,
    unnested_order_names,
)
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import (
    END_WITH_REPEATS,
    WORKSPACE,
    Query,
    compiled_source,
    declare_parameter,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import (
    canonical_name,
    is_conversion,
    name_in,
)
from plugins.events_sql.sql.time_buckets import microseconds
from service_core.plugin import (
    CHARGE_COMPONENTS,
    ORDER_DEDUP_WINDOW,
    TRACKED_SOURCES,
)

REPEAT_MICROSECONDS: Final = microseconds(ORDER_DEDUP_WINDOW)
"""Reports of an order within this time are repeats."""

ORDER_ID_COLUMNS: Final = (*ORDER_NAME_COLUMNS, "message_id")
"""Columns by which other events may refer to an order."""


def is_tracked(columns: Any) -> Expression:
    """Returns whether an event was tracked by a client, as opposed to reported by a revenue provider."""
    return name_in(columns.source, TRACKED_SOURCES)


def report_precedence(c: Any) -> Expression:
    """Returns the precedence of a report as text: the greater one supersedes the smaller."""
    component_count = reduce(add, (sa.case((c[name].is_not(None), 1), else_=0) for name in CHARGE_COMPONENTS))
    rank = sa.cast(component_count, sa.Text) + c.source
    return sa.case(
        (is_tracked(c), ""), (c.is_storefront, sa.literal("2") + rank), else_=sa.literal("1") + rank
    )


def unnested_order_ids(c: Any) -> sa.Label[Any]:
    """Returns the order ids of an event as the column ``key``, one row each, NULL for an id it does not have."""
    ids = fn.TupleKey(*(c[name] for name in ORDER_ID_COLUMNS))
    return sa.type_coerce(fn.Unnest(ids), sa.Text).label("key")


def is_within_repeat_window(first: Any, second: Any) -> Expression:
    """Returns whether two events are less than 7 days apart."""
    apart = sa.func.abs(fn.EpochMicroseconds(first.timestamp) - fn.EpochMicroseconds(second.timestamp))
    return apart < REPEAT_MICROSECONDS


def superseded_conversion_seqs(
    events: Any, earliest_time_parameter: str | None, *, any_revenue: bool
) -> sa.Select[Any]:
    """Selects the sequence numbers of conversions that another report supersedes.

    Args:
        events: the events.
        earliest_time_parameter: name of the parameter with the earliest instant to read; None for all time.
        any_revenue: whether any event with revenue converts.
    """
    superseded = compiled_source(
        _superseded_conversions_query, events, earliest_time_parameter, any_revenue
    ).as_subquery("superseded_conversions")
    return sa.select(superseded.c.seq)


def _superseded_conversions_query(
    events: Any, earliest_time_parameter: str | None, any_revenue: bool
) -> Query:
    """Reads events by each order id separately: few events have one, and engines skip rows without it."""
    c = events.c
    reports = select_event_reports(c, canonical_name(c.event_name), earliest_time_parameter).where(
        is_conversion(c, any_revenue_converts=any_revenue)
    )
    if events is not EVENTS:
        with_id = reports.where(sa.or_(*(c[id_].is_not(None) for id_ in ORDER_ID_COLUMNS)))
        return superseded_reports(materialized_cte(with_id, "reports"), order_id_links(events))
    queries = (
        reports.where(c[name].is_not(None), *(c[other].is_(None) for other in ORDER_ID_COLUMNS[:place]))
        for place, name in enumerate(ORDER_ID_COLUMNS)
    )
    return superseded_reports(materialized_cte(sa.union_all(*queries), "reports"), order_id_links())


def select_event_reports(
    c: Any, kind: Expression, earliest_time_parameter: str | None, *extra_columns: Expression
) -> sa.Select[Any]:
    """Selects the events of the workspace with the columns of `report_columns`.

    Args:
        c: the columns of the events.
        kind: as in `report_columns`.
        earliest_time_parameter: as in `superseded_conversion_seqs`.
        extra_columns: further columns to select.
    """
    query = sa.select(*report_columns(c, kind), *extra_columns).where(c.workspace_id == WORKSPACE)
    if earliest_time_parameter is None:
        return query
    return query.where(
        c.timestamp >= declare_parameter(earliest_time_parameter, sa.DateTime()),
        c.timestamp < END_WITH_REPEATS,
    )


def report_columns(c: Any, kind: Expression) -> list[Expression]:
    """Returns the columns that `superseded_reports` reads; reports of different ``kind`` never supersede each other."""
    columns = (c[name] for name in ("seq", "timestamp", *ORDER_ID_COLUMNS))
    return [*columns, kind.label("what"), report_precedence(c).label("standing")]


def superseded_reports(
    reports: sa.CTE,
    links: sa.CTE,
    *,
    only_kind_with_repeats: str | None = None,
    may_be_of_providers: bool = True,
) -> Query:
    """Selects the reports that another one supersedes: one of higher precedence, or an earlier equal one.

    Args:
        reports: with the columns of `report_columns`.
        links: as `order_id_links` returns them.
        only_kind_with_repeats: the kind of which a source's second report is a repeat; None for all kinds.
        may_be_of_providers: False when all reports were tracked by clients.
    """
    if not may_be_of_providers:
        return _recently_repeated_tracked_events(reports, only_kind_with_repeats)
    report, better = (
        reports.alias("report").c,
        _provider_reports_by_order_id(reports, links).alias("better").c,
    )
    earlier = sa.or_(
        better.timestamp < report.timestamp,
        sa.and_(better.timestamp == report.timestamp, better.seq < report.seq),
    )
    same_again = sa.and_(better.standing == report.standing, earlier)
    if only_kind_with_repeats is not None:
        same_again = sa.and_(same_again, report.what == only_kind_with_repeats)
    superseded = sa.and_(
        is_within_repeat_window(report, better), sa.or_(better.standing > report.standing, same_again)
    )
    queries = (
        sa.select(report.seq).join_from(
            report.seq.table,
            better.seq.table,
            sa.and_(report[name] == better.key, report.what == better.what),
        )
        for name in ORDER_NAME_COLUMNS
    )
    return sa.union_all(
        *(query.where(superseded) for query in queries),
        _recently_repeated_tracked_events(reports, only_kind_with_repeats),
    )


def charge_per_refund(refunds: Any, charges: Any, links: sa.CTE, *charge_columns: str) -> sa.Subquery:
    """Returns the charge of each refund's order, by order id or payment id, as `charge_of_refund` does in the core.

    It is the latest charge that is not after the refund, else the earliest after it. A charge with an id of the refund
    precedes one that only other events link with it.

    Args:
        refunds: with sequence numbers, timestamps and `ORDER_NAME_COLUMNS`; its name is unique in the statement.
        charges: likewise.
        links: as `order_id_links` returns them.
        charge_columns: columns of the charge to include, next to ``refund``, the sequence number of the refund.
    """
    keyed = sa.select(refunds.c.seq, refunds.c.timestamp, unnested_order_names(refunds.c)).subquery(
        "refund_ids"
    )
    linked = rows_by_linked_order_id(keyed, links, refunds.name)
    pairs = sa.union_all(
        *(
            query
            for id_ in ORDER_NAME_COLUMNS
            for query in (
                _refunds_with_charges(refunds, charges, refunds.c[id_] == charges.c[id_], 0, charge_columns),
                _refunds_with_charges(linked, charges, linked.c.key == charges.c[id_], 1, charge_columns),
            )
        )
    ).subquery("paid")
    nearest = (pairs.c.is_linked, pairs.c.is_after, pairs.c.apart, pairs.c.seq_apart)
    place = sa.func.row_number().over(partition_by=pairs.c.refund, order_by=nearest).label("place")
    placed = sa.select(pairs, place).subquery("placed")
    return sa.select(placed).where(placed.c.place == 1).subquery("sale")


def _refunds_with_charges(
    refunds: Any, charges: Any, is_same_order: Expression, is_linked: int, charge_columns: tuple[str, ...]
) -> sa.Select[Any]:
    """Selects pairs of a refund and a charge of its order, with how near in time they are."""
    charge, refund = charges.c, refunds.c
    not_after = sa.or_(
        charge.timestamp < refund.timestamp,
        sa.and_(charge.timestamp == refund.timestamp, charge.seq <= refund.seq),
    )
    apart = sa.func.abs(fn.EpochMicroseconds(charge.timestamp) - fn.EpochMicroseconds(refund.timestamp))
    nearness = (
        sa.case((not_after, 0), else_=1).label("is_after"),
        apart.label("apart"),
        sa.case((not_after, -charge.seq), else_=charge.seq).label("seq_apart"),
    )
    columns = (
        refund.seq.label("refund"),
        *(charge[name] for name in ("timestamp", "seq", *charge_columns)),
        *nearness,
        sa.literal_column(str(is_linked), sa.Integer).label("is_linked"),
    )
    return sa.select(*columns).join_from(refunds, charges, is_same_order)


def _provider_reports_by_order_id(reports: sa.CTE, links: sa.CTE) -> sa.CTE:
    """Returns the reports of revenue providers, one row per id of their order, linked ids included."""
    c = reports.c
    query = sa.select(c.seq, c.timestamp, c.what, c.standing, unnested_order_ids(c)).where(c.standing != "")
    own = materialized_cte(query, "of_providers")
    linked = rows_by_linked_order_id(own, links, "of_providers")
    return materialized_cte(sa.union_all(sa.select(own), sa.select(linked)), "by_any_id")


def _recently_repeated_tracked_events(reports: sa.CTE, only_kind: str | None) -> sa.Select[Any]:
    """Selects tracked events that repeat an event of the same order id, else payment id, within 7 days."""
    c = reports.alias("tracked").c
    order_id = sa.func.coalesce(c.order_id, c.payment_id)
    at = fn.EpochMicroseconds(c.timestamp)
    before = sa.func.lag(at).over(partition_by=(c.what, order_id), order_by=(c.timestamp, c.seq))
    query = sa.select(c.seq, (at - before).label("after")).where(c.standing == "", order_id.is_not(None))
    if only_kind is not None:
        query = query.where(c.what == only_kind)
    later = query.subquery("with_time_since_previous")
    return sa.select(later.c.seq).where(later.c.after < REPEAT_MICROSECONDS)
