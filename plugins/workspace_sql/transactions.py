"""Transactions over what a workspace owns, in SQL: records, audit log and kept answers commit together."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.changes_tables import AUDIT, IDEMPOTENCY_RECORDS, RESOURCE_KEYS, RESOURCES
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.postbacks import cancel
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.workspace_triggers import SqlOwner
from service_core.plugin import (
    NO_FILTER,
    AuditEntry,
    AuditFilter,
    KeysetCursor,
    Resource,
    Transaction,
    UniqueKeyConflict,
)

_Record = TypeVar("_Record", bound=Resource)

_PLACE: Final = RESOURCES.c.created_at, RESOURCES.c.id
"""Where a record stands in a list."""

_MARKS: Final = {"undoable", "undone_by", "undone_at"}
"""Fields of an entry that are told by columns of their own."""


class SqlUnits:
    """Implements the port `Units`."""

    _database: Database

    @asynccontextmanager
    async def read(self, workspace_id: UUID) -> AsyncIterator[Transaction]:
        """A transaction that only reads."""
        async with self._database.read() as connection:
            yield _transaction(connection, workspace_id)

    @asynccontextmanager
    async def write(
        self, workspace_id: UUID, idempotency_digest: str | None = None
    ) -> AsyncIterator[Transaction]:
        """A transaction that has the workspace to itself, from its start."""
        async with self._database.write(workspace_id, idempotency_digest=idempotency_digest) as connection:
            yield _transaction(connection, workspace_id)


def _transaction(connection: AsyncConnection, workspace_id: UUID) -> Transaction:
    bound = connection, workspace_id
    return Transaction(_Resources(*bound), _Audit(*bound), _Replays(*bound), SqlOwner(*bound))


class _Resources:
    def __init__(self, connection: AsyncConnection, workspace_id: UUID) -> None:
        self._connection = connection
        self._workspace_id = workspace_id

    async def get(self, model: type[_Record], resource_id: UUID) -> _Record | None:
        query = self._live(model).where(RESOURCES.c.id == resource_id)
        state = (await self._connection.execute(query)).scalar()
        return None if state is None else model.model_validate(state)

    async def get_many(self, model: type[_Record], ids: Collection[UUID]) -> dict[UUID, _Record]:
        found = await self._connection.execute(self._live(model).where(RESOURCES.c.id.in_(ids)))
        records = [model.model_validate(state) for state in found.scalars()]
        return {record.id: record for record in records}

    async def list_all(
        self,
        model: type[_Record],
        *,
        field_filters: Mapping[str, str] = NO_FILTER,
        mentioning_id: UUID | None = None,
    ) -> list[_Record]:
        query = self._newest(model, field_filters)
        if mentioning_id is not None:
            query = query.where(sa.cast(RESOURCES.c.state, sa.Text).contains(f'"{mentioning_id}"'))
        return await self._found(model, query)

    async def list_page(
        self,
        model: type[_Record],
        limit: int,
        *,
        after: KeysetCursor | None = None,
        field_filters: Mapping[str, str] = NO_FILTER,
    ) -> list[_Record]:
        query = self._newest(model, field_filters).limit(limit)
        if after is not None:
            mark = sa.tuple_(after.created_at, after.id, types=[column.type for column in _PLACE])
            query = query.where(sa.tuple_(*_PLACE) < mark)
        return await self._found(model, query)

    async def search_by_name(self, model: type[_Record], text: str, limit: int) -> list[_Record]:
        names, sought = RESOURCES.c.names, text.lower()
        # LIKE reads signs of its own into a text, and SQLite refuses it a long one.
        holds = sa.func.replace(names, sought, "") != names
        starts = sa.func.substr(names, 1, len(sought)) == sought
        query = self._live(model).where(holds).order_by(starts.desc(), names, RESOURCES.c.id)
        return await self._found(model, query.limit(limit))

    async def _found(self, model: type[_Record], query: sa.Select[tuple[Any]]) -> list[_Record]:
        return [model.model_validate(state) for state in (await self._connection.execute(query)).scalars()]

    async def save(self, record: Resource) -> None:
        row = {
            "state": record.state,
            "updated_at": record.updated_at,
            "deleted_at": None,
            "names": record.search_text,
        }
        replaced = await self._connection.execute(sa.update(RESOURCES).where(self._is(record)).values(row))
        if replaced.rowcount == 0:
            described = {
                "id": record.id,
                "workspace_id": self._workspace_id,
                "type": record.resource_type,
                "created_at": record.created_at,
            }
            await self._connection.execute(sa.insert(RESOURCES).values({**row, **described}))
        await self._release(record)
        for key in record.unique_keys():
            await self._claim(key, record.id)

    async def remove(self, record: Resource, now: datetime) -> None:
        gone = sa.update(RESOURCES).where(self._is(record)).values(deleted_at=now)
        await self._connection.execute(gone)
        await self._release(record)
        await self._connection.run_sync(cancel, record.id, now)

    async def is_key_in_use(self, key: str) -> bool:
        query = sa.select(sa.literal(1)).where(RESOURCE_KEYS.c.key == key)
        return (await self._connection.execute(query)).first() is not None

    async def _claim(self, key: str, holder: UUID) -> None:
        claim = sa.insert(RESOURCE_KEYS).values(key=key, resource_id=holder)
        try:
            async with self._connection.begin_nested():
                await self._connection.execute(claim)
        except IntegrityError:
            raise UniqueKeyConflict(key) from None

    async def _release(self, record: Resource) -> None:
        await self._connection.execute(
            sa.delete(RESOURCE_KEYS).where(RESOURCE_KEYS.c.resource_id == record.id)
        )

    def _is(self, record: Resource) -> sa.ColumnElement[bool]:
        return sa.and_(RESOURCES.c.id == record.id, RESOURCES.c.workspace_id == self._workspace_id)

    def _newest(self, model: type[Resource], matching: Mapping[str, str]) -> sa.Select[tuple[Any]]:
        fits = (RESOURCES.c.state[name].as_string() == text for name, text in matching.items())
        return self._live(model).where(*fits).order_by(*(column.desc() for column in _PLACE))

    def _live(self, model: type[Resource]) -> sa.Select[tuple[Any]]:
        return sa.select(RESOURCES.c.state).where(
            RESOURCES.c.workspace_id == self._workspace_id,
            RESOURCES.c.type == model.resource_type,
            RESOURCES.c.deleted_at.is_(None),
        )


class _Audit:
    def __init__(self, connection: AsyncConnection, workspace_id: UUID) -> None:
        self._connection = connection
        self._workspace_id = workspace_id

    async def add(self, entry: AuditEntry) -> None:
        row = {
            "id": entry.id,
            "workspace_id": self._workspace_id,
            "type": entry.resource.type,
            "resource_id": entry.resource.id,
            "actor_id": entry.actor.id,
            "created_at": entry.created_at,
            "entry": entry.model_dump(mode="json", by_alias=True, exclude=_MARKS),
        }
        await self._connection.execute(sa.insert(AUDIT).values(row))

    async def get(self, entry_id: UUID) -> AuditEntry | None:
        found = await self._entries(self._own().where(AUDIT.c.id == entry_id))
        return found[0] if found else None

    async def list_entries(self, audit_filter: AuditFilter, limit: int, offset: int) -> list[AuditEntry]:
        query = self._own().where(AUDIT.c.created_at <= audit_filter.until)
        if audit_filter.since is not None:
            query = query.where(AUDIT.c.created_at >= audit_filter.since)
        wanted = (
            (AUDIT.c.type, audit_filter.resource_type),
            (AUDIT.c.resource_id, audit_filter.resource_id),
            (AUDIT.c.actor_id, audit_filter.actor_id),
        )
        query = query.where(*(column == value for column, value in wanted if value is not None))
        newest = query.order_by(AUDIT.c.created_at.desc(), AUDIT.c.id.desc())
        return await self._entries(newest.limit(limit).offset(offset))

    async def mark_undone(self, entry_id: UUID, undone_by: UUID, now: datetime) -> bool:
        open_entry = (
            AUDIT.c.id == entry_id,
            AUDIT.c.workspace_id == self._workspace_id,
            AUDIT.c.undone_by.is_(None),
        )
        mark = sa.update(AUDIT).where(*open_entry).values(undone_by=undone_by, undone_at=now)
        return bool((await self._connection.execute(mark)).rowcount)

    def _own(self) -> sa.Select[Any]:
        columns = AUDIT.c.entry, AUDIT.c.undone_by, AUDIT.c.undone_at
        return sa.select(*columns).where(AUDIT.c.workspace_id == self._workspace_id)

    async def _entries(self, query: sa.Select[Any]) -> list[AuditEntry]:
        rows = (await self._connection.execute(query)).mappings()
        return [
            AuditEntry.model_validate(
                {**row["entry"], "undone_by": row["undone_by"], "undone_at": row["undone_at"]}
            )
            for row in rows
        ]


class _Replays:
    def __init__(self, connection: AsyncConnection, workspace_id: UUID) -> None:
        self._connection = connection
        self._workspace_id = workspace_id

    async def find_answer(self, digest: str, now: datetime) -> Mapping[str, Any] | None:
        query = sa.select(IDEMPOTENCY_RECORDS.c.answer).where(
            IDEMPOTENCY_RECORDS.c.ticket == digest,
            IDEMPOTENCY_RECORDS.c.workspace_id == self._workspace_id,
            IDEMPOTENCY_RECORDS.c.expires_at > now,
        )
        found: Mapping[str, Any] | None = (await self._connection.execute(query)).scalar()
        return found

    async def save_answer(
        self, digest: str, answer: Mapping[str, Any], now: datetime, until: datetime
    ) -> None:
        over = sa.select(IDEMPOTENCY_RECORDS.c.ticket).where(IDEMPOTENCY_RECORDS.c.expires_at <= now)
        free = over.with_for_update(skip_locked=True)  # another transaction may be at the same ones
        await self._connection.execute(
            sa.delete(IDEMPOTENCY_RECORDS).where(IDEMPOTENCY_RECORDS.c.ticket.in_(free))
        )
        row = {
            "ticket": digest,
            "workspace_id": self._workspace_id,
            "answer": dict(answer),
            "expires_at": until,
        }
        await self._connection.execute(sa.insert(IDEMPOTENCY_RECORDS).values(row))
