"""Compares two event stores: every metric of the catalog, by workspace and month."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hosts.store_copy.copy_events import (
    Store,
    build_scope_of_all_events,
    count_events,
    count_superseded_events,
)
from hosts.store_copy.spans import split_into_local_months
from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Workspace
from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.attribution.resolve_model import credit_rule_or_last_touch_with_model_id
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.sources import EventSource
from service_core.extensions.registry import Registry
from service_core.ingestion.ports import QueueState
from service_core.kernel.availability import Measurement, Unavailable
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

METRICS_PER_QUERY: Final = 25
"""Metrics of one query."""

EVENT_COUNT: Final = "events of everybody, bots included"
SUPERSEDED_COUNT: Final = "superseded events"
ALL_MONTHS: Final = "all"


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric in which the two stores differ.

    Attributes:
        workspace: its public id.
        month: as in ``2026-07``, of the workspace's zone; `ALL_MONTHS` for what is counted at once.
        metric: id of the metric, with what was included besides.
        source, target: what each of them says.
    """

    workspace: str
    month: str
    metric: str
    source: str
    target: str


class _EmptyQueue:
    """An ingest queue without events, so that a comparison reads the stores alone."""

    async def state(self) -> QueueState:
        return QueueState(waiting_count=0, oldest_received_at=None)


async def find_metric_differences_by_month(
    workspace: Workspace,
    source: Store,
    target: Store,
    registry: Registry,
    *,
    now: datetime,
    on_month: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Difference]:
    """Yields every metric in which two stores differ for a workspace.

    Args:
        workspace: whose events.
        source: where they were.
        target: where they are.
        registry: the metrics, those of plugins included.
        now: the instant both are asked at.
        on_month: hears each month before it is compared.
    """
    superseded = [await count_superseded_events(workspace, store) for store in (source, target)]
    if superseded[0] != superseded[1]:
        yield Difference(workspace.public_id, ALL_MONTHS, SUPERSEDED_COUNT, *map(str, superseded))
    for month, span in await _months_from_first_to_last_event(workspace, source, target):
        on_month(month)
        before = await _format_month_metrics_with_and_without_bots(workspace, source, registry, span, now)
        after = await _format_month_metrics_with_and_without_bots(workspace, target, registry, span, now)
        for what, value in before.items():
            if value != after[what]:
                yield Difference(workspace.public_id, month, what, value, after[what])


async def _months_from_first_to_last_event(
    workspace: Workspace, *stores: Store
) -> list[tuple[str, TimeRange]]:
    """Returns the months in which either store has events."""
    bounds_of_stores = [
        bounds for store in stores if (bounds := await store.first_and_last_event_time(workspace.id))
    ]
    if not bounds_of_stores:
        return []
    first, last = min(first for first, _ in bounds_of_stores), max(last for _, last in bounds_of_stores)
    return list(split_into_local_months(first, last, workspace.zone))


async def _format_month_metrics_with_and_without_bots(
    workspace: Workspace, store: Store, registry: Registry, span: TimeRange, now: datetime
) -> Mapping[str, str]:
    """Returns the values of a month: the number of events, and every metric without and with bots."""
    values = {EVENT_COUNT: str(await count_events(store, build_scope_of_all_events(workspace, span)))}
    queries = MetricQueries(registry.catalog, (EventSource(store, store, _EmptyQueue(), registry.models),))
    caller = build_unlimited_read_only_caller(workspace, now, "Comparison")
    credit = credit_rule_or_last_touch_with_model_id(
        registry.models, AttributionSettings.workspace_default(workspace)
    )
    metrics = tuple(registry.catalog.metrics)
    for ids in (
        metrics[start : start + METRICS_PER_QUERY] for start in range(0, len(metrics), METRICS_PER_QUERY)
    ):
        for bots in (False, True):
            query = MetricQuery(
                ids,
                ResolvedRange(span, workspace.zone, now),
                credit_rule=credit,
                default_credit_rule=credit,
                include_bots=bots,
            )
            snapshot = await queries.read_source_states_once(caller, query.metrics)
            (row,) = (await queries.execute_marking_unfit_credits_unavailable(caller, query, snapshot)).rows
            names = (f"{id_} with bots" if bots else id_ for id_ in ids)
            values |= dict(zip(names, map(_format_reading, row.values), strict=True))
    return values


def _format_reading(reading: Measurement) -> str:
    return reading.reason.value if isinstance(reading, Unavailable) else str(reading.value)
