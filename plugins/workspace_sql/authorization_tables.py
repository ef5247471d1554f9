"""Programs and single-use secrets of the authorization server: tables that know digests alone."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA

OAUTH_CLIENTS: Final = sa.Table(
    "oauth_clients",
    METADATA,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("redirect_uris", sa.JSON, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)

OAUTH_TICKETS: Final = sa.Table(
    "oauth_tickets",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("grant_id", sa.ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("redirect_uri", sa.Text),
    sa.Column("challenge", sa.String(43)),
    sa.Column("used_at", Instant),
)
"""A used ticket stays as long as its grant, so that a second use is noticed whenever it comes."""
