"""Events that convert because a conversion rule is triggered by them."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no rule that was made before sends anything yet."""
    op.add_column("workspaces", sa.Column("triggers", sa.JSON(), nullable=False, server_default="[]"))
