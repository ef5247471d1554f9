"""Tables of resources and their changes, exports, clicks, connections and postbacks."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import CODE_POINT_TEXT, Instant, JsonValue
from plugins.workspace_sql.records import (
    METADATA,
    cascading_reference_column,
    partial_index,
    record_table,
    recorded_at_column,
)
from service_core.plugin import (
    AccountHealth,
    AlertState,
    Asset,
    Click,
    ClickCount,
    ConnectedAccount,
    Connection,
    EmailConsent,
    Erasure,
    Export,
    ImportJob,
    KnownEventStore,
    Notification,
    PollState,
    Postback,
    StoredReceipt,
    ViewCount,
)


def _dump_accounts(accounts: tuple[ConnectedAccount, ...]) -> list[dict[str, Any]]:
    return [asdict(account) for account in accounts]


def _load_accounts(stored: list[Mapping[str, Any]]) -> tuple[ConnectedAccount, ...]:
    return tuple(
        ConnectedAccount(**{**account, "assets": tuple(Asset(**asset) for asset in account["assets"])})
        for account in stored
    )


# resources of a workspace, and their changes

RESOURCES: Final = sa.Table(
    "resources",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    cascading_reference_column("workspaces"),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("state", sa.JSON, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("deleted_at", Instant),
    sa.Column("search_text", CODE_POINT_TEXT, nullable=False),
    recorded_at_column(),
    sa.Index("ix_resources_listed", "workspace_id", "type", "created_at"),
)
"""One row per resource of any type. A deleted one keeps its row."""

RESOURCE_KEYS: Final = sa.Table(
    "resource_keys",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    cascading_reference_column("resources", index=True),
)
"""Keys that one live resource of the deployment may have, such as a slug of a link domain."""

SHARE_LINK_VIEWS: Final = record_table(
    "share_link_views",
    ViewCount,
    sa.Column("link_id", sa.ForeignKey("resources.id", ondelete="CASCADE")),
    key=["link_id"],
)
"""Views are kept beside the share link: counting one must not undo a change made at the same moment."""

AUDIT_LOG: Final = sa.Table(
    "audit_log",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    cascading_reference_column("workspaces"),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Uuid, nullable=False),
    sa.Column("actor_id", sa.Uuid, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("entry", sa.JSON, nullable=False),
    sa.Column("undone_by", sa.Uuid),
    sa.Column("undone_at", Instant),
    sa.Index("ix_audit_log_newest", "workspace_id", "created_at"),
    sa.Index("ix_audit_log_resource", "workspace_id", "resource_id"),
)
"""Applied changes. ``entry`` is never changed; whether it was undone is in columns of its own."""

IDEMPOTENCY_RECORDS: Final = sa.Table(
    "idempotency_records",
    METADATA,
    sa.Column("digest", sa.Text, primary_key=True),
    cascading_reference_column("workspaces"),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("expires_at", Instant, nullable=False, index=True),
)
"""Answers of idempotent requests. The digest covers the credential, so no other one can have it."""

EXPORTS: Final = record_table("exports", Export, indexed=["workspace_id", "free_at", "due_at", "ticket"])
"""One row per export job. The files are in the export storage."""

IMPORTS: Final = record_table("imports", ImportJob, indexed=["workspace_id", "free_at", "due_at"])
"""One row per import job. The uploaded files are in the export storage until their job ends."""

# clicks and visits

CLICKS: Final = record_table("clicks", Click)
"""One row per click, bots included. ``ip`` is erased after seven days, ``network`` stays."""
partial_index(CLICKS, "clicks_ip", "ip, clicked_at", "ip IS NOT NULL")

CLICK_VISITORS: Final = sa.Table(
    "click_visitors",
    METADATA,
    sa.Column("hour", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("link_id", sa.Uuid, primary_key=True),
    sa.Column("visitor", sa.Text, primary_key=True),
)
"""Visitors of a link by hour, for unique clicks. Rows of past hours are not needed any more."""

CLICK_COUNTS: Final = record_table(
    "click_counts",
    ClickCount,
    sa.Column("link_id", sa.Uuid),
    cascading_reference_column("workspaces", index=True),
    key=["link_id"],
)
"""Clicks of people, counted as they arrive, so that a list of links reads no clicks."""

MATCHED_VISITS: Final = sa.Table(
    "matched_visits",
    METADATA,
    cascading_reference_column("workspaces", primary_key=True),
    sa.Column("visit", sa.Text, primary_key=True),
    sa.Column("matched_at", Instant, nullable=False),
)
"""``visit`` is a digest: the ids of devices may be long, and nobody needs them here."""

# connections to providers and platforms

CONNECTIONS: Final = record_table(
    "connections",
    Connection,
    sa.Column("accounts", JsonValue(_dump_accounts, _load_accounts), nullable=False),
    recorded_at_column(),
    key=["workspace_id", "provider"],
)

ENCRYPTED_SECRETS: Final = sa.Table(
    "encrypted_secrets",
    METADATA,
    cascading_reference_column("workspaces", primary_key=True),
    sa.Column("provider", sa.Text, primary_key=True),
    sa.Column("ciphertext", sa.LargeBinary, nullable=False),
)
"""One row per connection with credentials. It is deleted with the connection."""

POLL_STATES: Final = record_table(
    "poll_states",
    PollState,
    cascading_reference_column("workspaces"),
    sa.Column("provider", sa.Text),
    recorded_at_column(),
    key=["workspace_id", "provider"],
)
"""One row per connection that was polled, or received webhooks before. It is deleted with the connection."""

PROCESSED_MESSAGES: Final = sa.Table(
    "processed_messages",
    METADATA,
    cascading_reference_column("workspaces", primary_key=True),
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
"""One row per message of a provider, kept for ever: 16 bytes of the digest of provider and message id."""

SYNC_LEASES: Final = sa.Table(
    "sync_leases",
    METADATA,
    cascading_reference_column("workspaces", primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("holder", sa.Uuid, nullable=False),
    sa.Column("held_until", Instant, nullable=False),
)
"""One row per workspace and kind of sync that runs, or ran when a process died."""

USAGE_ALERTS: Final = sa.Table(
    "usage_alerts",
    METADATA,
    cascading_reference_column("workspaces", primary_key=True),
    sa.Column("period_start", Instant, primary_key=True),
    sa.Column("percent", sa.Integer, primary_key=True, autoincrement=False),
)
"""One row per e-mail. It is written before the e-mail is sent."""

TRANSFORM_GAPS: Final = sa.Table(
    "transform_gaps",
    METADATA,
    cascading_reference_column("workspaces", primary_key=True),
    sa.Column("hour", Instant, primary_key=True),
    sa.Column("is_held", sa.Boolean, primary_key=True),
)
"""One row per workspace and hour with events that a transform failed for."""

# notifications

NOTIFICATIONS: Final = record_table(
    "notifications",
    Notification,
    sa.Column("holder", sa.Uuid),
    sa.Column("held_until", Instant),
    sa.UniqueConstraint("source_id", "occurrence", "channel", "target"),
    sa.Index("ix_notifications_source", "workspace_id", "source_id"),
)
"""One row per message and target. It has no body once it is sent, and is deleted later (`deliveries.retention_days`)."""
partial_index(NOTIFICATIONS, "notifications_due", "next_attempt_at", "next_attempt_at IS NOT NULL")

ALERT_STATES: Final = record_table(
    "alert_states",
    AlertState,
    sa.Column("alert_id", sa.ForeignKey("resources.id", ondelete="CASCADE")),
    sa.Column("value", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    key=["alert_id"],
)
"""One row per alert that was checked."""

EMAIL_CONSENTS: Final = record_table(
    "email_consents",
    EmailConsent,
    sa.Column("source_id", sa.ForeignKey("resources.id", ondelete="CASCADE")),
    key=["source_id", "email"],
)
"""One row per source and address that was confirmed or unsubscribed."""

# the event store

EVENT_STORES: Final = record_table(
    "event_stores", KnownEventStore, sa.Column("id", sa.Integer, autoincrement=False)
)
"""One row: the event store of the deployment."""

# receipts

RECEIPTS: Final = record_table(
    "receipts",
    StoredReceipt,
    sa.Index("ix_receipts_expires", "workspace_id", "expires_at"),
    key=["workspace_id", "id"],
)
"""One row per receipt, without its records; deleted 90 days later."""

# postbacks

POSTBACKS: Final = record_table(
    "postbacks",
    Postback,
    sa.UniqueConstraint("rule_id", "event_id"),
    sa.Index("ix_postbacks_platform_event", "rule_id", "platform_event_id"),
    sa.Index("ix_postbacks_event", "workspace_id", "event_id"),
    sa.Index("ix_postbacks_done", "workspace_id", "done_at"),
)
"""One row per rule and event, kept for ever. Personal data is erased when it is done."""
partial_index(
    POSTBACKS,
    "postbacks_waiting",
    "workspace_id, platform, account_id, next_attempt_at",
    "next_attempt_at IS NOT NULL",
)

POSTBACK_QUEUES: Final = record_table(
    "postback_queues",
    AccountHealth,
    cascading_reference_column("workspaces"),
    sa.Column("platform", sa.Text),
    sa.Column("account_id", sa.Text),
    sa.Column("next_at", Instant),
    sa.Column("holder", sa.Uuid),
    sa.Column("held_until", Instant),
    key=["workspace_id", "platform", "account_id"],
)
"""One row per ad account: when its next postback is due, which process sends it, and the health of the account."""

ERASURES: Final = record_table("erasures", Erasure, indexed=["workspace_id"])
"""One row per erasure of a person, kept for ever: a completed one holds digests of ids and the certificate only."""
