"""Keys name the account whose membership they depend on.

Keys of before have none and depend on nobody. A new database has the column from the baseline.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002_key_grantor"
down_revision = "0001_baseline"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column where it is missing."""
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("credentials")}
    if "granted_by" not in columns:
        op.add_column("credentials", sa.Column("granted_by", sa.Uuid(), nullable=True))
