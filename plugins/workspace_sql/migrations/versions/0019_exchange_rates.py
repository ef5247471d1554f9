"""Exchange rates as they were published, and when each source was last read."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "fx_rates",
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("per_euro", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("source", "currency", "day", name="pk_fx_rates"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "fx_sources",
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("source", name="pk_fx_sources"),
    )
