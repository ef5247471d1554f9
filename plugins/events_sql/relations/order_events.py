"""Creates a temporary table of the conversion and payment events of selected persons and of their orders.

Events of others are included when they report the same orders, because an event is not a conversion when
the same order already converted within a week, whoever the earlier event belongs to.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.related_visitors import ORDER_EVENTS, SELECTED_EVENTS
from plugins.events_sql.relations.order_deduplication import ORDER_ID_COLUMNS
from plugins.events_sql.relations.relation_rows import required_columns
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import (
    CONVERSION_NAMES,
    START,
    WORKSPACE,
    bind_parameters,
    compiled_source,
)
from plugins.events_sql.sql.time_spans import span_with_repeats
from service_core.plugin import QueryScope

_SELECTED_ORDERS: Final = sa.table("selected_orders", sa.column("id", sa.Text))
"""The ids of the selected persons' orders."""

_EXPANSIONS: Final = 2
"""How often the ids of events with an id of the orders are added: as many events may link two ids of an order."""

_ALL_ORDERS: Final = sa.table("all_orders", sa.column("id", sa.Text))


def create_order_events_table(
    scope: QueryScope, conversion_columns: frozenset[str], runner: StatementRunner
) -> None:
    """Creates `related_visitors.ORDER_EVENTS` with events of the selected persons and others of the same orders.

    Each kind of order id is searched by itself: one search for all three would scan the table instead of using
    the indexes. Usually no other person has such an id, and the table stays small.

    Args:
        scope: workspace, instants and which events convert.
        conversion_columns: columns of conversions that are read; `related_visitors.SELECTED_EVENTS` has them.
        runner: runs the statements of the read.
    """
    names = sorted({*required_columns(conversion_columns), "is_test"})
    values = bind_parameters(scope, span_with_repeats(scope.span))
    runner.create_temp_table(_SELECTED_ORDERS.name, deferred_statement(_selected_order_ids))
    other = compiled_source(_unselected_events_of_selected_orders, "seq").as_subquery("other", **values)
    has_others = bool(runner.fetch_rows(sa.select(other.c.seq).limit(1)))
    for _ in range(_EXPANSIONS if has_others else 0):
        _add_ids_that_others_name(values, runner)
    events = compiled_source(_order_events_query, has_others, *names).as_subquery("order_event", **values)
    runner.create_temp_table(ORDER_EVENTS.name, sa.select(*events.c))


def _add_ids_that_others_name(values: Mapping[str, Any], runner: StatementRunner) -> None:
    """Adds the ids of the events of others to those of the selected orders: an event may name the id of a further report."""
    others = compiled_source(_unselected_events_of_selected_orders, *ORDER_ID_COLUMNS)
    ids = others.as_subquery("named", **values)
    named = (sa.select(ids.c[name].label("id")).where(ids.c[name].is_not(None)) for name in ORDER_ID_COLUMNS)
    runner.create_temp_table(_ALL_ORDERS.name, sa.union(sa.select(_SELECTED_ORDERS.c.id), *named))
    runner.create_temp_table(_SELECTED_ORDERS.name, sa.select(_ALL_ORDERS.c.id))


def _selected_order_ids() -> sa.CompoundSelect[Any]:
    events = SELECTED_EVENTS.c
    return sa.union(
        *(sa.select(events[id_].label("id")).where(events[id_].is_not(None)) for id_ in ORDER_ID_COLUMNS)
    )


def _unselected_events_of_selected_orders(*column_names: str) -> sa.CompoundSelect[Any]:
    """Selects events of others that share an order id and may convert or move money; once per shared id."""
    return sa.union_all(*(_unselected_order_events_with_id(id_, *column_names) for id_ in ORDER_ID_COLUMNS))


def _unselected_order_events_with_id(order_id_column: str, *column_names: str) -> sa.Select[Any]:
    selected, c = SELECTED_EVENTS.c, EVENTS.c
    is_selected = sa.tuple_(c.timestamp, c.seq).in_(sa.select(selected.timestamp, selected.seq))
    conditions = fn.UnindexedCondition(
        sa.and_(c.workspace_id == WORKSPACE, *_is_conversion_or_money_event(c)), c[order_id_column]
    )
    return sa.select(*(c[name] for name in column_names)).where(
        conditions, c[order_id_column].in_(sa.select(_SELECTED_ORDERS.c.id)), sa.not_(is_selected)
    )


def _order_events_query(has_others: bool, *column_names: str) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """Selects events that may convert or move money: of the selected persons, and of others with the same orders."""
    selected = SELECTED_EVENTS.c
    selected_query = sa.select(*(selected[name] for name in column_names), selected.person_no).where(
        *_is_conversion_or_money_event(selected)
    )
    if not has_others:
        return selected_query
    others = _unselected_events_of_selected_orders(*column_names).subquery("others")
    nobody = sa.cast(sa.null(), selected.person_no.type)
    return sa.union_all(selected_query, sa.select(*others.c, nobody).distinct())


def _is_conversion_or_money_event(c: Any) -> list[sa.ColumnElement[bool]]:
    return [c.timestamp >= START, sa.or_(c.revenue.is_not(None), fn.InArray(c.event_name, CONVERSION_NAMES))]
