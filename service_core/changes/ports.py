"""What changes need from outside: one transaction with records, the audit log and kept answers."""

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from service_core.access.models import Workspace
from service_core.changes.audit_log import AuditEntry, AuditFilter
from service_core.changes.resource import R, RecordReader, Resource


class UniqueKeyConflict(Exception):
    """Another live resource holds a unique key.

    Args:
        key: the key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class RequestInProgress(Exception):
    """Another process is performing the same request."""


class ResourceRepository(RecordReader, Protocol):
    """Live records of one workspace, of every type."""

    async def save(self, record: Resource) -> None:
        """Add a record, replace the one with its id, or bring a removed one back.

        Raises:
            Taken: another one, of whichever workspace, holds one of its unique keys.
        """

    async def remove(self, record: Resource, now: datetime) -> None:
        """Let a record go, and with it its unique keys and what waits to be sent because of it."""

    async def is_key_in_use(self, key: str) -> bool:
        """Whether a live record, of whichever workspace, holds a unique key."""


class AuditLog(Protocol):
    """Applied writes of one workspace."""

    async def add(self, entry: AuditEntry) -> None:
        """Add an entry; it is never changed but by `mark_undone`."""

    async def get(self, entry_id: UUID) -> AuditEntry | None:
        """The entry with this id."""

    async def list_entries(self, audit_filter: AuditFilter, limit: int, offset: int) -> list[AuditEntry]:
        """Entries that fit, newest first, ties by id."""

    async def mark_undone(self, entry_id: UUID, undone_by: UUID, now: datetime) -> bool:
        """Say that an entry was taken back by another one; False when one has done so before."""


class IdempotencyRecords(Protocol):
    """Answers of requests that asked to be performed once, of one workspace."""

    async def find_answer(self, digest: str, now: datetime) -> Mapping[str, Any] | None:
        """The answer kept under a ticket, unless its time is over."""

    async def save_answer(
        self, digest: str, answer: Mapping[str, Any], now: datetime, until: datetime
    ) -> None:
        """Keep an answer, and let those go whose time is over."""


class WorkspaceTriggers(Protocol):
    """The workspace itself, as far as it follows from its records."""

    async def set_triggers(self, names: Collection[str]) -> None:
        """Say which events trigger conversion rules; what is remembered of the workspace anywhere is old at once."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one transaction sees and changes, in one workspace."""

    resources: ResourceRepository
    audit: AuditLog
    idempotency: IdempotencyRecords
    triggers: WorkspaceTriggers


class Transactions(Protocol):
    """Transactions."""

    def read(self, workspace_id: UUID) -> AbstractAsyncContextManager[Transaction]:
        """A transaction that only reads."""

    def write(
        self, workspace_id: UUID, idempotency_digest: str | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        """A transaction that commits as a whole when the block ends, and changes nothing when it raises.

        Of two that read and then write the same rows, one waits for the other.

        Args:
            workspace_id: whose records it sees and changes.
            ticket: digest in hex of a request that is performed once.

        Raises:
            Busy: another process is at work on the ticket. A store whose processes cannot know may wait instead.
        """


class UniqueKeyLookup(Protocol):
    """Records found without knowing their workspace: by what only one of the deployment can hold."""

    async def find_by_unique_key(self, model: type[R], key: str) -> tuple[Workspace, R] | None:
        """The live record of a type that holds a unique key, and its workspace; None when nobody does."""
