"""Tables of conversions that are sent to ad platforms."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA

POSTBACKS: Final = sa.Table(
    "postbacks",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False),
    sa.Column("rule_id", sa.Uuid, nullable=False),
    sa.Column("event_id", sa.Text, nullable=False),
    sa.Column("event_at", Instant, nullable=False),
    sa.Column("platform", sa.String(64), nullable=False),
    sa.Column("account_id", sa.Text, nullable=False),
    sa.Column("asset_id", sa.Text, nullable=False),
    sa.Column("platform_event", sa.Text, nullable=False),
    sa.Column("is_custom", sa.Boolean, nullable=False),
    sa.Column("platform_event_id", sa.Text, nullable=False),
    sa.Column("is_test", sa.Boolean, nullable=False),
    sa.Column("test_code", sa.Text),
    sa.Column("value", sa.BigInteger),
    sa.Column("currency", sa.String(3)),
    sa.Column("user_agent", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(32)),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_attempt_at", Instant),
    sa.Column("http_status", sa.Integer),
    sa.Column("error_code", sa.String(64)),
    sa.Column("request_masked", sa.JSON(none_as_null=True)),
    sa.Column("sent_at", Instant),
    sa.Column("done_at", Instant),
    sa.UniqueConstraint("rule_id", "event_id"),
    sa.Index("ix_postbacks_waiting", "workspace_id", "platform", "account_id", "next_attempt_at"),
    sa.Index("ix_postbacks_twin", "rule_id", "platform_event_id"),
    sa.Index("ix_postbacks_event", "workspace_id", "event_id"),
    sa.Index("ix_postbacks_done", "workspace_id", "done_at"),
)
"""One row per rule and event, kept for good; what it holds of a person goes when it is done."""

POSTBACK_QUEUES: Final = sa.Table(
    "postback_queues",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("platform", sa.String(64), primary_key=True),
    sa.Column("account_id", sa.Text, primary_key=True),
    sa.Column("next_at", Instant),
    sa.Column("holder", sa.Uuid),
    sa.Column("held_until", Instant),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("closed_until", Instant),
    sa.Column("refused", sa.Boolean, nullable=False),
    sa.Column("counted_from", Instant),
    sa.Column("calls", sa.Integer, nullable=False),
)
"""One row per account: when its next conversion is due, who is at it, and how its account stands."""
