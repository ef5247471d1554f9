"""Turns to read by what is read, how far revenue providers were read, and which of their messages are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables; what webhooks told before this version is not read again."""
    op.drop_table("ad_turns")
    op.create_table(
        "reading_turns",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("what", sa.String(16), nullable=False),
        sa.Column("holder", sa.Uuid(), nullable=False),
        sa.Column("held_until", _INSTANT, nullable=False),
        *_keyed("reading_turns", "what"),
    )
    op.create_table(
        "poll_states",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("since", _INSTANT),
        sa.Column("read_at", _INSTANT),
        *_keyed("poll_states", "provider"),
    )
    op.create_table(
        "provider_messages",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        *_keyed("provider_messages", "digest"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO poll_states (workspace_id, provider, since) SELECT workspace_id, provider, last_synced_at "
        "FROM connections WHERE kind = 'revenue' AND last_synced_at IS NOT NULL"
    )


def _keyed(table: str, further: str) -> tuple[sa.Constraint, ...]:
    """The key of a table, which begins with the workspace."""
    return (
        sa.PrimaryKeyConstraint("workspace_id", further, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=f"fk_{table}_workspace_id", ondelete="CASCADE"
        ),
    )
