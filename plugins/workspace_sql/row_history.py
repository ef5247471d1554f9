"""Rows as they were at an earlier instant: each row says when it was recorded, and what is replaced is kept until then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID, uuid4

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant, plain_type
from plugins.workspace_sql.records import METADATA, RECORDED_AT, cascading_reference_column
from plugins.workspace_sql.statements import upsert

_ROWS_PER_LOOKUP: Final = 500
"""Keys in one query: engines limit the number of bound values."""

REPLACED_ROWS: Final = sa.Table(
    "replaced_rows",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    cascading_reference_column("workspaces", nullable=True),
    sa.Column("table_name", sa.Text, nullable=False),
    sa.Column("recorded_until", Instant, nullable=False, index=True),
    sa.Column("content", sa.JSON, nullable=False),
    sa.Index("ix_replaced_rows_until", "workspace_id", "recorded_until"),
)
"""One row per write that replaced or deleted rows of a table with a history: the rows as they were until then."""

Row = Mapping[str, Any]
Key = tuple[Any, ...]


def keep_replaced_rows(
    connection: sa.Connection,
    table: sa.Table,
    condition: sa.ColumnElement[bool],
    now: datetime,
) -> None:
    """Keeps the rows that meet a condition, before they are replaced or deleted at ``now``."""
    rows = fetch_plain_rows(connection, table, condition)
    if not rows:
        return
    entry = {
        "id": uuid4(),
        "workspace_id": _owner_of(table, rows[0]),
        "table_name": table.name,
        "recorded_until": now,
        "content": [{name: _json_of(value) for name, value in row.items()} for row in rows],
    }
    connection.execute(sa.insert(REPLACED_ROWS), entry)


def save_rows_keeping_replaced(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[Row],
    now: datetime,
    *,
    unversioned_columns: Sequence[str] = (),
    kept_columns: Sequence[str] = (),
    update_condition: Callable[[Any], sa.ColumnElement[bool]] | None = None,
) -> None:
    """Adds or replaces rows by their primary key. Rows whose content changes are recorded at ``now``.

    Args:
        connection: in a transaction that holds the lock of the rows.
        table: with a history.
        rows: all with the same columns, without ``recorded_at``; of two with one key the last one counts.
        now: when they are recorded.
        unversioned_columns: a row that differs in nothing else has not changed.
        kept_columns: columns that stay as they are in a present row.
        update_condition: as in `upsert`.
    """
    for start in range(0, len(rows), _ROWS_PER_LOOKUP):
        batch = {key_of(table, row): row for row in rows[start : start + _ROWS_PER_LOOKUP]}
        present = _find_rows(connection, table, batch)
        ignored = {*unversioned_columns, *kept_columns}
        same = {
            key
            for key, row in batch.items()
            if key in present
            and all(present[key][name] == value for name, value in row.items() if name not in ignored)
        }
        replaced = [key for key in present if key not in same]
        if replaced:
            keep_replaced_rows(connection, table, _has_key(table, replaced), now)
        for keys, kept in ((same, {*kept_columns, RECORDED_AT}), (batch.keys() - same, {*kept_columns})):
            written = [{**row, RECORDED_AT: now} for key, row in batch.items() if key in keys]
            if written:
                save = upsert(
                    connection, table, written[0], kept_columns=kept, update_condition=update_condition
                )
                connection.execute(save, written)


def rows_as_of(
    connection: sa.Connection,
    table: sa.Table,
    replaced: Mapping[str, Sequence[Row]],
    workspace_id: UUID,
    as_of: datetime,
) -> dict[Key, dict[str, Any]]:
    """Returns the rows of a table at an instant by primary key, with plain values.

    Args:
        connection: reads one state of the database.
        table: with a history.
        replaced: the rows of each table that were replaced after the instant; see `read_rows_replaced_after`.
        workspace_id: whose rows; tables without an owner give all.
        as_of: the instant.
    """
    present = fetch_plain_rows(connection, table, *_is_owned_by(table, workspace_id))
    earlier = (_row_of_json(table, row) for row in replaced.get(table.name, ()))
    return {
        key_of(table, row): row for rows in (present, earlier) for row in rows if row[RECORDED_AT] <= as_of
    }


def read_rows_replaced_after(
    connection: sa.Connection, workspace_id: UUID, as_of: datetime, table: sa.Table | None = None
) -> dict[str, list[Row]]:
    """Returns the rows, of one table or of all, that were replaced or deleted after an instant; the earliest ones last."""
    column = REPLACED_ROWS.c
    query = (
        sa.select(column.table_name, column.content)
        .where(
            sa.or_(column.workspace_id == workspace_id, column.workspace_id.is_(None)),
            column.recorded_until > as_of,
        )
        .order_by(column.recorded_until.desc(), column.id)
    )
    if table is not None:
        query = query.where(column.table_name == table.name)
    replaced: dict[str, list[Row]] = {}
    for name, rows in connection.execute(query):
        replaced.setdefault(name, []).extend(rows)
    return replaced


def fetch_plain_rows(
    connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> list[dict[str, Any]]:
    """Returns rows with their values as they are stored."""
    columns = (sa.type_coerce(column, plain_type(column.type)).label(column.name) for column in table.columns)
    return [dict(row) for row in connection.execute(sa.select(*columns).where(*conditions)).mappings()]


def plain_table(table: sa.Table) -> Any:
    """Returns the table with column types that give texts, numbers, times, ids, bytes and JSON data."""
    return sa.table(
        table.name, *(sa.column(column.name, plain_type(column.type)) for column in table.columns)
    )


def key_of(table: sa.Table, row: Row) -> Key:
    """Returns the primary key of a row."""
    return tuple(row[column.name] for column in table.primary_key)


def _find_rows(connection: sa.Connection, table: sa.Table, keys: Mapping[Key, Any]) -> dict[Key, Row]:
    query = sa.select(table).where(_has_key(table, list(keys)))
    rows = (dict(row) for row in connection.execute(query).mappings())
    return {key_of(table, row): row for row in rows}


def _has_key(table: sa.Table, keys: Sequence[Key]) -> sa.ColumnElement[bool]:
    columns = list(table.primary_key)
    return sa.tuple_(*columns).in_(keys) if len(columns) > 1 else columns[0].in_([key for (key,) in keys])


def _owner_column(table: sa.Table) -> str | None:
    return "workspace_id" if "workspace_id" in table.c else "id" if table.name == "workspaces" else None


def _owner_of(table: sa.Table, row: Row) -> UUID | None:
    owner = _owner_column(table)
    return None if owner is None else row[owner]


def _is_owned_by(table: sa.Table, workspace_id: UUID) -> Iterator[sa.ColumnElement[bool]]:
    owner = _owner_column(table)
    if owner is not None:
        yield table.c[owner] == workspace_id


def _json_of(value: Any) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case UUID():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return value


def _row_of_json(table: sa.Table, row: Row) -> dict[str, Any]:
    """Returns a kept row with plain values. A column that the row lacks is empty."""
    return {
        column.name: _value_of_json(plain_type(column.type), row.get(column.name)) for column in table.columns
    }


def _value_of_json(type_: Any, value: Any) -> Any:
    if value is None:
        return None
    parse = next((parse for kind, parse in _PARSERS if isinstance(type_, kind)), None)
    return value if parse is None else parse(value)


_PARSERS: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (Instant, datetime.fromisoformat),
    (sa.Date, date.fromisoformat),
    (sa.Uuid, UUID),
    (sa.LargeBinary, bytes.fromhex),
)
