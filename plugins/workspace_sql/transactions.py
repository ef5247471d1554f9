"""Transactions over the resources of a workspace: resources, audit log and idempotency records commit together."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.access_tables import WORKSPACES
from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.postbacks import skip_open_postbacks_of_rule
from plugins.workspace_sql.records import RECORDED_AT
from plugins.workspace_sql.row_history import keep_replaced_rows
from plugins.workspace_sql.row_tables import SqlRowTables
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.statements import matches
from plugins.workspace_sql.tables import AUDIT_LOG, IDEMPOTENCY_RECORDS, RESOURCE_KEYS, RESOURCES
from service_core.plugin import (
    NO_FILTER,
    AuditEntry,
    AuditFilter,
    Clock,
    KeysetCursor,
    Resource,
    Transaction,
    UniqueKeyConflict,
)

_Resource = TypeVar("_Resource", bound=Resource)

_SORT_KEY: Final = RESOURCES.c.created_at, RESOURCES.c.id
TYPES_WITH_HISTORY: Final = frozenset({"conversion_rule", "segment", "tracking_link"})
"""Types of resources that change the answers of reads; their earlier states are kept."""

_UNDO_FIELDS: Final = {"undoable", "undone_by", "undone_at"}
"""Fields of an audit entry that are in columns of their own."""


class SqlTransactions(SqlStore):
    """Implements the port `Transactions`."""

    @asynccontextmanager
    async def read(self, workspace_id: UUID) -> AsyncIterator[Transaction]:
        """Opens a transaction that only reads."""
        async with self._database.read() as connection:
            yield transaction_on(connection, workspace_id, self._database.clock)

    @asynccontextmanager
    async def write(
        self, workspace_id: UUID, idempotency_digest: str | None = None
    ) -> AsyncIterator[Transaction]:
        """Opens a transaction that holds the lock of the workspace from its start."""
        async with self._database.write(workspace_id, idempotency_digest=idempotency_digest) as connection:
            yield transaction_on(connection, workspace_id, self._database.clock)


def transaction_on(connection: AsyncConnection, workspace_id: UUID, clock: Clock) -> Transaction:
    """Returns the resources and the audit log of a workspace, read and written by a connection's transaction."""
    bound = connection, workspace_id
    return Transaction(
        _Resources(*bound, clock),
        _AuditLog(*bound),
        _IdempotencyRecords(*bound),
        _WorkspaceTriggers(*bound, clock),
        SqlRowTables(*bound, clock),
    )


class _InTransaction:
    def __init__(self, connection: AsyncConnection, workspace_id: UUID) -> None:
        self._connection = connection
        self._workspace_id = workspace_id


class _RecordingInTransaction(_InTransaction):
    def __init__(self, connection: AsyncConnection, workspace_id: UUID, clock: Clock) -> None:
        super().__init__(connection, workspace_id)
        self._clock = clock


class _Resources(_RecordingInTransaction):
    """Implements the port `ResourceRepository`."""

    async def get(self, model: type[_Resource], resource_id: UUID) -> _Resource | None:
        query = self._select_live(model).where(RESOURCES.c.id == resource_id)
        state = await self._connection.scalar(query)
        return None if state is None else model.model_validate(state)

    async def get_many(self, model: type[_Resource], ids: Collection[UUID]) -> dict[UUID, _Resource]:
        resources = await self._fetch(model, self._select_live(model).where(RESOURCES.c.id.in_(ids)))
        return {resource.id: resource for resource in resources}

    async def list_all(
        self,
        model: type[_Resource],
        *,
        field_filters: Mapping[str, str] = NO_FILTER,
        mentioning_id: UUID | None = None,
    ) -> list[_Resource]:
        query = self._select_live_newest_first(model, field_filters)
        if mentioning_id is not None:
            query = query.where(sa.cast(RESOURCES.c.state, sa.Text).contains(f'"{mentioning_id}"'))
        return await self._fetch(model, query)

    async def count(self, model: type[_Resource], *, field_filters: Mapping[str, str]) -> int:
        live = self._select_live_newest_first(model, field_filters).order_by(None)
        query = live.with_only_columns(sa.func.count())
        return (await self._connection.execute(query)).scalar_one()

    async def list_page(
        self,
        model: type[_Resource],
        limit: int,
        *,
        after: KeysetCursor | None = None,
        field_filters: Mapping[str, str] = NO_FILTER,
    ) -> list[_Resource]:
        query = self._select_live_newest_first(model, field_filters).limit(limit)
        if after is not None:
            mark = sa.tuple_(after.created_at, after.id, types=[column.type for column in _SORT_KEY])
            query = query.where(sa.tuple_(*_SORT_KEY) < mark)
        return await self._fetch(model, query)

    async def search_by_name_prefix_first(
        self, model: type[_Resource], text: str, limit: int
    ) -> list[_Resource]:
        names, sought = RESOURCES.c.search_text, text.lower()
        # LIKE gives some characters a meaning, and SQLite refuses long patterns.
        contains = sa.func.replace(names, sought, "") != names
        starts = sa.func.substr(names, 1, len(sought)) == sought
        query = self._select_live(model).where(contains).order_by(starts.desc(), names, RESOURCES.c.id)
        return await self._fetch(model, query.limit(limit))

    async def save(self, record: Resource) -> None:
        row = {
            "state": record.state,
            "updated_at": record.updated_at,
            "deleted_at": None,
            "search_text": record.search_text,
            RECORDED_AT: await self._keep_replaced(record),
        }
        replaced = await self._connection.execute(
            sa.update(RESOURCES).where(self._is_resource(record)).values(row)
        )
        if replaced.rowcount == 0:
            constant = {
                "id": record.id,
                "workspace_id": self._workspace_id,
                "type": record.resource_type,
                "created_at": record.created_at,
            }
            await self._connection.execute(sa.insert(RESOURCES).values({**row, **constant}))
        await self._release_keys(record)
        for key in record.unique_keys():
            await self._claim_key_or_conflict(key, record.id)

    async def remove(self, record: Resource, now: datetime) -> None:
        recorded_at = await self._keep_replaced(record)
        removed = sa.update(RESOURCES).where(self._is_resource(record))
        await self._connection.execute(removed.values(deleted_at=now, recorded_at=recorded_at))
        await self._release_keys(record)
        await self._connection.run_sync(skip_open_postbacks_of_rule, record.id, now)

    async def purge_created_until(
        self, model: type[Resource], until: datetime, *, field_filters: Mapping[str, str]
    ) -> None:
        own = matches(RESOURCES, workspace_id=self._workspace_id, type=model.resource_type)
        wanted = (RESOURCES.c.state[name].as_string() == text for name, text in field_filters.items())
        old = RESOURCES.c.created_at <= until
        await self._connection.execute(sa.delete(RESOURCES).where(own, old, *wanted))

    async def is_key_in_use(self, key: str) -> bool:
        query = sa.select(sa.literal(1)).where(RESOURCE_KEYS.c.key == key)
        return (await self._connection.execute(query)).first() is not None

    async def _keep_replaced(self, record: Resource) -> datetime:
        """Keeps the state of a resource that reads use, before it changes; returns when it changes."""
        now = self._clock()
        if record.resource_type in TYPES_WITH_HISTORY:
            await self._connection.run_sync(keep_replaced_rows, RESOURCES, self._is_resource(record), now)
        return now

    async def _fetch(self, model: type[_Resource], query: sa.Select[tuple[Any]]) -> list[_Resource]:
        return [model.model_validate(state) for state in await self._connection.scalars(query)]

    async def _claim_key_or_conflict(self, key: str, resource_id: UUID) -> None:
        try:
            async with self._connection.begin_nested():
                await self._connection.execute(
                    sa.insert(RESOURCE_KEYS).values(key=key, resource_id=resource_id)
                )
        except IntegrityError:
            raise UniqueKeyConflict(key) from None

    async def _release_keys(self, record: Resource) -> None:
        own = RESOURCE_KEYS.c.resource_id == record.id
        await self._connection.execute(sa.delete(RESOURCE_KEYS).where(own))

    def _is_resource(self, record: Resource) -> sa.ColumnElement[bool]:
        return matches(RESOURCES, id=record.id, workspace_id=self._workspace_id)

    def _select_live_newest_first(
        self, model: type[Resource], field_filters: Mapping[str, str]
    ) -> sa.Select[tuple[Any]]:
        wanted = (RESOURCES.c.state[name].as_string() == text for name, text in field_filters.items())
        return self._select_live(model).where(*wanted).order_by(*(column.desc() for column in _SORT_KEY))

    def _select_live(self, model: type[Resource]) -> sa.Select[tuple[Any]]:
        own = matches(RESOURCES, workspace_id=self._workspace_id, type=model.resource_type)
        return sa.select(RESOURCES.c.state).where(own, RESOURCES.c.deleted_at.is_(None))


class _AuditLog(_InTransaction):
    """Implements the port `AuditLog`."""

    async def add(self, entry: AuditEntry) -> None:
        row = {
            "id": entry.id,
            "workspace_id": self._workspace_id,
            "type": entry.resource.type,
            "resource_id": entry.resource.id,
            "actor_id": entry.actor.id,
            "created_at": entry.created_at,
            "entry": entry.model_dump(mode="json", by_alias=True, exclude=_UNDO_FIELDS),
        }
        await self._connection.execute(sa.insert(AUDIT_LOG).values(row))

    async def get(self, entry_id: UUID) -> AuditEntry | None:
        entries = await self._fetch_entries(self._select_own_entries().where(AUDIT_LOG.c.id == entry_id))
        return entries[0] if entries else None

    async def list_entries(self, audit_filter: AuditFilter, limit: int, offset: int) -> list[AuditEntry]:
        query = self._select_own_entries().where(AUDIT_LOG.c.created_at <= audit_filter.until)
        if audit_filter.since is not None:
            query = query.where(AUDIT_LOG.c.created_at >= audit_filter.since)
        wanted = (
            (AUDIT_LOG.c.type, audit_filter.resource_type),
            (AUDIT_LOG.c.resource_id, audit_filter.resource_id),
            (AUDIT_LOG.c.actor_id, audit_filter.actor_id),
            (AUDIT_LOG.c.entry["via"].as_string(), audit_filter.via),
            (AUDIT_LOG.c.entry["actor"]["type"].as_string(), audit_filter.actor_type),
            (AUDIT_LOG.c.entry["actor"]["client_id"].as_string(), audit_filter.client_id),
        )
        query = query.where(*(column == value for column, value in wanted if value is not None))
        newest = query.order_by(AUDIT_LOG.c.created_at.desc(), AUDIT_LOG.c.id.desc())
        return await self._fetch_entries(newest.limit(limit).offset(offset))

    async def mark_undone_if_not_yet(self, entry_id: UUID, undone_by: UUID, now: datetime) -> bool:
        own = matches(AUDIT_LOG, id=entry_id, workspace_id=self._workspace_id)
        mark = sa.update(AUDIT_LOG).where(own, AUDIT_LOG.c.undone_by.is_(None))
        marked = await self._connection.execute(mark.values(undone_by=undone_by, undone_at=now))
        return bool(marked.rowcount)

    async def clear_undone(self, entry_id: UUID) -> None:
        own = matches(AUDIT_LOG, id=entry_id, workspace_id=self._workspace_id)
        await self._connection.execute(sa.update(AUDIT_LOG).where(own).values(undone_by=None, undone_at=None))

    def _select_own_entries(self) -> sa.Select[Any]:
        columns = AUDIT_LOG.c.entry, AUDIT_LOG.c.undone_by, AUDIT_LOG.c.undone_at
        return sa.select(*columns).where(AUDIT_LOG.c.workspace_id == self._workspace_id)

    async def _fetch_entries(self, query: sa.Select[Any]) -> list[AuditEntry]:
        rows = await self._connection.execute(query)
        return [
            AuditEntry.model_validate({**entry, "undone_by": undone_by, "undone_at": undone_at})
            for entry, undone_by, undone_at in rows
        ]


class _IdempotencyRecords(_InTransaction):
    """Implements the port `IdempotencyRecords`."""

    async def find_unexpired_answer(self, digest: str, now: datetime) -> Mapping[str, Any] | None:
        own = matches(IDEMPOTENCY_RECORDS, digest=digest, workspace_id=self._workspace_id)
        query = sa.select(IDEMPOTENCY_RECORDS.c.answer).where(own, IDEMPOTENCY_RECORDS.c.expires_at > now)
        answer: Mapping[str, Any] | None = await self._connection.scalar(query)
        return answer

    async def save_answer_and_delete_expired(
        self, digest: str, answer: Mapping[str, Any], now: datetime, expires_at: datetime
    ) -> None:
        record = IDEMPOTENCY_RECORDS.c
        expired = sa.select(record.digest).where(record.expires_at <= now)
        unlocked = expired.with_for_update(skip_locked=True)  # another transaction may delete the same ones
        await self._connection.execute(sa.delete(IDEMPOTENCY_RECORDS).where(record.digest.in_(unlocked)))
        row = {
            "digest": digest,
            "workspace_id": self._workspace_id,
            "answer": dict(answer),
            "expires_at": expires_at,
        }
        await self._connection.execute(sa.insert(IDEMPOTENCY_RECORDS).values(row))


class _WorkspaceTriggers(_RecordingInTransaction):
    """Implements the port `WorkspaceTriggers`."""

    async def replace_trigger_event_names(self, event_names: Collection[str]) -> None:
        own, triggers = WORKSPACES.c.id == self._workspace_id, frozenset(event_names)
        if await self._connection.scalar(sa.select(WORKSPACES.c.triggers).where(own)) != triggers:
            now = self._clock()
            await self._connection.run_sync(keep_replaced_rows, WORKSPACES, own, now)
            new = {"triggers": triggers, RECORDED_AT: now}
            await self._connection.execute(sa.update(WORKSPACES).where(own).values(new))
            request_increment_at_commit(self._connection)
