"""Tables of subscriptions: what was told, and what follows from it."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA

_BY_CODE_POINT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _workspace() -> sa.Column[object]:
    return sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True)


def _place() -> tuple[sa.Column[object], ...]:
    """Whose and of which subscription: what most tables begin with."""
    return _workspace(), sa.Column("subscription", sa.Uuid, primary_key=True)


def _message() -> tuple[sa.Column[object], ...]:
    """What every message of a provider says."""
    return (
        sa.Column("message_id", sa.Text, primary_key=True),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Text, nullable=False),
        sa.Column("subscription_id", sa.Text, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.Column("test", sa.Boolean, nullable=False),
    )


REPORTED_STATES: Final = sa.Table(
    "subscription_states",
    METADATA,
    *_place(),
    *_message(),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("amount", sa.BigInteger),
    sa.Column("currency", sa.String(3)),
    sa.Column("interval", sa.String(16)),
    sa.Column("started_at", Instant),
    sa.Column("interval_count", sa.BigInteger, nullable=False),
    sa.Column("quantity", sa.BigInteger, nullable=False),
    sa.Column("plan", sa.Text),
    sa.Column("product_id", sa.Text),
    sa.Column("trial_ends_at", Instant),
    sa.Column("current_period_end", Instant),
    sa.Column("cancel_at_period_end", sa.Boolean, nullable=False),
    sa.Column("canceled_at", Instant),
    sa.Column("ended_at", Instant),
    sa.Column("identity", sa.JSON, nullable=False),
)
"""One row per message and subscription, never changed."""

SUBSCRIPTION_PAYMENTS: Final = sa.Table(
    "subscription_deeds",
    METADATA,
    *_place(),
    *_message(),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("amount", sa.BigInteger),
    sa.Column("currency", sa.String(3)),
)
"""One row per charge, or charge that failed, never changed."""

MOVEMENTS: Final = sa.Table(
    "subscription_movements",
    METADATA,
    _workspace(),
    sa.Column("at", Instant, primary_key=True),
    sa.Column("subscription", sa.Uuid, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("provider", sa.String(64), nullable=False),
    sa.Column("product", sa.Text),
    sa.Column("plan", sa.Text),
    sa.Column("currency", sa.String(3)),
    sa.Column("worth", sa.BigInteger, nullable=False),
    sa.Column("parts", sa.BigInteger, nullable=False),
    sa.Column("live", sa.Integer, nullable=False),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Index("ix_subscription_movements_subscription", "workspace_id", "subscription"),
    sqlite_with_rowid=False,
)
"""What follows from states and deeds, written with them; ``worth / parts`` is a month's worth, exactly.

Rows lie in the order of time, so a question reads a stretch of them.
"""

STATUS_INTERVALS: Final = sa.Table(
    "subscription_phases",
    METADATA,
    *_place(),
    sa.Column("since", Instant, primary_key=True),
    sa.Column("until", Instant),
    sa.Column("provider", sa.String(64), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("standing", sa.String(16), nullable=False),
    sa.Column("dead_since", Instant),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("subscription_id", _BY_CODE_POINT, nullable=False),
    sa.Index("ix_subscription_phases_started_at", "workspace_id", "started_at", "subscription_id"),
)
"""How a subscription stood since when, likewise; the last one has no end."""
