"""Statements that many stores need, in the dialect of the connection."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection


def dialect_insert(connection: sa.Connection | AsyncConnection, table: sa.Table) -> Any:
    """Returns an INSERT that supports ON CONFLICT. Only the dialect of the connection is loaded."""
    return import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert(table)


def insert_if_absent(connection: sa.Connection | AsyncConnection, table: sa.Table) -> Any:
    """Returns an INSERT that skips rows which conflict with a present one."""
    return dialect_insert(connection, table).on_conflict_do_nothing()


def upsert(
    connection: sa.Connection | AsyncConnection,
    table: sa.Table,
    columns: Iterable[str],
    *,
    kept_columns: Iterable[str] = (),
    updated_values: Callable[[Any], Mapping[str, Any]] | None = None,
    update_condition: Callable[[Any], sa.ColumnElement[bool]] | None = None,
) -> Any:
    """Returns an INSERT that updates the row with the same primary key.

    Args:
        connection: determines the dialect.
        table: the table to insert into.
        columns: the columns of the rows.
        kept_columns: columns that stay as they are in a present row.
        updated_values: returns the new values of a present row from the given row; None replaces all columns.
        update_condition: returns the condition under which a present row is updated, from the given row; None always updates.
    """
    insert = dialect_insert(connection, table)
    key = [column.name for column in table.primary_key]
    fixed = {*key, *kept_columns}
    given = insert.excluded
    values = (
        updated_values(given)
        if updated_values
        else {name: given[name] for name in columns if name not in fixed}
    )
    where = update_condition(given) if update_condition else None
    return insert.on_conflict_do_update(index_elements=key, set_=values, where=where)


def matches(table: sa.Table, **values: Any) -> sa.ColumnElement[bool]:
    """Returns the condition that columns have these values."""
    return sa.and_(*(table.c[name] == value for name, value in values.items()))


def is_free(table: sa.Table, now: datetime) -> sa.ColumnElement[bool]:
    """Returns the condition that nobody holds a lease of a table with ``holder`` and ``held_until``."""
    return sa.or_(table.c.holder.is_(None), table.c.held_until <= now)


def time_buckets(edges: Sequence[datetime], *extra_buckets: tuple[int, datetime, datetime]) -> sa.CTE:
    """Returns a table expression with the columns ``bucket``, ``low`` and ``high``.

    Args:
        edges: ascending. Each bucket begins at one and ends before the next one.
        extra_buckets: further buckets, with their number, begin and end.
    """
    columns = sa.column("bucket", sa.Integer), sa.column("low", Instant), sa.column("high", Instant)
    bounds = [*extra_buckets, *((position, *pair) for position, pair in enumerate(pairwise(edges)))]
    return sa.values(*columns).data(bounds).cte("buckets")
