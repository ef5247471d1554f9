"""What a workspace has connected, and how it stands."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "connections",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("accounts", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("last_synced_at", instant),
        sa.Column("created_at", instant, nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_connections_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workspace_id", "provider", name="pk_connections"),
    )
