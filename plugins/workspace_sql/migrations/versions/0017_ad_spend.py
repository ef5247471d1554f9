"""What ad platforms report, in versions, and what there was advertised with."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    instant, counts = sa.DateTime(timezone=True), sa.text("counts")
    op.create_table(
        "ad_spend",
        *_place("ad_spend", "entity_id", "day", "fetched_at", "attribution_setting"),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("fetched_at", instant, nullable=False),
        sa.Column("attribution_setting", sa.Text(), nullable=False),
        sa.Column("counts", sa.Boolean(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("account_zone", sa.String(64), nullable=False),
        sa.Column("spend", sa.BigInteger()),
        sa.Column("impressions", sa.BigInteger()),
        sa.Column("clicks", sa.BigInteger()),
        sa.Column("reach", sa.BigInteger()),
        sa.Column("conversions", sa.BigInteger()),
        sa.Column("conversion_value", sa.BigInteger()),
        sa.Column("report_version", sa.Text(), nullable=False),
    )
    op.create_index(
        "ix_ad_spend_counts",
        "ad_spend",
        ["workspace_id", "level", "day"],
        sqlite_where=counts,
        postgresql_where=counts,
    )
    op.create_table(
        "ad_entities",
        *_place("ad_entities", "entity_id"),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("told_at", instant, nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("campaign_name", sa.Text()),
        sa.Column("group_id", sa.Text()),
        sa.Column("group_name", sa.Text()),
        sa.Column("ad_id", sa.Text()),
        sa.Column("ad_name", sa.Text()),
        sa.Column("status", sa.Text()),
    )


def _place(table: str, *further: str) -> tuple[sa.schema.SchemaItem, ...]:
    """Whose and where: what both tables begin with."""
    key = "workspace_id", "level", "platform", "account_id", *further
    return (
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("level", sa.String(16), nullable=False),
        sa.Column("platform", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=f"fk_{table}_workspace_id", ondelete="CASCADE"
        ),
    )
