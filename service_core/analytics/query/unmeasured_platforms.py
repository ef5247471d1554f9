"""Metrics that compare ad spend with events, and the platforms whose spend is unknown."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.measures import SPEND_PLATFORM, Relation
from service_core.analytics.ports import QueryScope
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.snapshot import SourceSnapshot, list_aggregations
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.null_reasons import UnavailableMetric
from service_core.kernel.time_ranges import TimeRange


class UnavailablePlatformMetric(UnavailableMetric):
    """A metric from which the paid touches of one ad platform are left out, since its spend is unknown."""

    platform: str


class UnmeasuredPlatformReader(Protocol):
    """Finds platforms of paid touches whose spend is unknown."""

    async def list_unmeasured_platforms(self, scope: QueryScope) -> tuple[str, ...]:
        """Returns their ids, or the traffic source of a platform that is not installed, sorted."""


class NoUnmeasuredPlatforms:
    """An `UnmeasuredPlatformReader` without platforms."""

    async def list_unmeasured_platforms(self, scope: QueryScope) -> tuple[str, ...]:  # noqa: ARG002 - as the protocol
        """Returns nothing."""
        return ()


async def list_platforms_with_touches_but_no_spend(
    reader: UnmeasuredPlatformReader, caller: Caller, query: MetricQuery, snapshot: SourceSnapshot
) -> tuple[str, ...]:
    """Returns the platforms whose paid touches the spend of a query lacks.

    Reads paid sessions of the range and of the attribution window before it, and only if a metric compares known spend
    with events.
    """
    catalog = snapshot.catalog
    measured = snapshot.states.get(Relation.SPEND)
    if measured is None or Relation.SPEND in measured.unavailable_reasons:
        return ()
    if not any(compares_spend_with_events(catalog, id_) for id_ in query.metrics):
        return ()
    days = AttributionSettings.workspace_default(caller.workspace).window_days
    windows = [rule.window for rule in (query.credit_rule, query.default_credit_rule) if rule is not None]
    span = query.range.span
    widened = TimeRange(span.start - max([*windows, timedelta(days=days)]), span.end)
    scope = replace(scope_for_caller(caller, widened, include_bots=query.include_bots), filters=())
    return await reader.list_unmeasured_platforms(scope)


def compares_spend_with_events(catalog: Catalog, metric_id: str) -> bool:
    """Whether a metric is computed from ad spend and from something else."""
    relations = {aggregation.relation for aggregation in list_aggregations(catalog, metric_id)}
    return Relation.SPEND in relations and len(relations) > 1


def list_unavailable_metric_per_platform_without_spend(
    catalog: Catalog, metric_ids: Sequence[str], platforms: Sequence[str]
) -> list[UnavailableMetric]:
    """Returns for each metric that leaves out touches of platforms without spend an entry for each such platform."""
    return [
        UnavailablePlatformMetric(metric=id_, reason=UnavailableReason.NO_AD_PLATFORM, platform=platform)
        for id_ in metric_ids
        if _counts_only_platforms_with_spend(catalog, id_)
        for platform in platforms
    ]


def _counts_only_platforms_with_spend(catalog: Catalog, metric_id: str) -> bool:
    return any(
        SPEND_PLATFORM in condition.columns
        for aggregation in list_aggregations(catalog, metric_id)
        for condition in aggregation.where
    )
