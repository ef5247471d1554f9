"""The tables as they stand now; `migrations` is how they came to be."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant

METADATA: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
"""Every constraint has a name, so a later migration can drop it on any engine."""

WORKSPACES: Final = sa.Table(
    "workspaces",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("public_id", sa.String(12), nullable=False, unique=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("domain", sa.Text),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("plan", sa.String(32), nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("allowed_origins", sa.JSON, nullable=False),
    sa.Column("rules", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("triggers", sa.JSON, nullable=False, server_default="[]"),
)

CREDENTIALS: Final = sa.Table(
    "credentials",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("rate_limit", sa.Integer, nullable=False),
    sa.Column("hint", sa.String(8), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("revoked_at", Instant),
)

CHANGE_COUNTER: Final = sa.Table(
    "access_generation",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.BigInteger, nullable=False),
)
"""One row: counts the changes to workspaces and credentials, raised in the transaction of each."""
