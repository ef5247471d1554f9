"""Tables of what a workspace owns: records as documents, the audit log, and answers kept for retries."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA


def _workspace() -> sa.Column[object]:
    return sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False)


_NAMES: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Compared as the core compares text: by code point, whatever the language of the database."""

RESOURCES: Final = sa.Table(
    "resources",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    _workspace(),
    sa.Column("type", sa.String(32), nullable=False),
    sa.Column("state", sa.JSON, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("deleted_at", Instant),
    sa.Column("names", _NAMES, nullable=False, server_default=""),
    sa.Index("ix_resources_listed", "workspace_id", "type", "created_at"),
)
"""One row per record of any type; a removed one keeps its row."""

RESOURCE_KEYS: Final = sa.Table(
    "resource_keys",
    METADATA,
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("resource_id", sa.ForeignKey("resources.id", ondelete="CASCADE"), nullable=False, index=True),
)
"""What only one live record of the deployment may hold, such as a slug of a link domain."""

AUDIT: Final = sa.Table(
    "audit",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    _workspace(),
    sa.Column("type", sa.String(32), nullable=False),
    sa.Column("resource_id", sa.Uuid, nullable=False),
    sa.Column("actor_id", sa.Uuid, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("entry", sa.JSON, nullable=False),
    sa.Column("undone_by", sa.Uuid),
    sa.Column("undone_at", Instant),
    sa.Index("ix_audit_newest", "workspace_id", "created_at"),
    sa.Index("ix_audit_resource", "workspace_id", "resource_id"),
)
"""Applied writes. ``entry`` is never changed; that it was undone stands in columns of its own."""

IDEMPOTENCY_RECORDS: Final = sa.Table(
    "replays",
    METADATA,
    sa.Column("ticket", sa.String(64), primary_key=True),
    _workspace(),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("expires_at", Instant, nullable=False, index=True),
)
"""Answers of requests that are performed once; a ticket names the credential, so it is nobody else's."""
