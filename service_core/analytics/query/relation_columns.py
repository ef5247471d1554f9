"""Columns of each relation, and which of them hold money (`measures.Relation`)."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from service_core.analytics.event_rules.order_deduplication import CHARGE_COLUMNS
from service_core.analytics.measures import Aggregation, DailyMean, Measure, Relation
from service_core.ingestion.models import CAMPAIGN_COLUMNS
from service_core.ingestion.models import COLUMNS as EVENT_COLUMNS

_EVENT: Final = frozenset(column.name for column in EVENT_COLUMNS)
_ENTRY: Final = frozenset(f"entry.{name}" for name in _EVENT)
_EVENTS: Final = _EVENT | _ENTRY | {"session", "person", "identified", "visitor_is_new"}
_TOUCH: Final = frozenset(
    f"touch.{name}"
    for name in (
        *("attribution_source", "attribution_medium", "channel"),
        *CAMPAIGN_COLUMNS,
        *("referrer", "referrer_host", "landing_page", "country"),
    )
)
EVENT_STORE_COLUMNS: Final[Mapping[Relation, frozenset[str]]] = {
    Relation.EVENTS: _EVENTS,
    Relation.CONVERSIONS: _EVENTS,
    Relation.SESSIONS: _ENTRY | {
        "visitor_id", "visitor_is_new", "pageviews", "events", "duration", "bounced", "engaged",
        "has_cart", "has_purchase",
    },
    Relation.PAYMENTS: frozenset({
        "kind", "amount", *CHARGE_COLUMNS, "currency", "no_rate", "provider", "order_id", "person", "first_order", "person_is_new",
    }),
    Relation.CREDITS: _TOUCH | {
        "attributed", "credit", "order_credit", "amount", "refunded", "is_order", "first_order",
        "event_name", "currency", "no_rate", "person_is_new",
    },
}  # fmt: skip
"""Columns of each relation of the event store."""

_AD_COLUMNS: Final = frozenset({
    "platform", "account_id", "campaign_id", "campaign_name", "group_id", "group_name", "ad_id", "ad_name",
})  # fmt: skip
AD_COLUMN_PREFIX: Final = "touch.ad."
"""What the columns of credits are called that no store has: the ad a touch came from (semantics 12.3)."""

_OTHER_SOURCE_COLUMNS: Final[Mapping[Relation, frozenset[str]]] = {
    Relation.CREDITS: frozenset(f"{AD_COLUMN_PREFIX}{name}" for name in _AD_COLUMNS),
    Relation.SPEND: _AD_COLUMNS | {
        "currency", "no_rate", "spend", "impressions", "clicks", "reach", "conversions", "conversion_value",
    },
    Relation.SUBSCRIPTIONS: frozenset({
        "product", "provider", "plan", "currency", "no_rate", "mrr", "arr", "mrr_new", "mrr_expansion", "mrr_contraction",
        "mrr_churn", "mrr_reactivation", "charged", "active_subscriptions", "active_at_start",
        "new_subscriptions", "churned_subscriptions", "trials_started", "trials_ended", "trials_converted",
        "failed_payments",
    }),
    Relation.COSTS: frozenset({"provider", "sold_in", "currency", "cogs", "shipping_costs"}),
}  # fmt: skip
"""Columns of relations of other sources; relations in no list are not checked."""

_NONE: Final[frozenset[str]] = frozenset()
_MONEY_COLUMNS: Final[Mapping[Relation, frozenset[str]]] = {
    Relation.PAYMENTS: frozenset({"amount", *CHARGE_COLUMNS}),
    Relation.CREDITS: frozenset({"amount", "refunded"}),
    Relation.SPEND: frozenset({"spend", "conversion_value"}),
    Relation.SUBSCRIPTIONS: frozenset({
        "mrr", "arr", "mrr_new", "mrr_expansion", "mrr_contraction", "mrr_churn", "mrr_reactivation", "charged",
    }),
    Relation.COSTS: frozenset({"cogs", "shipping_costs"}),
}  # fmt: skip
"""Columns of each relation that hold money: minor units of the ``currency`` of the row."""

_MILLIONTH_COLUMNS: Final[Mapping[Relation, frozenset[str]]] = {
    Relation.CREDITS: frozenset({"credit", "order_credit"}),
    Relation.SPEND: frozenset({"conversions"}),
}
"""Columns of each relation that are counted in millionths."""

_DATA: Final = "data:"
_WITH_DATA: Final = frozenset({Relation.EVENTS, Relation.CONVERSIONS})


def is_money(aggregation: Aggregation) -> bool:
    """Whether an aggregation sums money, in the minor units of each row's currency."""
    return aggregation.column in _MONEY_COLUMNS.get(aggregation.relation, _NONE)


def is_in_millionths(aggregation: Aggregation) -> bool:
    """Whether an aggregation sums values in millionths."""
    return aggregation.column in _MILLIONTH_COLUMNS.get(aggregation.relation, _NONE)


def find_unknown_columns(measure: Measure) -> Iterator[str]:
    """Yields a message for every column of a measure that its relation does not have."""
    for leaf in [measure.aggregation] if isinstance(measure, DailyMean) else measure.aggregations():
        for column in (leaf.column, *(condition.column for condition in leaf.where)):
            if column is not None:
                yield from find_unknown_column_names(leaf.relation, column)


def find_unknown_column_names(relation: Relation, column: str) -> Iterator[str]:
    """Yields a message for every name in a column that the rows of a relation do not have."""
    known = EVENT_STORE_COLUMNS.get(relation, _NONE) | _OTHER_SOURCE_COLUMNS.get(relation, _NONE)
    if not known or (column.startswith(_DATA) and relation in _WITH_DATA):
        return
    for name in column.split("|"):
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            yield f"{relation} have no column {name!r}{meant}"
