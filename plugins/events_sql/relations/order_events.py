"""What the conversions and the money of a few persons follow from, without a look at those of all others.

An event is no conversion when the same order had one a week before, whoever it was of.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred
from plugins.events_sql.identity.related_visitors import ORDER_EVENTS, SELECTED_EVENTS
from plugins.events_sql.relations.order_deduplication import ORDER_ID_COLUMNS
from plugins.events_sql.relations.relation_rows import required_columns, span_with_repeats
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import (
    CONVERSION_NAMES,
    START,
    WORKSPACE,
    bind_parameters,
    compiled_source,
)
from service_core.plugin import QueryScope

_SELECTED_ORDERS: Final = sa.table("their_orders", sa.column("id", sa.Text))
"""What the orders of the persons are known by."""


def create_order_events(scan: QueryScope, used: frozenset[str], reader: StatementRunner) -> None:
    """Keep what the persons asked for did as `kin.DEEDS`, and what others did under the same orders.

    Each id of an order is looked for by itself: a look at all three would read the table once, not its indexes.
    Mostly nobody else has one of these, and then there is little to keep.

    Args:
        scan: workspace, instants and what converts.
        used: columns that conversions are asked for; `kin.SELECTED_EVENTS` has them.
    """
    names = sorted({*required_columns(used), "is_test"})
    values = bind_parameters(scan, span_with_repeats(scan.span))
    reader.create_temp_table(_SELECTED_ORDERS.name, deferred(_selected_order_ids))
    other = compiled_source(_events_of_same_orders, "seq").as_subquery("other", **values)
    has_others = bool(reader.fetch_rows(sa.select(other.c.seq).limit(1)))
    deeds = compiled_source(_order_events_query, has_others, *names).as_subquery("deed", **values)
    reader.create_temp_table(ORDER_EVENTS.name, sa.select(*deeds.c))


def _selected_order_ids() -> sa.CompoundSelect[Any]:
    own = SELECTED_EVENTS.c
    return sa.union(
        *(sa.select(own[id_].label("id")).where(own[id_].is_not(None)) for id_ in ORDER_ID_COLUMNS)
    )


def _events_of_same_orders(*names: str) -> sa.CompoundSelect[Any]:
    """Events of others that have an id of theirs, and may convert or move money; once for each such id."""
    return sa.union_all(*(_other_events_with_id(id_, *names) for id_ in ORDER_ID_COLUMNS))


def _other_events_with_id(id_: str, *names: str) -> sa.Select[Any]:
    own, c = SELECTED_EVENTS.c, EVENTS.c
    known = sa.tuple_(c.timestamp, c.seq).in_(sa.select(own.timestamp, own.seq))
    beside = fn.UnindexedCondition(
        sa.and_(c.workspace_id == WORKSPACE, *_is_conversion_or_money_event(c)), c[id_]
    )
    return sa.select(*(c[name] for name in names)).where(
        beside, c[id_].in_(sa.select(_SELECTED_ORDERS.c.id)), sa.not_(known)
    )


def _order_events_query(has_others: bool, *names: str) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """Events that may convert or that move money: those of the persons, and those of others with an order of these."""
    own = SELECTED_EVENTS.c
    theirs = sa.select(*(own[name] for name in names), own.person_no).where(
        *_is_conversion_or_money_event(own)
    )
    if not has_others:
        return theirs
    others = _events_of_same_orders(*names).subquery("others")
    nobody = sa.cast(sa.null(), own.person_no.type)
    return sa.union_all(theirs, sa.select(*others.c, nobody).distinct())


def _is_conversion_or_money_event(c: Any) -> list[sa.ColumnElement[bool]]:
    return [c.timestamp >= START, sa.or_(c.revenue.is_not(None), fn.InArray(c.event_name, CONVERSION_NAMES))]
