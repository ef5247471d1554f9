"""All tables, created from their declarations.

Until the first release the declarations are the baseline. The first migration after it replaces
`create_tables` by the operations that created the tables of that release.
"""

from alembic import op

from plugins.workspace_sql.schema import create_tables

revision = "0003_baseline"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the tables."""
    create_tables(op.get_bind())
