"""Records found by what only they hold, and how often shared pages were looked at, in SQL."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.changes_tables import RESOURCE_KEYS, RESOURCES
from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.rows import workspace_of
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.tables import METADATA, WORKSPACES
from service_core.plugin import Resource, ViewCount, Workspace

_Record = TypeVar("_Record", bound=Resource)

SHARE_VIEWS: Final = sa.Table(
    "share_views",
    METADATA,
    sa.Column("link_id", sa.ForeignKey("resources.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("views", sa.BigInteger, nullable=False),
    sa.Column("last_viewed_at", Instant, nullable=False),
)
"""Beside the record, not in it: a view is no change, and must not undo one that is made meanwhile."""

_HELD: Final = (
    sa.select(RESOURCES.c.state, *(column.label(f"owner_{column.name}") for column in WORKSPACES.columns))
    .join(RESOURCE_KEYS, RESOURCE_KEYS.c.resource_id == RESOURCES.c.id)
    .join(WORKSPACES, WORKSPACES.c.id == RESOURCES.c.workspace_id)
    .where(
        RESOURCE_KEYS.c.key == sa.bindparam("held"),
        RESOURCES.c.type == sa.bindparam("of_type"),
        RESOURCES.c.deleted_at.is_(None),
    )
)


class SqlShares:
    """Implements the ports `Holders` and `ShareLinkViews`."""

    _database: Database

    async def find_by_unique_key(self, model: type[_Record], key: str) -> tuple[Workspace, _Record] | None:
        """The live record of a type that holds a unique key, and its workspace."""
        sought = {"held": key, "of_type": model.resource_type}
        row = await self._database.fetch_one(_HELD, sought)
        return None if row is None else (workspace_of(row, "owner_"), model.model_validate(row["state"]))

    async def count_view(self, link_id: UUID, now: datetime) -> None:
        """Count one view."""
        async with self._database.write() as connection:
            if not await _one_more(connection, link_id, now):
                first = {"link_id": link_id, "views": 1, "last_viewed_at": now}
                try:
                    async with connection.begin_nested():
                        await connection.execute(sa.insert(SHARE_VIEWS).values(first))
                except IntegrityError:
                    await _one_more(connection, link_id, now)

    async def get_view_counts(
        self, workspace_id: UUID, link_ids: Collection[UUID]
    ) -> Mapping[UUID, ViewCount]:
        """Views of these links of a workspace, of those that had any."""
        query = (
            sa.select(SHARE_VIEWS)
            .join(RESOURCES, RESOURCES.c.id == SHARE_VIEWS.c.link_id)
            .where(SHARE_VIEWS.c.link_id.in_(link_ids), RESOURCES.c.workspace_id == workspace_id)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings()
            return {row["link_id"]: ViewCount(row["views"], row["last_viewed_at"]) for row in rows}


async def _one_more(connection: AsyncConnection, link_id: UUID, now: datetime) -> bool:
    """Count on an existing row; False when there is none."""
    counted = (
        sa.update(SHARE_VIEWS)
        .where(SHARE_VIEWS.c.link_id == link_id)
        .values(views=SHARE_VIEWS.c.views + 1, last_viewed_at=now)
    )
    return bool((await connection.execute(counted)).rowcount)
