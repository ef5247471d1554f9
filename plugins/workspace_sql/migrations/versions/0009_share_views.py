"""How often shared pages were looked at."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "share_views",
        sa.Column("link_id", sa.Uuid(), nullable=False),
        sa.Column("views", sa.BigInteger(), nullable=False),
        sa.Column("last_viewed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("link_id", name="pk_share_views"),
        sa.ForeignKeyConstraint(
            ["link_id"], ["resources.id"], name="fk_share_views_link_id", ondelete="CASCADE"
        ),
    )
