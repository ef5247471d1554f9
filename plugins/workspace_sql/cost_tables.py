"""Table of what items cost."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA

_BY_CODE_POINT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

ITEM_COSTS: Final = sa.Table(
    "item_costs",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("known_by", sa.String(16), primary_key=True),
    sa.Column("item", _BY_CODE_POINT, primary_key=True),
    sa.Column("effective_from", sa.Date, primary_key=True),
    sa.Column("unit_cost", sa.BigInteger, nullable=False),
    sa.Column("handling_cost", sa.BigInteger),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("import_id", sa.Uuid, nullable=False),
    sa.Column("imported_at", Instant, nullable=False),
)
"""One row per item and day its cost begins to count; costs are in millionths of a major unit."""
