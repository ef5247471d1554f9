"""The columns that name a record of a relation, so that each counted row is a record of its own."""

from collections.abc import Mapping
from typing import Final

from service_core.analytics.measures import Aggregation, Column, DailyMean, Relation, entry_column
from service_core.analytics.query.catalog import Metric
from service_core.analytics.query.compute import list_base_measures


def _row_columns(*names: str) -> Mapping[str, Column]:
    return {name: Column(name) for name in names}


_EVENT: Final = _row_columns("event_id", "event_name", "timestamp")
_COLUMNS_OF_ROWS: Final[Mapping[Relation, Mapping[str, Column]]] = {
    Relation.EVENTS: _EVENT,
    Relation.CONVERSIONS: _EVENT,
    Relation.PAYMENTS: _row_columns(
        "event_id", "kind", "timestamp", "rated_at", "order_id", "provider", "currency"
    ),
    Relation.SPEND: {
        "date": Column("day"),
        **_row_columns("platform", "account_id", "campaign_id", "campaign_name", "currency"),
    },
    Relation.SESSIONS: {"visitor_id": Column("visitor_id"), "session_id": entry_column("session_id")},
}
"""Relation -> field of a record -> column, for counts and sums of rows."""

_COLUMNS_OF_DISTINCT_VALUES: Final[Mapping[Column, Mapping[str, Column]]] = {
    Column("session"): _row_columns("visitor_id", "session_id"),
}
"""Column whose different values are counted -> field of a record -> column, where it is not the column itself."""


def record_columns_by_field(aggregation: Aggregation) -> Mapping[str, Column]:
    """Returns field -> column of the records that an aggregation counts: a row, or a distinct value."""
    if not aggregation.distinct or aggregation.column is None:
        return _COLUMNS_OF_ROWS[aggregation.relation]
    column = aggregation.column
    return _COLUMNS_OF_DISTINCT_VALUES.get(column) or {column.name.replace(".", "_"): column}


def can_list_records(metric: Metric) -> bool:
    """Whether the records behind a metric can be listed."""
    return all(
        not isinstance(base, DailyMean) and base.relation in _COLUMNS_OF_ROWS
        for base in list_base_measures(metric.measure)
    )
