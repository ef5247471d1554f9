"""The first order of each person, and the number of orders up to each."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.identity.identity_resolution import joined_to_person
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WORKSPACE
from plugins.events_sql.sql.conditions import comparable_property, predicate_condition
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import (
    PURCHASE_EVENTS,
    RENEWAL_EVENTS,
    RENEWAL_PROPERTY,
    FilterOperator,
    Predicate,
)

ORDER_COUNT_COLUMNS: Final = ("orders_so_far", "microseconds_to_second_order")
"""Columns that count the orders of a person."""


def with_first_order_per_person_flag(payments: sa.Subquery) -> sa.Select[Any]:
    """Returns the payments with ``first_order``: whether an order is the first of its person."""
    joined, number = joined_to_person(payments)
    place = sa.func.row_number().over(
        partition_by=(payments.c.is_order, number), order_by=(payments.c.timestamp, payments.c.seq)
    )
    first = sa.and_(payments.c.is_order, place == 1)
    return sa.select(payments, first.label("first_order")).select_from(joined)


def _renewal_order_ids() -> sa.Select[Any]:
    """Selects the ids of orders that a report calls a renewal; not one of a bot or a test."""
    c = EVENTS.c
    renewal = Predicate(RENEWAL_PROPERTY, FilterOperator.EQ, "true")
    return sa.select(c.order_id).where(
        c.workspace_id == WORKSPACE,
        name_in(c.event_name, PURCHASE_EVENTS),
        c.order_id.is_not(None),
        sa.not_(c.is_bot),
        sa.not_(c.is_test),
        predicate_condition(comparable_property(c.event_data, RENEWAL_PROPERTY), renewal),
    )


def with_order_counts(payments: sa.Subquery) -> sa.Select[Any]:
    """Returns the payments with `ORDER_COUNT_COLUMNS` and ``first_order``. A renewal counts as first order only."""
    joined, number = joined_to_person(payments)
    by_time = (payments.c.timestamp, payments.c.seq)
    place = sa.func.row_number().over(partition_by=(payments.c.is_order, number), order_by=by_time)
    placed = (
        sa.select(payments, number.label("buyer_no"), place.label("place")).select_from(joined).subquery()
    )
    c = placed.c
    is_first = sa.and_(c.is_order, c.place == 1)
    is_renewal = sa.or_(
        name_in(c.event_name, RENEWAL_EVENTS),
        sa.func.coalesce(c.order_id.in_(_renewal_order_ids()), sa.false()),
    )
    is_counted = sa.and_(c.is_order, sa.or_(c.place == 1, sa.not_(is_renewal)))
    one, zero = sa.literal_column("1", sa.BigInteger), sa.literal_column("0", sa.BigInteger)
    counted_so_far = sa.func.sum(sa.case((is_counted, one), else_=zero)).over(
        partition_by=c.buyer_no, order_by=(c.timestamp, c.seq), rows=(None, 0)
    )
    at = fn.EpochMicroseconds(c.timestamp)
    second_at = sa.func.min(sa.case((sa.and_(is_counted, c.place > 1), at))).over(partition_by=c.buyer_no)
    return sa.select(
        *(c[column.name] for column in payments.c),
        is_first.label("first_order"),
        sa.case((c.is_order, sa.cast(counted_so_far, sa.BigInteger))).label("orders_so_far"),
        sa.case((is_first, second_at - at)).label("microseconds_to_second_order"),
    )
