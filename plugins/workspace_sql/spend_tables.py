"""Tables of ad spend, and of what there was advertised with."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA


def _place() -> tuple[sa.Column[object], ...]:
    """Whose and where: what both tables begin with."""
    return (
        sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("level", sa.String(16), primary_key=True),
        sa.Column("platform", sa.String(64), primary_key=True),
        sa.Column("account_id", sa.Text, primary_key=True),
        sa.Column("entity_id", sa.Text, primary_key=True),
    )


AD_SPEND: Final = sa.Table(
    "ad_spend",
    METADATA,
    *_place(),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("fetched_at", Instant, primary_key=True),
    sa.Column("attribution_setting", sa.Text, primary_key=True),
    sa.Column("counts", sa.Boolean, nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("account_zone", sa.String(64), nullable=False),
    sa.Column("spend", sa.BigInteger),
    sa.Column("impressions", sa.BigInteger),
    sa.Column("clicks", sa.BigInteger),
    sa.Column("reach", sa.BigInteger),
    sa.Column("conversions", sa.BigInteger),
    sa.Column("conversion_value", sa.BigInteger),
    sa.Column("report_version", sa.Text, nullable=False),
    sa.Index("ix_ad_spend_counts", "workspace_id", "level", "day"),  # of what counts, as the migration says
)
"""One row per version of an entity's day; the latest counts. Conversions are in millionths, so they add up exactly."""

AD_ENTITIES: Final = sa.Table(
    "ad_entities",
    METADATA,
    *_place(),
    sa.Column("told_at", Instant, nullable=False),
    sa.Column("campaign_id", sa.Text, nullable=False),
    sa.Column("campaign_name", sa.Text),
    sa.Column("group_id", sa.Text),
    sa.Column("group_name", sa.Text),
    sa.Column("ad_id", sa.Text),
    sa.Column("ad_name", sa.Text),
    sa.Column("status", sa.Text),
)
"""One row per entity there was spend of, as it was named last."""
