"""Visits that were matched with an install, each once."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "visit_claims",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("visit", sa.String(64), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_visit_claims_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workspace_id", "visit", name="pk_visit_claims"),
    )
