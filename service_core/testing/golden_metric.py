"""Computes the golden value of a metric from given events, through the same query path as an endpoint."""

from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Workspace
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.ports import CreditRule, Weighting
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.sources import EventSource
from service_core.ingestion.ports import QueueState
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.testing.event_builder import EventBuilder
from service_core.testing.reference_store import open_reference_event_store

CURRENCY: Final = "USD"
DEFAULT_CREDIT_RULE: Final = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)
"""The credit rule of a new workspace, used for metrics of attribution credits."""


async def rounded_metric_value(
    metric: Metric, builder: EventBuilder, time_range: TimeRange, *, zone: str = "UTC"
) -> float | None:
    """Returns the value of a metric as answers show it: rounded for its unit, money in major units of USD.

    Args:
        metric: a metric of any catalog; it need not be installed.
        builder: the events of the workspace.
        time_range: the range of the query; `now` is its end.
        zone: the IANA time zone of days and trailing days.
    """
    store = open_reference_event_store()
    await store.append(builder.events)
    metric_queries = MetricQueries(
        Catalog({metric.id: metric}), (EventSource(store, store, _EmptyQueue(), AttributionModels()),)
    )
    resolved_range = ResolvedRange(time_range, ZoneInfo(zone), time_range.end)
    query = MetricQuery(
        (metric.id,), resolved_range, credit_rule=DEFAULT_CREDIT_RULE, default_credit_rule=DEFAULT_CREDIT_RULE
    )
    caller = build_unlimited_read_only_caller(
        _workspace_of_builder(builder, resolved_range), resolved_range.now, "Golden metric"
    )
    snapshot = await metric_queries.read_source_states_once(caller, query.metrics)
    (row,) = (await metric_queries.execute_marking_unfit_credits_unavailable(caller, query, snapshot)).rows
    return round_to_json_number_by_unit(row.values[0], metric, CURRENCY)


class _EmptyQueue:
    """Reports the state of an empty ingest queue."""

    async def state(self) -> QueueState:
        """Returns no waiting events."""
        return QueueState(0, None)


def _workspace_of_builder(builder: EventBuilder, date_range: ResolvedRange) -> Workspace:
    """Returns a workspace in US dollars with the id of the builder and the time zone of the range."""
    return Workspace(
        id=builder.workspace_id,
        public_id="golden",
        name="Golden metric",
        domain=None,
        timezone=date_range.zone.key,
        currency=CURRENCY,
        plan="unlimited",
        active=True,
        created_at=date_range.span.start,
        secret=b"golden",
    )
