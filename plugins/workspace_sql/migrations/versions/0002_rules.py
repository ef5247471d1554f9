"""What a workspace has made its own of the rules behind its numbers."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; a workspace without own rules follows those of the house."""
    op.add_column("workspaces", sa.Column("rules", sa.JSON(), server_default="{}", nullable=False))
