"""Which visits were matched with an install, in SQL."""

import hashlib
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA

VISIT_CLAIMS: Final = sa.Table(
    "visit_claims",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("visit", sa.String(64), primary_key=True),
    sa.Column("claimed_at", Instant, nullable=False),
)
"""``visit`` is a digest: what a device calls itself may be long, and is nobody's business here."""


class SqlVisitClaims:
    """Implements the port `MatchedVisits`."""

    _database: Database

    async def mark_visit_matched(self, workspace_id: UUID, visit: str, now: datetime) -> bool:
        """Claim a visit; False when it was claimed before."""
        row = {"workspace_id": workspace_id, "visit": _digest(visit), "claimed_at": now}
        try:
            async with self._database.write() as connection:
                await connection.execute(sa.insert(VISIT_CLAIMS).values(row))
        except IntegrityError:
            return False
        return True

    async def list_matched(self, workspace_id: UUID, visits: Collection[str]) -> frozenset[str]:
        """Those of the visits that are claimed."""
        known = {_digest(visit): visit for visit in visits}
        query = sa.select(VISIT_CLAIMS.c.visit).where(
            VISIT_CLAIMS.c.workspace_id == workspace_id, VISIT_CLAIMS.c.visit.in_(known)
        )
        async with self._database.read() as connection:
            return frozenset(known[found] for found in (await connection.execute(query)).scalars())


def _digest(visit: str) -> str:
    return hashlib.sha256(visit.encode("utf-8", "surrogatepass")).hexdigest()
