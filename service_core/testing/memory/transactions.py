"""Transactions of the workspace store in memory, which define the promises of the ports in readable code.

Write transactions run one after another, and one that raises changes nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from service_core.changes.audit_log import AuditEntry, AuditFilter
from service_core.changes.ports import RowModel, Transaction, UniqueKeyConflict
from service_core.changes.resource import NO_FILTER, R, Resource
from service_core.kernel.paging import KeysetCursor


@dataclass
class _State:
    """The content of all workspaces."""

    resources: dict[tuple[UUID, UUID], Resource] = field(default_factory=dict)
    unique_keys: dict[str, UUID] = field(default_factory=dict)
    audit_entries: dict[tuple[UUID, UUID], AuditEntry] = field(default_factory=dict)
    triggers: dict[UUID, frozenset[str]] = field(default_factory=dict)
    rows: dict[tuple[UUID, type, Any], object] = field(default_factory=dict)
    answers: dict[tuple[UUID, str], tuple[datetime, Mapping[str, Any]]] = field(default_factory=dict)


class _Resources:
    def __init__(self, state: _State, workspace_id: UUID) -> None:
        self._state, self._workspace_id = state, workspace_id

    async def get(self, model: type[R], resource_id: UUID) -> R | None:
        record = self._state.resources.get((self._workspace_id, resource_id))
        return record if isinstance(record, model) else None

    async def get_many(self, model: type[R], ids: Collection[UUID]) -> dict[UUID, R]:
        records = {resource_id: await self.get(model, resource_id) for resource_id in ids}
        return {resource_id: record for resource_id, record in records.items() if record is not None}

    async def list_all(
        self,
        model: type[R],
        *,
        field_filters: Mapping[str, str] = NO_FILTER,
        mentioning_id: UUID | None = None,
    ) -> list[R]:
        matching = [
            record
            for (workspace_id, _), record in self._state.resources.items()
            if workspace_id == self._workspace_id
            and isinstance(record, model)
            and field_filters.items() <= record.state.items()
            and (mentioning_id is None or f'"{mentioning_id}"' in record.model_dump_json(by_alias=True))
        ]
        return sorted(matching, key=lambda record: (record.created_at, record.id), reverse=True)

    async def count(self, model: type[R], *, field_filters: Mapping[str, str]) -> int:
        return len(await self.list_all(model, field_filters=field_filters))

    async def list_page(
        self,
        model: type[R],
        limit: int,
        *,
        after: KeysetCursor | None = None,
        field_filters: Mapping[str, str] = NO_FILTER,
    ) -> list[R]:
        matching = [
            record
            for record in await self.list_all(model, field_filters=field_filters)
            if after is None or (record.created_at, record.id) < (after.created_at, after.id)
        ]
        return matching[:limit]

    async def search_by_name_prefix_first(self, model: type[R], text: str, limit: int) -> list[R]:
        lower_text = text.lower()
        matching = [record for record in await self.list_all(model) if lower_text in record.search_text]
        matching.sort(
            key=lambda record: (not record.search_text.startswith(lower_text), record.search_text, record.id)
        )
        return matching[:limit]

    async def save(self, record: Resource) -> None:
        for key in record.unique_keys():
            if self._state.unique_keys.get(key, record.id) != record.id:
                raise UniqueKeyConflict(key)
        self._release_unique_keys(record.id)
        self._state.unique_keys |= dict.fromkeys(record.unique_keys(), record.id)
        self._state.resources[self._workspace_id, record.id] = record

    async def remove(self, record: Resource, now: datetime) -> None:  # noqa: ARG002 - the time of removal is not stored here
        self._release_unique_keys(record.id)
        self._state.resources.pop((self._workspace_id, record.id), None)

    async def purge_created_until(
        self, model: type[Resource], until: datetime, *, field_filters: Mapping[str, str]
    ) -> None:
        for record in await self.list_all(model, field_filters=field_filters):
            if record.created_at <= until:
                del self._state.resources[self._workspace_id, record.id]

    async def is_key_in_use(self, key: str) -> bool:
        return key in self._state.unique_keys

    def _release_unique_keys(self, resource_id: UUID) -> None:
        """Frees the unique keys of a resource."""
        keys = self._state.unique_keys
        self._state.unique_keys = {key: owner_id for key, owner_id in keys.items() if owner_id != resource_id}


class _AuditLog:
    def __init__(self, state: _State, workspace_id: UUID) -> None:
        self._state, self._workspace_id = state, workspace_id

    async def add(self, entry: AuditEntry) -> None:
        self._state.audit_entries[self._workspace_id, entry.id] = entry

    async def get(self, entry_id: UUID) -> AuditEntry | None:
        return self._state.audit_entries.get((self._workspace_id, entry_id))

    async def list_entries(self, audit_filter: AuditFilter, limit: int, offset: int) -> list[AuditEntry]:
        matching = [
            entry
            for (workspace_id, _), entry in self._state.audit_entries.items()
            if workspace_id == self._workspace_id and _matches_audit_filter(entry, audit_filter)
        ]
        matching.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
        return matching[offset : offset + limit]

    async def mark_undone_if_not_yet(self, entry_id: UUID, undone_by: UUID, now: datetime) -> bool:
        entry = self._state.audit_entries[self._workspace_id, entry_id]
        if entry.undone_by is not None:
            return False
        values = {name: getattr(entry, name) for name in AuditEntry.model_fields}
        marked = AuditEntry.model_validate({**values, "undone_by": undone_by, "undone_at": now})
        self._state.audit_entries[self._workspace_id, entry_id] = marked
        return True

    async def clear_undone(self, entry_id: UUID) -> None:
        entry = self._state.audit_entries[self._workspace_id, entry_id]
        values = {name: getattr(entry, name) for name in AuditEntry.model_fields}
        self._state.audit_entries[self._workspace_id, entry_id] = AuditEntry.model_validate(
            {**values, "undone_by": None, "undone_at": None}
        )


def _matches_audit_filter(entry: AuditEntry, audit_filter: AuditFilter) -> bool:
    """Returns whether an entry is in the filter's times and has each resource and actor value that is not None."""
    wanted_and_actual = (
        (audit_filter.resource_type, entry.resource.type),
        (audit_filter.resource_id, entry.resource.id),
        (audit_filter.actor_id, entry.actor.id),
        (audit_filter.actor_type, entry.actor.type),
        (audit_filter.client_id, entry.actor.client_id),
        (audit_filter.via, entry.via),
    )
    is_since = audit_filter.since is None or entry.created_at >= audit_filter.since
    is_matching = all(wanted is None or wanted == actual for wanted, actual in wanted_and_actual)
    return is_since and is_matching and entry.created_at <= audit_filter.until


class _IdempotentAnswers:
    def __init__(self, state: _State, workspace_id: UUID) -> None:
        self._state, self._workspace_id = state, workspace_id

    async def find_unexpired_answer(self, digest: str, now: datetime) -> Mapping[str, Any] | None:
        until, answer = self._state.answers.get((self._workspace_id, digest), (now, None))
        return answer if now < until else None

    async def save_answer_and_delete_expired(
        self, digest: str, answer: Mapping[str, Any], now: datetime, expires_at: datetime
    ) -> None:
        unexpired = {
            key: (expires_at, known)
            for key, (expires_at, known) in self._state.answers.items()
            if now < expires_at
        }
        self._state.answers = unexpired | {(self._workspace_id, digest): (expires_at, answer)}


class _WorkspaceTriggers:
    def __init__(self, state: _State, workspace_id: UUID) -> None:
        self._state, self._workspace_id = state, workspace_id

    async def replace_trigger_event_names(self, event_names: Collection[str]) -> None:
        self._state.triggers[self._workspace_id] = frozenset(event_names)


class _RowTables:
    def __init__(self, state: _State, workspace_id: UUID) -> None:
        self._state, self._workspace_id = state, workspace_id

    async def list_rows(self, model: type[RowModel]) -> list[RowModel]:
        return [
            row
            for (workspace_id, _, _), row in self._state.rows.items()
            if workspace_id == self._workspace_id and isinstance(row, model)
        ]

    async def save_row(self, row: object) -> None:
        self._state.rows[self._workspace_id, type(row), getattr(row, "provider", None)] = row

    async def delete_rows(self, model: type, **key: str) -> None:
        rows: list[Any] = await self.list_rows(model)
        for row in rows:
            if all(getattr(row, name) == value for name, value in key.items()):
                del self._state.rows[self._workspace_id, model, getattr(row, "provider", None)]


class MemoryTransactions:
    """Implements the port `Units`."""

    def __init__(self) -> None:
        self._state = _State()
        self._writing = asyncio.Lock()

    @asynccontextmanager
    async def read(self, workspace_id: UUID) -> AsyncIterator[Transaction]:
        yield _transaction(self._state, workspace_id)

    @asynccontextmanager
    async def write(
        self,
        workspace_id: UUID,
        idempotency_digest: str | None = None,  # noqa: ARG002 - there is one process
    ) -> AsyncIterator[Transaction]:
        async with self._writing:
            draft = deepcopy(self._state)
            yield _transaction(draft, workspace_id)
            self._state = draft


def _transaction(state: _State, workspace_id: UUID) -> Transaction:
    return Transaction(
        _Resources(state, workspace_id),
        _AuditLog(state, workspace_id),
        _IdempotentAnswers(state, workspace_id),
        _WorkspaceTriggers(state, workspace_id),
        _RowTables(state, workspace_id),
    )
