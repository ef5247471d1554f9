"""Writes rows of a ClickHouse session: blocks of rows, and derived rows that replace older ones."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final, Protocol, runtime_checkable
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.tables import IdNumber
from plugins.events_sql.sql.conditions import Expression

CHANGED_NUMBERS: Final = sa.table("changed_numbers", sa.column("number", IdNumber))
"""Sessions of a batch, or visitors whose owner changes."""


@runtime_checkable
class InsertSession(Protocol):
    """The additional methods of a ClickHouse session."""

    def create_temp_table_from_rows(self, table: sa.TableClause, rows: Sequence[Sequence[Any]]) -> None:
        """Creates or replaces a temporary table of the session from rows."""

    def insert_block_once_per_token(self, table: sa.Table, rows: Sequence[Sequence[Any]], token: str) -> None:
        """Inserts rows in one block; a block whose token was inserted before is ignored."""


def id_number(workspace: UUID, prefixed_id: str) -> int:
    """Returns the number of an id or session: 127 bits of a digest, so numbers need no sequence."""
    digest = blake2b(workspace.bytes + prefixed_id.encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big") >> 1


def set_changed_numbers(writer: StatementRunner, numbers: Iterable[int]) -> None:
    """Creates the temporary table ``changed_numbers`` with these numbers."""
    insert_session(writer).create_temp_table_from_rows(CHANGED_NUMBERS, [(no,) for no in numbers])


def insert_versioned_and_mark_deleted(
    writer: StatementRunner,
    version: int,
    table: sa.Table,
    new_rows: sa.SelectBase,
    delete_where: list[Expression],
) -> None:
    """Inserts rows of a derived table and marks the older rows that meet conditions as deleted.

    Args:
        writer: runs the statement.
        version: the version of this append; the new rows get the next one, so they win over the deletion.
        table: the derived table.
        new_rows: the new rows, without version and deletion flag.
        delete_where: conditions of the rows to delete; none are deleted without conditions.
    """
    names = [c.name for c in table.columns]
    rows: Any = sa.select(*new_rows.subquery("new_rows").c, sa.literal(version + 1), sa.literal(0))
    if delete_where:
        deleted = sa.select(*table.c, sa.literal(version), sa.literal(1)).where(*delete_where)
        rows = sa.union_all(deleted, rows)
    target = sa.table(table.name, *(sa.column(name) for name in (*names, "version", "is_deleted")))
    writer.fetch_rows(sa.insert(target).from_select([c.name for c in target.columns], rows))


def insert_block(
    writer: StatementRunner, table: sa.Table, rows: Sequence[Sequence[Any]], token: str = ""
) -> None:
    """Inserts rows in one block; rows of a derived table include their version and deletion flag."""
    insert_session(writer).insert_block_once_per_token(table, rows, token)


def insert_session(writer: StatementRunner) -> InsertSession:
    """Returns the session of a writer on ClickHouse."""
    session = writer.lazily_opened_session
    assert isinstance(session, InsertSession)
    return session
