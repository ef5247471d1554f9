"""People, requests for keys, signups and grants: tables that name their secrets by digest alone."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA


def _owner(table: str = "workspaces", *, index: bool = True, nullable: bool = False) -> Any:
    return sa.Column(
        f"{table.removesuffix('s')}_id",
        sa.ForeignKey(f"{table}.id", ondelete="CASCADE"),
        nullable=nullable,
        index=index,
    )


ACCOUNTS: Final = sa.Table(
    "accounts",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("email", sa.String(254), nullable=False, unique=True),
    sa.Column("name", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("password", sa.Text),
)

ACCOUNT_LINKS: Final = sa.Table(
    "account_links",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    _owner("accounts"),
    sa.Column("purpose", sa.String(16), nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
)

MEMBERS: Final = sa.Table(
    "members",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("account_id", sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)

SESSIONS: Final = sa.Table(
    "sessions",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    _owner("accounts"),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
)

INVITATIONS: Final = sa.Table(
    "invitations",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    _owner(),
    sa.Column("email", sa.String(254), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("invited_by", sa.Uuid, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("accepted_at", Instant),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
)

KEY_REQUESTS: Final = sa.Table(
    "key_requests",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("filer", sa.Uuid, nullable=False),
    sa.Column("requester", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("client_name", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    _owner(nullable=True),
    sa.Column("rate_limit", sa.Integer, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("decided_at", Instant),
    sa.Column("decided_by", sa.Uuid),
    sa.Column("key_id", sa.Uuid),
    sa.Column("link", sa.String(64), unique=True),
    sa.Column("once", sa.String(64), unique=True),
)

SIGNUPS: Final = sa.Table(
    "signups",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("email", sa.String(254), nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("company", sa.Text),
    sa.Column("workspace_name", sa.Text, nullable=False),
    sa.Column("domain", sa.Text),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("plan", sa.String(32), nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("order", sa.String(255)),
    sa.Column("paid_at", Instant),
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="SET NULL"), index=True),
    sa.Column("key_request_id", sa.Uuid),
    sa.Column("secret", sa.String(64), unique=True),
    sa.Column("welcome", sa.String(64), unique=True),
    sa.Column("verification", sa.String(64), unique=True),
)

OAUTH_GRANTS: Final = sa.Table(
    "oauth_grants",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    _owner("accounts"),
    sa.Column("client_id", sa.Text, nullable=False),
    sa.Column("client_name", sa.Text, nullable=False),
    _owner(),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("ended_at", Instant),
)

OAUTH_ACCESS_TOKENS: Final = sa.Table(
    "oauth_access_tokens",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("grant_id", sa.ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("expires_at", Instant, nullable=False),
)
