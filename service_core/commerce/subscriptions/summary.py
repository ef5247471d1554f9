"""Builds the summary of `GET /subscriptions` from metrics of the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Final, NamedTuple

from service_core.access.models import Caller
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.commerce.subscriptions.lifecycle import LifecycleStatus
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.commerce.subscriptions.round_to_total import round_changes_to_rounded_totals
from service_core.commerce.subscriptions.schemas import MrrMovements, SubscriptionSummary
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measurement, Unavailable
from service_core.kernel.money import to_major
from service_core.kernel.null_reasons import UnavailableMetric
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

_FIELDS: Final = {
    "mrr": "mrr",
    "arr": "arr",
    "new": "new_subscriptions",
    "canceled": "churned_subscriptions",
    "churn_rate": "churn_rate",
    "trial_conversion_rate": "trial_conversion_rate",
}
_MOVEMENT_METRICS: Final = {
    "new": "mrr_new",
    "expansion": "mrr_expansion",
    "contraction": "mrr_contraction",
    "churn": "mrr_churn",
    "reactivation": "mrr_reactivation",
}
SUMMARY_METRICS: Final = (*_FIELDS.values(), *_MOVEMENT_METRICS.values())
"""The metrics whose values it shows."""

_COUNTED_STATUSES: Final = (LifecycleStatus.ACTIVE, LifecycleStatus.TRIALING, LifecycleStatus.PAST_DUE)


class SummaryOfKnownMetrics(NamedTuple):
    """The summary, and the metrics that are unavailable in it."""

    summary: SubscriptionSummary
    unavailable: list[UnavailableMetric]


@dataclass(frozen=True, slots=True)
class SubscriptionSummaryQuery:
    """One request: whose subscriptions, of which provider, over which range."""

    queries: MetricQueries
    snapshot: SourceSnapshot
    store: SubscriptionStore
    caller: Caller
    date_range: ResolvedRange
    provider: str | None

    async def read_summary(self, end: datetime) -> SummaryOfKnownMetrics:
        """Returns the figures of the subscriptions of a range.

        Args:
            end: of the range, or now.
        """
        before = TimeRange(self.date_range.span.start - datetime.resolution, self.date_range.span.start)
        now, (at_start,), standings = await gather_or_cancel(
            self._read_metrics_of_provider(SUMMARY_METRICS, self.date_range),
            self._read_metrics_of_provider(("mrr",), replace(self.date_range, span=before)),
            self.store.count_by_lifecycle_status(self.caller.workspace.id, end, self.provider),
        )
        readings = dict(zip(SUMMARY_METRICS, now, strict=True))
        counts = {standing.value: standings.get(standing, 0) for standing in _COUNTED_STATUSES}
        is_counted = not isinstance(readings["new_subscriptions"], Unavailable)
        metrics, currency = self.queries.catalog.metrics, self.caller.workspace.currency
        fields = {
            field: round_to_json_number_by_unit(readings[id_], metrics[id_], currency)
            for field, id_ in _FIELDS.items()
        }
        summary = SubscriptionSummary.model_validate(
            {
                **(counts if is_counted else dict.fromkeys(counts)),
                **fields,
                "movements": self._render_mrr_movements_adding_up(at_start, readings),
            }
        )
        unavailable = list_unavailable_with_reasons((*SUMMARY_METRICS, "start_mrr"), (*now, at_start))
        return SummaryOfKnownMetrics(summary, unavailable)

    async def _read_metrics_of_provider(
        self, metrics: tuple[str, ...], date_range: ResolvedRange
    ) -> tuple[Measurement, ...]:
        narrowed = (DimensionFilter("provider", value=self.provider),) if self.provider else ()
        query = MetricQuery(metrics, date_range, filters=narrowed)
        result = await self.queries.execute_marking_unfit_credits_unavailable(
            self.caller, query, self.snapshot
        )
        return result.rows[0].values

    def _render_mrr_movements_adding_up(
        self, mrr_at_start: Measurement, readings_by_metric: Mapping[str, Measurement]
    ) -> MrrMovements:
        """Returns the MRR movements, rounded so that they add up; unadjusted if a value is unknown."""
        metrics, currency = self.queries.catalog.metrics, self.caller.workspace.currency
        readings = {field: readings_by_metric[id_] for field, id_ in _MOVEMENT_METRICS.items()}
        shown = {
            field: round_to_json_number_by_unit(reading, metrics["mrr"], currency)
            for field, reading in readings.items()
        }
        ends = {
            name: round_to_json_number_by_unit(reading, metrics["mrr"], currency)
            for name, reading in (("start_mrr", mrr_at_start), ("end_mrr", readings_by_metric["mrr"]))
        }
        exact_values = [
            _exact_value(reading) for reading in (mrr_at_start, *readings.values(), readings_by_metric["mrr"])
        ]
        known = [value for value in exact_values if value is not None]
        if len(known) < len(exact_values):
            return MrrMovements.model_validate({**ends, **shown, "fx": None})
        start, *moves, end = known
        # What rates did meanwhile to what stood: the rest.
        every = [*moves, end - start - sum(moves)]
        whole = zip((*readings, "fx"), round_changes_to_rounded_totals(start, every, end), strict=True)
        closed = {field: float(to_major(units, currency)) for field, units in whole}
        return MrrMovements.model_validate({**ends, **closed})


def _exact_value(reading: Measurement) -> Fraction | None:
    return None if isinstance(reading, Unavailable) or reading.value is None else Fraction(reading.value)
