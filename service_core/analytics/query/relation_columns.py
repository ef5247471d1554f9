"""Columns of each relation, and which of them hold money (`measures.Relation`)."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from service_core.analytics.event_rules.order_deduplication import CHARGE_COLUMNS
from service_core.analytics.measures import (
    PROPERTY_OWNERS,
    SPEND_PLATFORM,
    Aggregation,
    Column,
    DailyMean,
    Measure,
    Relation,
    ad_column,
    entry_column,
    touch_column,
)
from service_core.ingestion.models import CAMPAIGN_COLUMNS, COMPUTED_COLUMNS
from service_core.ingestion.models import COLUMNS as EVENT_COLUMNS


def _row_columns(*names: str) -> frozenset[Column]:
    return frozenset(map(Column, names))


_EVENT: Final = frozenset(Column(column.name) for column in EVENT_COLUMNS)
_ENTRY: Final = frozenset(entry_column(column.name) for column in (*EVENT_COLUMNS, *COMPUTED_COLUMNS))
_EVENTS: Final = (
    _EVENT | _ENTRY | _row_columns("session", "person", "identified", "visitor_is_new", "exit_page")
)
_TOUCH: Final = frozenset(
    touch_column(name)
    for name in (
        *("attribution_source", "attribution_medium", "channel"),
        *CAMPAIGN_COLUMNS,
        *("referrer", "referrer_host", "landing_page", "country"),
    )
)
EVENT_STORE_COLUMNS: Final[Mapping[Relation, frozenset[Column]]] = {
    Relation.EVENTS: _EVENTS,
    Relation.CONVERSIONS: _EVENTS,
    Relation.SESSIONS: _ENTRY | _row_columns(
        "visitor_id", "visitor_is_new", "pageviews", "events", "duration", "bounced", "engaged",
        "has_cart", "has_purchase", "exit_page",
    ),
    Relation.PAYMENTS: _ENTRY | _TOUCH | _row_columns(
        "kind", "amount", *CHARGE_COLUMNS, "currency", "missing_fx_rate", "provider", "order_id", "person",
        "is_order", "product", "is_main_part", "first_order", "orders_so_far", "microseconds_to_second_order", "timestamp",
        "person_is_new", "event_id", "rated_at",
    ),
    Relation.CREDITS: _TOUCH | _row_columns(
        "attributed", "credit", "order_credit", "amount", "refunded", "is_order", "first_order",
        "event_name", "currency", "missing_fx_rate", "person_is_new",
    ),
}  # fmt: skip
"""Columns of each relation of the event store."""

_AD_COLUMNS: Final = (
    "platform", "account_id", "campaign_id", "campaign_name", "group_id", "group_name", "ad_id", "ad_name",
)  # fmt: skip

_OTHER_SOURCE_COLUMNS: Final[Mapping[Relation, frozenset[Column]]] = {
    Relation.CREDITS: frozenset(map(ad_column, (*_AD_COLUMNS, SPEND_PLATFORM.name))),
    Relation.SPEND: _row_columns(
        *_AD_COLUMNS, "day", "currency", "missing_fx_rate", "spend", "impressions", "clicks", "reach", "conversions",
        "conversion_value",
    ),
    Relation.SUBSCRIPTIONS: _row_columns(
        "product", "provider", "plan", "currency", "missing_fx_rate", "mrr", "arr", "mrr_new", "mrr_expansion", "mrr_contraction",
        "mrr_churn", "mrr_reactivation", "charged", "active_subscriptions", "active_at_start",
        "new_subscriptions", "churned_subscriptions", "trials_started", "trials_ended", "trials_converted",
        "failed_payments",
    ),
    Relation.COSTS: _row_columns("product", "provider", "sold_in", "currency", "cogs", "shipping_costs"),
}  # fmt: skip
"""Columns of relations of other sources; relations in no list are not checked."""

_NONE: Final[frozenset[Column]] = frozenset()
_MONEY_COLUMNS: Final[Mapping[Relation, frozenset[Column]]] = {
    Relation.PAYMENTS: _row_columns("amount", *CHARGE_COLUMNS),
    Relation.CREDITS: _row_columns("amount", "refunded"),
    Relation.SPEND: _row_columns("spend", "conversion_value"),
    Relation.SUBSCRIPTIONS: _row_columns(
        "mrr", "arr", "mrr_new", "mrr_expansion", "mrr_contraction", "mrr_churn", "mrr_reactivation", "charged",
    ),
    Relation.COSTS: _row_columns("cogs", "shipping_costs"),
}  # fmt: skip
"""Columns of each relation that hold money: minor units of the ``currency`` of the row."""

_MILLIONTH_COLUMNS: Final[Mapping[Relation, frozenset[Column]]] = {
    Relation.CREDITS: _row_columns("credit", "order_credit"),
    Relation.SPEND: _row_columns("conversions"),
}
"""Columns of each relation that are counted in millionths."""

RELATIONS_WITH_PROPERTIES: Final = frozenset({Relation.EVENTS, Relation.CONVERSIONS, Relation.PAYMENTS})
"""Relations whose rows have the custom properties of an event. Rows of SESSIONS have those of their first event."""


def is_money(aggregation: Aggregation) -> bool:
    """Whether an aggregation sums money, in the minor units of each row's currency."""
    return aggregation.column in _MONEY_COLUMNS.get(aggregation.relation, _NONE)


def is_in_millionths(aggregation: Aggregation) -> bool:
    """Whether an aggregation sums values in millionths."""
    return aggregation.column in _MILLIONTH_COLUMNS.get(aggregation.relation, _NONE)


def messages_for_unknown_columns_of_measure(measure: Measure) -> Iterator[str]:
    """Yields a message for every column of a measure that its relation does not have."""
    for aggregation in [measure.aggregation] if isinstance(measure, DailyMean) else measure.aggregations():
        compared = (column for condition in aggregation.where for column in condition.columns)
        for column in (aggregation.column, *compared):
            if column is not None:
                yield from messages_for_unknown_columns_with_hint(aggregation.relation, column)


def messages_for_unknown_columns_with_hint(relation: Relation, column: Column) -> Iterator[str]:
    """Yields a message for every name in a column that the rows of a relation do not have."""
    known = EVENT_STORE_COLUMNS.get(relation, _NONE) | _OTHER_SOURCE_COLUMNS.get(relation, _NONE)
    if not known:
        return
    for part in column.candidates:
        has_properties = relation in RELATIONS_WITH_PROPERTIES or relation is Relation.SESSIONS
        is_property = part.owner in PROPERTY_OWNERS and has_properties
        if part not in known and not is_property:
            matches = get_close_matches(str(part), map(str, known), n=1)
            meant = f"; did you mean {matches[0]!r}?" if matches else ""
            yield f"{relation} have no column {str(part)!r}{meant}"
