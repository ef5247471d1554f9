"""Stores of resources by unique key, and of the views of share links."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import WORKSPACES
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import prefixed_columns, record_of
from plugins.workspace_sql.statements import upsert
from plugins.workspace_sql.tables import RESOURCE_KEYS, RESOURCES, SHARE_LINK_VIEWS
from service_core.plugin import Resource, ViewCount, Workspace

_Resource = TypeVar("_Resource", bound=Resource)

_BY_KEY: Final = (
    sa.select(RESOURCES.c.state, *prefixed_columns(WORKSPACES, "workspace_"))
    .join(RESOURCE_KEYS, RESOURCE_KEYS.c.resource_id == RESOURCES.c.id)
    .join(WORKSPACES, WORKSPACES.c.id == RESOURCES.c.workspace_id)
    .where(
        RESOURCE_KEYS.c.key == sa.bindparam("sought"),
        RESOURCES.c.type == sa.bindparam("of_type"),
        RESOURCES.c.deleted_at.is_(None),
    )
)


class SqlUniqueKeyLookup(SqlStore):
    """Implements the port `UniqueKeyLookup`."""

    async def find_live_by_unique_key(
        self, model: type[_Resource], key: str
    ) -> tuple[Workspace, _Resource] | None:
        """Returns the live resource of a type that has a unique key, and its workspace."""
        row = await self._database.fetch_first_row_by_key(
            _BY_KEY, {"sought": key, "of_type": model.resource_type}
        )
        if row is None:
            return None
        return record_of(Workspace, row, "workspace_"), model.model_validate(row["state"])


class SqlShareLinkViews(SqlStore):
    """Implements the port `ShareLinkViews`."""

    async def count_view(self, link_id: UUID, now: datetime) -> None:
        """Counts one view of a share link."""
        row = {"link_id": link_id, "count": 1, "last_viewed_at": now}
        one_more = {"count": SHARE_LINK_VIEWS.c["count"] + 1, "last_viewed_at": now}
        async with self._database.write() as connection:
            count = upsert(connection, SHARE_LINK_VIEWS, row, updated_values=lambda _given: one_more)
            await connection.execute(count.values(row))

    async def get_view_counts(
        self, workspace_id: UUID, link_ids: Collection[UUID]
    ) -> Mapping[UUID, ViewCount]:
        """Returns the views of share links of a workspace. Links without a view are left out."""
        views = SHARE_LINK_VIEWS.c
        query = (
            sa.select(SHARE_LINK_VIEWS)
            .join(RESOURCES, RESOURCES.c.id == views.link_id)
            .where(views.link_id.in_(link_ids), RESOURCES.c.workspace_id == workspace_id)
        )
        rows = await self._database.fetch_rows(query)
        return {row["link_id"]: record_of(ViewCount, row) for row in rows}
