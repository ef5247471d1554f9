"""Clicks on trackable links, and how many each link has had."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    instant, has_address = sa.DateTime(timezone=True), sa.text("ip IS NOT NULL")
    op.create_table(
        "clicks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("link_id", sa.Uuid(), nullable=False),
        sa.Column("lyr", sa.String(16), nullable=False),
        sa.Column("clicked_at", instant, nullable=False),
        sa.Column("user_agent", sa.Text()),
        sa.Column("ip", sa.String(45)),
        sa.Column("network", sa.String(49)),
        sa.Column("country", sa.String(2)),
        sa.Column("device_type", sa.String(16)),
        sa.Column("referrer", sa.Text()),
        sa.Column("click_ids", sa.JSON(), nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_clicks"),
        _of_workspace("clicks"),
    )
    op.create_index(
        "ix_clicks_ip", "clicks", ["ip", "clicked_at"], sqlite_where=has_address, postgresql_where=has_address
    )
    op.create_table(
        "click_visits",
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("link_id", sa.Uuid(), nullable=False),
        sa.Column("visitor", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("hour", "link_id", "visitor", name="pk_click_visits"),
    )
    op.create_table(
        "count_clicks",
        sa.Column("link_id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("unique_clicks", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("link_id", name="pk_click_counts"),
        _of_workspace("count_clicks"),
    )
    op.create_index("ix_click_counts_workspace_id", "count_clicks", ["workspace_id"])


def _of_workspace(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_workspace_id"
    return sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=name, ondelete="CASCADE")
