"""What items cost, by the day a cost begins to count."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    by_code_point = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "item_costs",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("known_by", sa.String(16), nullable=False),
        sa.Column("item", by_code_point, nullable=False),
        sa.Column("effective_from", sa.Date(), nullable=False),
        sa.Column("unit_cost", sa.BigInteger(), nullable=False),
        sa.Column("handling_cost", sa.BigInteger()),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("import_id", sa.Uuid(), nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "known_by", "item", "effective_from", name="pk_item_costs"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_item_costs_workspace_id", ondelete="CASCADE"
        ),
    )
