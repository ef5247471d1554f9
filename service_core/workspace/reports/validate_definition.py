"""Validation of report definitions: the checks of `/metrics`, `/query` and `/funnel`, and which fields go together."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.funnels.operations import FunnelQuery
from service_core.analytics.funnels.parse_steps import parse_2_to_5_funnel_steps
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.property_scope import require_read_scope_for_properties
from service_core.analytics.query.schemas import MetricsRequestBase
from service_core.analytics.reads.breakdowns import CountedMetric
from service_core.analytics.reads.query.schemas import AnalyticsQueryBase
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import Unprocessable
from service_core.workspace.reports.models import Report, ReportKind
from service_core.workspace.reports.schemas import FUNNEL_FIELDS
from service_core.workspace.validation import bad_request_as_unprocessable

_BREAKDOWN_METRICS: Final = get_args(CountedMetric)
_CATALOG_FIELDS: Final = ("metric_id", "chart", "dimension")
_QUERY_FIELDS: Final = ("plan", "steps")
_KIND_BY_DIMENSION_COUNT: Final[Mapping[int, ReportKind]] = {0: "metric", 1: "breakdown"}


@dataclass(frozen=True, slots=True)
class DefinitionValidator:
    """Checks definitions against the installed metrics and attribution models."""

    queries: MetricQueries
    models: AttributionModels

    def validate_report(self, report: Report, caller: Caller) -> None:
        """Refuses a report that could not be run.

        Raises:
            Unprocessable: ``unknown_metric``, ``invalid_plan``, ``invalid_definition``.
        """
        if report.plan is not None:
            self.validate_plan(report.plan, report.default_range, caller, "report.plan")
        elif report.metric_id is not None:
            self._validate_catalog_report(report, report.metric_id)

    def validate_plan(
        self, plan: AnalyticsQueryBase, date_range: DateRange, caller: Caller, field: str
    ) -> None:
        """Refuses a query plan that could not be run.

        Raises:
            Unprocessable: ``unknown_metric``, ``invalid_plan``.
            Forbidden: ``insufficient_scope``, for a custom property and a caller who reads totals only.
        """
        require_read_scope_for_properties(
            caller, (*plan.dimensions, *(condition.dimension for condition in plan.filters))
        )
        resolved = date_range.resolve(caller.workspace.zone, caller.now)
        with bad_request_as_unprocessable(field, "invalid_plan", kept_codes=("unknown_metric",)):
            plan.validate_and_build_metric_query(self.queries, self.models, resolved, caller.workspace)

    def _validate_catalog_report(self, report: Report, metric: str) -> None:
        with bad_request_as_unprocessable("report.metric_id", "unknown_metric", ignore_subfield=True):
            MetricsRequestBase(metrics=[metric]).unique_known_metric_ids(self.queries.catalog, 1)
        if report.dimension is not None and metric not in _BREAKDOWN_METRICS:
            raise _invalid_definition(
                "metric_id", f"A grouping counts one of {', '.join(_BREAKDOWN_METRICS)}"
            )


def derive_kind_and_funnel_defaults(fields: Mapping[str, Any], sent: Collection[str]) -> dict[str, Any]:
    """Returns the fields of a definition with the derived kind and the defaults of a funnel.

    Args:
        fields: all fields of the report, by name.
        sent: names of the fields that the request sent.

    Raises:
        Unprocessable: ``invalid_definition``, ``invalid_steps``, ``kind_mismatch``.
    """
    steps = None if fields["steps"] is None else validate_funnel_steps(fields["steps"])
    kind = _derive_kind_or_refuse(fields)
    if "kind" in sent and fields["kind"] not in (None, kind):
        raise Unprocessable(
            f"This is a report of the kind {kind}",
            "kind_mismatch",
            field="report.kind",
            hint="Leave kind out.",
        )
    if steps is None:
        for name in FUNNEL_FIELDS:
            if name in sent and fields[name] is not None:
                raise _invalid_definition(name, f"{name} belongs to the steps of a funnel")
        return {**fields, **dict.fromkeys(FUNNEL_FIELDS), "kind": kind}
    defaults = {name: FunnelQuery.model_fields[name].get_default() for name in FUNNEL_FIELDS}
    funnel = {name: fields[name] if fields[name] is not None else defaults[name] for name in FUNNEL_FIELDS}
    return {**fields, **funnel, "steps": steps, "kind": kind}


def validate_funnel_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """Returns the steps of a funnel, one event name each.

    Raises:
        Unprocessable: ``invalid_steps``.
    """
    with bad_request_as_unprocessable("report", "invalid_steps"):
        return parse_2_to_5_funnel_steps([json.dumps(list(steps))])


def _derive_kind_or_refuse(fields: Mapping[str, Any]) -> ReportKind:
    """Returns the kind of report that the fields define."""
    if fields["source"] is None:
        raise _invalid_definition("source", "The source of a report is catalog or query")
    own, foreign = (
        (_CATALOG_FIELDS, _QUERY_FIELDS)
        if fields["source"] == "catalog"
        else (_QUERY_FIELDS, _CATALOG_FIELDS)
    )
    for name in foreign:
        if fields[name] is not None:
            raise _invalid_definition(name, f"A report of the source {fields['source']} has no {name}")
    if own is _CATALOG_FIELDS and fields["metric_id"] is None:
        raise _invalid_definition("metric_id", "A catalog report names its metric_id")
    if sum(fields[name] is not None for name in own[-2:]) != 1:
        raise _invalid_definition(own[-1], f"A {fields['source']} report has either {own[-2]} or {own[-1]}")
    if own is _CATALOG_FIELDS:
        return "breakdown" if fields["chart"] is None else "metric"
    plan = fields["plan"]
    if plan is None:
        return "funnel"
    return (
        _KIND_BY_DIMENSION_COUNT.get(len(plan.dimensions), "table") if plan.interval is None else "timeseries"
    )


def _invalid_definition(field: str, message: str) -> Unprocessable:
    return Unprocessable(
        message, "invalid_definition", field=f"report.{field}", hint="Null clears what no longer belongs."
    )
