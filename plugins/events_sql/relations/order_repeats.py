"""Finds in SQL the events that repeat another report of their order, by the rule of `repeated_order_reports_within_7_days` in the core.

Reports without a device are few or none in most workspaces, so the reports of devices are searched starting from them.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.relations.order_deduplication import (
    REPEAT_MICROSECONDS,
    is_tracked,
    is_within_repeat_window,
    select_event_reports,
    unnested_order_ids,
)
from plugins.events_sql.relations.order_ids import ORDER_NAME_COLUMNS, materialized_cte, unnested_order_names
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import START, CompiledSource, bind_parameters, compiled_source
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import canonical_name, is_conversion, is_order_event, name_in
from plugins.events_sql.sql.time_spans import span_with_repeats
from service_core.plugin import (
    DEVICE_REPORTER,
    PROVIDER_REPORTER,
    REFUND_EVENTS,
    SERVER_REPORTER,
    ConversionSet,
    QueryScope,
    TimeRange,
    is_revenue_event,
)
from service_core.plugin import is_order_event as is_order_event_name

_COPIED: Final = ("seq", "timestamp", "what", "reporter")


def can_report_orders(names: Iterable[str], conversions: ConversionSet) -> bool:
    """Returns whether an event of one of these names may be a conversion or an order."""
    return any(
        name in conversions.names
        or is_order_event_name(name, conversions)
        or (conversions.any_revenue and is_revenue_event(name, conversions))
        for name in names
    )


def repeated_order_seqs(scope: QueryScope, span: TimeRange) -> sa.Select[Any]:
    """Selects the sequence numbers of a span's conversions and orders that repeat another report."""
    repeated = repeated_order_reports(scope.conversions.any_revenue).as_subquery(
        "repeated_orders", **bind_parameters(scope, span_with_repeats(span))
    )
    return sa.select(repeated.c.seq)


def named_events_without_order_repeats(
    names: Collection[str] | None, scope: QueryScope, span: TimeRange
) -> list[Expression]:
    """Returns the conditions that an event has one of the names and repeats no order; none without names."""
    if names is None:
        return []
    named = name_in(EVENTS.c.event_name, names)
    if not can_report_orders(names, scope.conversions):
        return [named]
    return [named, EVENTS.c.seq.not_in(repeated_order_seqs(scope, span))]


def repeated_order_reports(any_revenue: bool) -> CompiledSource:
    """Returns the source of repeats as `repeated_order_reports_within_7_days` finds them in the core, with the column ``seq``.

    It reads events from its parameter `START` on, which lies a week before the first event that matters.
    """
    return compiled_source(_repeated_order_reports_query, any_revenue)


def _repeated_order_reports_query(any_revenue: bool) -> sa.CompoundSelect[Any]:
    c = EVENTS.c
    reports = select_event_reports(
        c, canonical_name(c.event_name), START.key, _reporter(c).label("reporter")
    ).where(
        sa.or_(is_conversion(c, any_revenue_converts=any_revenue), is_order_event(c.event_name)),
        sa.not_(c.is_bot),
        sa.not_(c.is_test),
        sa.not_(name_in(c.event_name, REFUND_EVENTS)),
    )
    queries = (
        reports.where(c.order_id.is_not(None)),
        reports.where(c.order_id.is_(None), c.payment_id.is_not(None)),
        reports.where(c.order_id.is_(None), c.payment_id.is_(None), c.message_id.is_not(None)),
    )
    rows = materialized_cte(sa.union_all(*queries), "order_reports")
    return sa.union_all(_repeats_of_earlier_reports(rows), *_repeats_of_preferred_reporters(rows))


def _reporter(c: Any) -> Expression:
    """Returns who reported an order, as `order_reporter` does in the core."""
    return sa.case(
        (c.from_device, DEVICE_REPORTER), (is_tracked(c), SERVER_REPORTER), else_=PROVIDER_REPORTER
    )


def _repeats_of_earlier_reports(reports: sa.CTE) -> sa.Select[Any]:
    """Selects the reports of an order within 7 days after one of the same kind of reporter."""
    c = reports.c
    copied = [c[name] for name in _COPIED]
    of_clients = sa.select(*copied, sa.func.coalesce(c.order_id, c.payment_id).label("key")).where(
        c.reporter != PROVIDER_REPORTER
    )
    of_providers = sa.select(*copied, unnested_order_names(c)).where(c.reporter == PROVIDER_REPORTER)
    keyed = materialized_cte(sa.union_all(of_clients, of_providers), "keyed_reports").c
    at = fn.EpochMicroseconds(keyed.timestamp)
    before = sa.func.lag(at).over(
        partition_by=(keyed.reporter, keyed.what, keyed.key), order_by=(keyed.timestamp, keyed.seq)
    )
    timed = (
        sa.select(keyed.seq, (at - before).label("after"))
        .where(keyed.key.is_not(None))
        .subquery("with_time_since_previous_report")
    )
    return sa.select(timed.c.seq).where(timed.c.after < REPEAT_MICROSECONDS)


def _repeats_of_preferred_reporters(reports: sa.CTE) -> list[sa.Select[Any]]:
    """Selects the reports whose order a preferred reporter reports less than 7 days before or after."""
    c = reports.c
    without_device = sa.select(*(c[name] for name in _COPIED), unnested_order_ids(c)).where(
        c.reporter != DEVICE_REPORTER
    )
    report = materialized_cte(without_device, "reports_without_device").c
    preferred = reports.alias("preferred").c
    return [
        sa.select(report.seq)
        .join_from(
            report.seq.table,
            preferred.seq.table,
            sa.and_(preferred[name] == report.key, preferred.what == report.what),
        )
        .where(preferred.reporter < report.reporter, is_within_repeat_window(report, preferred))
        for name in ORDER_NAME_COLUMNS
    ]
