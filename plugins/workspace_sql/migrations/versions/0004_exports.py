"""Export jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "exports",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("credential_id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.String(16), nullable=False),
        sa.Column("format", sa.String(8), nullable=False),
        sa.Column("start_date", sa.Text(), nullable=False),
        sa.Column("end_date", sa.Text(), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("free_at", instant),
        sa.Column("due_at", instant),
        sa.Column("started_at", instant),
        sa.Column("completed_at", instant),
        sa.Column("row_count", sa.BigInteger()),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_exports"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_exports_workspace_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_exports_workspace_id", "exports", ["workspace_id"])
    op.create_index("ix_exports_free_at", "exports", ["free_at"])
    op.create_index("ix_exports_due_at", "exports", ["due_at"])
