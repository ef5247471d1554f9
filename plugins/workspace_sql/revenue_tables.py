"""Tables of ad spend, item costs, exchange rates and subscriptions."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import CODE_POINT_TEXT, EnumText, Instant
from plugins.workspace_sql.records import (
    METADATA,
    cascading_reference_column,
    partial_index,
    record_table,
    recorded_at_column,
)
from service_core.plugin import (
    AdEntity,
    AdLevel,
    DayRate,
    ItemCost,
    Movement,
    SpendRow,
    StatusPeriod,
    SubscriptionPayment,
    SubscriptionState,
)

_AD_KEY: Final = ("workspace_id", "level", "platform", "account_id", "entity_id")

AD_SPEND: Final = record_table(
    "ad_spend",
    SpendRow,
    cascading_reference_column("workspaces"),
    sa.Column("level", EnumText(AdLevel), nullable=False),
    sa.Column("entity_id", sa.Text, nullable=False),
    sa.Column("conversions", sa.BigInteger),
    sa.Column("is_latest", sa.Boolean, nullable=False),
    recorded_at_column(),
    key=[*_AD_KEY, "day", "fetched_at", "attribution_setting"],
    exclude=["entity"],
)
"""One row per version of the day of an entity. The latest one counts. Conversions are in millionths, so that sums are exact."""
partial_index(AD_SPEND, "ad_spend_latest", "workspace_id, level, day", "is_latest")

AD_ENTITIES: Final = record_table(
    "ad_entities",
    AdEntity,
    cascading_reference_column("workspaces"),
    sa.Column("platform", sa.Text),
    sa.Column("account_id", sa.Text),
    sa.Column("entity_id", sa.Text),
    sa.Column("fetched_at", Instant, nullable=False),
    recorded_at_column(),
    key=_AD_KEY,
)
"""One row per campaign, group or ad with spend, with the names it had last."""

ITEM_COSTS: Final = record_table(
    "item_costs",
    ItemCost,
    cascading_reference_column("workspaces"),
    sa.Column("item", CODE_POINT_TEXT, nullable=False),
    sa.Column("import_id", sa.Uuid, nullable=False),
    sa.Column("imported_at", Instant, nullable=False),
    recorded_at_column(),
    key=["workspace_id", "known_by", "item", "effective_from"],
)
"""One row per item and day from which a cost counts. Costs are in millionths of a major unit."""

EXCHANGE_RATES: Final = record_table(
    "exchange_rates",
    DayRate,
    sa.Column("source", sa.Text),
    recorded_at_column(),
    key=["source", "currency", "day"],
    sqlite_with_rowid=False,
)

RATE_SOURCES: Final = sa.Table(
    "rate_sources",
    METADATA,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("read_at", Instant, nullable=False),
    recorded_at_column(),
)

_SUBSCRIPTION_KEY: Final = ("workspace_id", "subscription")


def _subscription_columns() -> tuple[sa.Column[Any], ...]:
    return cascading_reference_column("workspaces"), sa.Column("subscription", sa.Uuid)


REPORTED_STATES: Final = record_table(
    "subscription_states",
    SubscriptionState,
    *_subscription_columns(),
    recorded_at_column(),
    key=[*_SUBSCRIPTION_KEY, "message_id"],
)
"""One row per message and subscription. It is never changed."""

SUBSCRIPTION_PAYMENTS: Final = record_table(
    "subscription_payments",
    SubscriptionPayment,
    *_subscription_columns(),
    recorded_at_column(),
    key=[*_SUBSCRIPTION_KEY, "message_id"],
)
"""One row per charge or failed charge. It is never changed."""

MOVEMENTS: Final = record_table(
    "subscription_movements",
    Movement,
    *_subscription_columns(),
    sa.Column("position", sa.Integer),
    sa.Column("mrr_numerator", sa.BigInteger, nullable=False),
    sa.Column("mrr_denominator", sa.BigInteger, nullable=False),
    sa.Index("ix_subscription_movements_subscription", *_SUBSCRIPTION_KEY),
    key=["workspace_id", "at", "subscription", "position"],
    exclude=["mrr_delta"],
    sqlite_with_rowid=False,
)
"""MRR movements, computed from states and payments and written with them. In order of time, so that a query reads a range."""

STATUS_PERIODS: Final = record_table(
    "subscription_status_periods",
    StatusPeriod,
    *_subscription_columns(),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("subscription_id", CODE_POINT_TEXT, nullable=False),
    sa.Index("ix_subscription_status_periods_started_at", "workspace_id", "started_at", "subscription_id"),
    key=[*_SUBSCRIPTION_KEY, "since"],
)
"""Status of a subscription over time, computed like the movements. The last period has no end."""
