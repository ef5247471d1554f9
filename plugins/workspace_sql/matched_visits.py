"""Store of visits that were matched with an install."""

import hashlib
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.tables import MATCHED_VISITS

_ROW = MATCHED_VISITS.c


class SqlMatchedVisits(SqlStore):
    """Implements the port `MatchedVisits`."""

    async def mark_visit_matched_unless_already(
        self, workspace_id: UUID, visit_key: str, now: datetime
    ) -> bool:
        """Marks a visit as matched. Returns False if it was before."""
        row = {"workspace_id": workspace_id, "visit": digest_visit(visit_key), "matched_at": now}
        return await self._database.insert_if_absent(MATCHED_VISITS, row)

    async def select_matched_visits(self, workspace_id: UUID, visit_keys: Collection[str]) -> frozenset[str]:
        """Returns the given visits that are matched."""
        by_digest = {digest_visit(visit): visit for visit in visit_keys}
        query = sa.select(_ROW.visit).where(_ROW.workspace_id == workspace_id, _ROW.visit.in_(by_digest))
        return frozenset(by_digest[row["visit"]] for row in await self._database.fetch_rows(query))


def digest_visit(visit: str) -> str:
    """Returns the stored form of the key of a visit."""
    return hashlib.sha256(visit.encode("utf-8", "surrogatepass")).hexdigest()
