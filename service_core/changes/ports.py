"""Ports for changes: one transaction over records, audit log and idempotency records."""

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from service_core.access.models import Workspace
from service_core.changes.audit_log import AuditEntry, AuditFilter
from service_core.changes.resource import R, RecordReader, Resource

RowModel = TypeVar("RowModel")


class UniqueKeyConflict(Exception):
    """Another resource has the same unique key.

    Args:
        key: the key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class RequestInProgress(Exception):
    """Another process is executing the same idempotent request."""


class ResourceRepository(RecordReader, Protocol):
    """Resources of one workspace, of every type."""

    async def save(self, record: Resource) -> None:
        """Adds a record, replaces the one with its id, or restores a removed one.

        Raises:
            UniqueKeyConflict: another record of any workspace has one of its unique keys.
        """

    async def remove(self, record: Resource, now: datetime) -> None:
        """Removes a record, its unique keys, and pending messages that depend on it."""

    async def purge_created_until(
        self, model: type[Resource], until: datetime, *, field_filters: Mapping[str, str]
    ) -> None:
        """Deletes records of a type without unique keys for good, so that no undo restores them.

        Args:
            model: the resource type.
            until: the newest ``created_at`` to delete.
            field_filters: field of the state to the text it must equal.
        """

    async def is_key_in_use(self, key: str) -> bool:
        """Returns whether a record of any workspace has this unique key."""


class AuditLog(Protocol):
    """Audit entries of one workspace."""

    async def add(self, entry: AuditEntry) -> None:
        """Adds an entry. Later only the mark that it was undone changes."""

    async def get(self, entry_id: UUID) -> AuditEntry | None:
        """Returns the entry with this id."""

    async def list_entries(self, audit_filter: AuditFilter, limit: int, offset: int) -> list[AuditEntry]:
        """Returns matching entries, newest first, ties by id."""

    async def mark_undone_if_not_yet(self, entry_id: UUID, undone_by: UUID, now: datetime) -> bool:
        """Marks an entry as undone by another one; False if it already was."""

    async def clear_undone(self, entry_id: UUID) -> None:
        """Removes the mark of an undone entry, whose undo was taken back."""


class IdempotencyRecords(Protocol):
    """Responses of idempotent requests of one workspace."""

    async def find_unexpired_answer(self, digest: str, now: datetime) -> Mapping[str, Any] | None:
        """Returns the stored response of a digest unless it has expired."""

    async def save_answer_and_delete_expired(
        self, digest: str, answer: Mapping[str, Any], now: datetime, expires_at: datetime
    ) -> None:
        """Stores a response and deletes expired ones."""


class WorkspaceTriggers(Protocol):
    """The trigger event names of one workspace, derived from its conversion rules."""

    async def replace_trigger_event_names(self, event_names: Collection[str]) -> None:
        """Stores which events trigger conversion rules. Cached copies of the workspace become invalid at once."""


class RowTables(Protocol):
    """Rows of one workspace in tables of their own, as dataclasses: the workspace, and its connections."""

    async def list_rows(self, model: type[RowModel]) -> list[RowModel]:
        """Returns the rows of a dataclass that belong to the workspace."""

    async def save_row(self, row: object) -> None:
        """Adds a row, or replaces the one with its key. Cached copies of a saved workspace become invalid at once."""

    async def delete_rows(self, model: type, **key: str) -> None:
        """Deletes the rows of a dataclass with these values, and what depends on them."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction in one workspace."""

    resources: ResourceRepository
    audit: AuditLog
    idempotency: IdempotencyRecords
    triggers: WorkspaceTriggers
    tables: RowTables


class Transactions(Protocol):
    """Opens transactions."""

    def read(self, workspace_id: UUID) -> AbstractAsyncContextManager[Transaction]:
        """Opens a read-only transaction."""

    def write(
        self, workspace_id: UUID, idempotency_digest: str | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        """Opens a transaction that is committed when the block ends and rolled back when it raises.

        Of two transactions that read and then write the same rows, one waits for the other.

        Args:
            workspace_id: the workspace it reads and writes.
            idempotency_digest: digest of an idempotent request, in hexadecimal.

        Raises:
            RequestInProgress: another process is executing the same request. A store may also wait for it.
        """


class UniqueKeyLookup(Protocol):
    """Finds records by a key that is unique in the deployment, without knowing their workspace."""

    async def find_live_by_unique_key(self, model: type[R], key: str) -> tuple[Workspace, R] | None:
        """Returns the record of a type with this unique key and its workspace, or None."""
