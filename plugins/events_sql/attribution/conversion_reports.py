"""The events that convert or move money, and which of them count, as temporary tables of one read.

They are read once: both de-duplications of order reports, the credited conversions and their refunds start from them.
"""

from collections.abc import Mapping
from itertools import starmap
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.relations.order_deduplication import (
    ORDER_ID_COLUMNS,
    report_precedence,
    superseded_reports,
)
from plugins.events_sql.relations.order_ids import (
    materialized_cte,
    order_id_links,
    rows_by_linked_order_id,
    unnested_order_names,
)
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import EVENTS, IdNumber
from plugins.events_sql.sql.compiled_sources import (
    END_WITH_REPEATS,
    WORKSPACE,
    Query,
    SqlType,
    bind_parameters,
    compiled_source,
    declare_parameter,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import (
    canonical_name,
    charge_or_refund_kind,
    is_conversion,
    is_order_event,
)
from service_core.plugin import CHARGE, ORDER_DEDUP_WINDOW, REFUND, QueryScope

PATH_COLUMNS: Final = ("timestamp", "seq", "event_name", "visitor_no", "strong_no")
"""The columns that determine a unit's touch path; a refund has those of its order."""

_START_WITH_REPEATS: Final = declare_parameter("since", sa.DateTime())
_REPORT_COLUMNS: Final[Mapping[str, SqlType]] = {
    **dict.fromkeys(("seq", "revenue"), sa.BigInteger()),
    **dict.fromkeys(("visitor_no", "strong_no"), IdNumber()),
    "timestamp": sa.DateTime(),
    **dict.fromkeys(("event_name", "currency", *ORDER_ID_COLUMNS), sa.Text()),
    **dict.fromkeys(("kind", "canonical", "standing"), sa.Text()),
    **dict.fromkeys(("converts", "is_order_name"), sa.Boolean()),
}
_REPORTS: Final = sa.table("conversion_reports", *starmap(sa.column, _REPORT_COLUMNS.items()))
"""Temporary table of events that convert or move money, with the columns that identify repeated reports."""

_ORDER_IDS: Final = sa.table("refunded_order_ids", sa.column("id", sa.Text()))
"""Temporary table of all ids of the orders that refunds name."""

_FLAG_COLUMNS: Final = ("is_conversion", "is_charge", "is_order", "is_refund")


def counted_reports_table(name: str) -> sa.TableClause:
    """Returns a temporary table of reports with whether each counts as a conversion, charge, order or refund."""
    columns = {**_REPORT_COLUMNS, **dict.fromkeys(_FLAG_COLUMNS, sa.Boolean())}
    return sa.table(name, *starmap(sa.column, columns.items()))


COUNTED_REPORTS: Final = counted_reports_table("counted_reports")
"""Temporary table of the reports of a span, or of all time."""

CHARGES_OF_REFUNDS: Final = counted_reports_table("charges_of_refunds")
"""Temporary table of all reports, of any time, of the orders that refunds in `COUNTED_REPORTS` name."""


def create_counted_reports_table(scope: QueryScope, runner: StatementRunner, *, all_time: bool) -> None:
    """Creates `COUNTED_REPORTS` of all time, or of the span and the weeks around it in which repeats may lie."""
    runner.create_temp_table(_REPORTS.name, deferred_statement(_reports_query, scope, all_time))
    runner.create_temp_table(COUNTED_REPORTS.name, deferred_statement(_counted_reports_query, scope))


def create_charges_of_refunds_table(scope: QueryScope, runner: StatementRunner) -> None:
    """Creates `CHARGES_OF_REFUNDS` for the refunds in `COUNTED_REPORTS`; replaces the reports behind those."""
    runner.create_temp_table(_ORDER_IDS.name, deferred_statement(_ids_of_refunded_orders, scope))
    runner.create_temp_table(_REPORTS.name, deferred_statement(_reports_of_order_ids, scope))
    runner.create_temp_table(CHARGES_OF_REFUNDS.name, deferred_statement(_counted_reports_query, scope))


def _reports_query(scope: QueryScope, all_time: bool) -> sa.Select[Any]:
    source = compiled_source(_reports_of_span_or_all_time, scope.conversions.any_revenue, all_time)
    return _select_reports(source.as_subquery("source_rows", **_report_parameters(scope)))


def _report_parameters(scope: QueryScope) -> dict[str, Any]:
    return bind_parameters(scope, scope.span) | {"since": to_naive_utc(scope.span.start - ORDER_DEDUP_WINDOW)}


def _select_reports(source: Any) -> sa.Select[Any]:
    return sa.select(*(source.c[name] for name in _REPORT_COLUMNS))


def _reports_of_span_or_all_time(any_revenue: bool, all_time: bool) -> sa.Select[Any]:
    c = EVENTS.c
    in_time = [] if all_time else [c.timestamp >= _START_WITH_REPEATS, c.timestamp < END_WITH_REPEATS]
    return _reports_where(any_revenue, *in_time)


def _reports_where(any_revenue: bool, *conditions: Expression) -> sa.Select[Any]:
    c = EVENTS.c
    converts = sa.func.coalesce(is_conversion(c, any_revenue_converts=any_revenue), sa.false())
    columns = (
        *(c[name] for name in (*PATH_COLUMNS, "revenue", "currency", *ORDER_ID_COLUMNS)),
        charge_or_refund_kind(c).label("kind"),
        canonical_name(c.event_name).label("canonical"),
        report_precedence(c).label("standing"),
        converts.label("converts"),
        is_order_event(c.event_name).label("is_order_name"),
    )
    return sa.select(*columns).where(
        c.workspace_id == WORKSPACE, *conditions, sa.or_(converts, c.revenue.is_not(None))
    )


def _counted_reports_query(scope: QueryScope) -> sa.Select[Any]:
    """Selects the reports with whether each counts."""
    converted_once, moved_once = (
        _REPORTS.c.seq.not_in(
            sa.select(
                compiled_source(build)
                .as_subquery(build.__name__.strip("_"), workspace=scope.workspace_id)
                .c.seq
            )
        )
        for build in (_superseded_conversions, _superseded_money)
    )
    c = _REPORTS.c
    marked = sa.select(
        *c,
        sa.and_(c.converts, converted_once).label("is_conversion"),
        sa.and_(c.kind.is_not(None), moved_once).label("moves"),
    ).subquery("marked")
    moves, kind = marked.c.moves, sa.func.coalesce(marked.c.kind, sa.literal(""))
    return sa.select(
        *(marked.c[column.name] for column in c),
        marked.c.is_conversion,
        sa.and_(moves, kind == CHARGE).label("is_charge"),
        sa.and_(moves, kind == CHARGE, marked.c.is_order_name).label("is_order"),
        sa.and_(moves, kind == REFUND).label("is_refund"),
    )


def _superseded_conversions() -> Query:
    c = _REPORTS.c
    has_id = sa.or_(*(c[id_].is_not(None) for id_ in ORDER_ID_COLUMNS))
    return superseded_reports(_comparable_reports(c.canonical, c.converts, has_id), order_id_links())


def _superseded_money() -> Query:
    c = _REPORTS.c
    reports = _comparable_reports(c.kind, c.kind.is_not(None))
    return superseded_reports(reports, order_id_links(), only_kind_with_repeats=CHARGE)


def _comparable_reports(kind: Expression, *conditions: Expression) -> sa.CTE:
    """Returns reports with the columns that `superseded_reports` reads."""
    c = _REPORTS.c
    columns = (*(c[name] for name in ("seq", "timestamp", *ORDER_ID_COLUMNS)), kind.label("what"), c.standing)
    return materialized_cte(sa.select(*columns).where(*conditions), "reports")


def _ids_of_refunded_orders(scope: QueryScope) -> sa.Select[Any]:
    """Selects the ids of refunds, those of their orders, and those under which other reports may supersede the charges."""
    source = compiled_source(_ids_linked_with_refunds).as_subquery(
        "source_rows", workspace=scope.workspace_id
    )
    return sa.select(source.c.key.label("id")).distinct()


def _ids_linked_with_refunds() -> sa.CompoundSelect[Any]:
    refunds, links = COUNTED_REPORTS, order_id_links()
    own = materialized_cte(
        sa.select(unnested_order_names(refunds.c)).where(refunds.c.is_refund), "of_refunds"
    )
    of_charges = rows_by_linked_order_id(own, links, "charges")
    of_reports = rows_by_linked_order_id(of_charges, links, "reports")
    return sa.union_all(sa.select(own.c.key).where(own.c.key.is_not(None)), sa.select(of_reports.c.key))


def _reports_of_order_ids(scope: QueryScope) -> sa.Select[Any]:
    source = compiled_source(_reports_with_id_of_refunded_order, scope.conversions.any_revenue)
    return _select_reports(source.as_subquery("source_rows", **_report_parameters(scope)))


def _reports_with_id_of_refunded_order(any_revenue: bool) -> sa.Select[Any]:
    has_id = sa.or_(*(EVENTS.c[name].in_(sa.select(_ORDER_IDS.c.id)) for name in ORDER_ID_COLUMNS))
    return _reports_where(any_revenue, has_id)
