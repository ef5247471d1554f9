"""Tables of clicks on trackable links."""

from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.tables import METADATA


def _workspace(*, index: bool = False) -> sa.Column[object]:
    return sa.Column(
        "workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False, index=index
    )


CLICKS: Final = sa.Table(
    "clicks",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    _workspace(),
    sa.Column("link_id", sa.Uuid, nullable=False),
    sa.Column("lyr", sa.String(16), nullable=False),
    sa.Column("clicked_at", Instant, nullable=False),
    sa.Column("user_agent", sa.Text),
    sa.Column("ip", sa.String(45)),
    sa.Column("network", sa.String(49)),
    sa.Column("country", sa.String(2)),
    sa.Column("device_type", sa.String(16)),
    sa.Column("referrer", sa.Text),
    sa.Column("click_ids", sa.JSON, nullable=False),
    sa.Column("is_bot", sa.Boolean, nullable=False),
    # Of those with an address, as the migration says; said here, it would load both dialects.
    sa.Index("ix_clicks_ip", "ip", "clicked_at"),
)
"""One row per click, bots included. ``ip`` is emptied after seven days, ``network`` stays."""

CLICK_VISITS: Final = sa.Table(
    "click_visits",
    METADATA,
    sa.Column("hour", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("link_id", sa.Uuid, primary_key=True),
    sa.Column("visitor", sa.String(64), primary_key=True),
)
"""Who clicked a link in an hour; rows of hours that are over decide nothing any more."""

CLICK_COUNTS: Final = sa.Table(
    "count_clicks",
    METADATA,
    sa.Column("link_id", sa.Uuid, primary_key=True),
    _workspace(index=True),
    sa.Column("clicks", sa.BigInteger, nullable=False),
    sa.Column("unique_clicks", sa.BigInteger, nullable=False),
)
"""Clicks of people, counted as they come: a list of links reads no clicks."""
