"""Passkeys of people, and the challenges their browsers are asked to sign."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "passkeys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("transports", sa.JSON(), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("used_at", instant),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_passkeys_account_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_passkeys"),
        sa.UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
    )
    op.create_index("ix_passkeys_account_id", "passkeys", ["account_id"], unique=False)
    op.create_table(
        "passkey_challenges",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("browser", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Uuid()),
        sa.Column("expires_at", instant, nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_passkey_challenges_account_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name="pk_passkey_challenges"),
    )
    op.create_index("ix_passkey_challenges_account_id", "passkey_challenges", ["account_id"], unique=False)
    op.create_index("ix_passkey_challenges_expires_at", "passkey_challenges", ["expires_at"], unique=False)
