"""What a retry of an export repeats."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier jobs were not asked for once."""
    op.add_column("exports", sa.Column("ticket", sa.String(64)))
    op.create_index("ix_exports_ticket", "exports", ["ticket"])
