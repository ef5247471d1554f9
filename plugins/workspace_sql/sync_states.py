"""How far revenue providers were read, and which of their messages were kept, in SQL."""

import hashlib
from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database, insert_into
from plugins.workspace_sql.tables import METADATA
from service_core.plugin import PollState

PROVIDER_READS: Final = sa.Table(
    "poll_states",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("provider", sa.String(64), primary_key=True),
    sa.Column("since", Instant),
    sa.Column("read_at", Instant),
)
"""One row per connection that was asked, or took webhooks before anything was remembered; it goes with the connection."""

PROVIDER_MESSAGES: Final = sa.Table(
    "provider_messages",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("digest", sa.LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)
"""One row per message, for ever: half of the digest of provider and id."""

_READ: Final = PROVIDER_READS.c
_KEPT: Final = PROVIDER_MESSAGES.c
_SIZE: Final = 16
_AT_ONCE: Final = 400
"""Digests of one question: engines bound how many values a statement has."""


class SqlProviderReads:
    """Implements the ports `PollStates` and `ProcessedMessages`."""

    _database: Database

    async def poll_states(self, workspace_id: UUID) -> dict[str, PollState]:
        """By provider."""
        query = sa.select(PROVIDER_READS).where(_READ.workspace_id == workspace_id)
        async with self._database.read() as connection:
            rows = await connection.execute(query)
            return {row.provider: PollState(row.since, row.read_at) for row in rows}

    async def save_poll_state(self, workspace_id: UUID, provider: str, state: PollState) -> None:
        """Replace how far a provider was read."""
        values = {"since": state.since, "read_at": state.read_at}
        own = _READ.workspace_id == workspace_id, _READ.provider == provider
        async with self._database.write(workspace_id) as connection:
            update = sa.update(PROVIDER_READS).where(*own).values(values)
            if (await connection.execute(update)).rowcount == 0:
                row = {"workspace_id": workspace_id, "provider": provider, **values}
                await connection.execute(sa.insert(PROVIDER_READS).values(row))

    async def processed_messages(
        self, workspace_id: UUID, provider: str, ids: Collection[str]
    ) -> frozenset[str]:
        """Those of some messages that were kept."""
        by_digest = {_digest(provider, id_): id_ for id_ in ids}
        digests, found = list(by_digest), set[str]()
        async with self._database.read() as connection:
            for start in range(0, len(digests), _AT_ONCE):
                listed = _KEPT.digest.in_(digests[start : start + _AT_ONCE])
                query = sa.select(_KEPT.digest).where(_KEPT.workspace_id == workspace_id, listed)
                found |= {by_digest[digest] for digest in (await connection.execute(query)).scalars()}
        return frozenset(found)

    async def mark_processed(self, workspace_id: UUID, provider: str, ids: Collection[str]) -> None:
        """Remember messages."""
        rows = [{"workspace_id": workspace_id, "digest": _digest(provider, id_)} for id_ in sorted(ids)]
        async with self._database.write() as connection:
            await connection.run_sync(_remember, rows)


def forgetting(workspace_id: UUID, provider: str) -> sa.Delete:
    """The statement that forgets how far a provider was read; its messages stay what they are."""
    return sa.delete(PROVIDER_READS).where(_READ.workspace_id == workspace_id, _READ.provider == provider)


def _digest(provider: str, id_: str) -> bytes:
    return hashlib.sha256(f"{provider}\0{id_}".encode()).digest()[:_SIZE]


def _remember(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert_into(connection, PROVIDER_MESSAGES).on_conflict_do_nothing(), rows)
