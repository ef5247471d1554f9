"""Programs that registered, and the codes and refresh tokens of grants."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "oauth_clients",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_oauth_clients"),
    )
    op.create_table(
        "oauth_tickets",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("grant_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("expires_at", instant, nullable=False),
        sa.Column("redirect_uri", sa.Text()),
        sa.Column("challenge", sa.String(43)),
        sa.Column("used_at", instant),
        sa.ForeignKeyConstraint(
            ["grant_id"], ["oauth_grants.id"], name="fk_oauth_tickets_grant_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name="pk_oauth_tickets"),
    )
    op.create_index("ix_oauth_tickets_grant_id", "oauth_tickets", ["grant_id"], unique=False)
