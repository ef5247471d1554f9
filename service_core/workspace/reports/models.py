"""Stored reports."""

from collections.abc import Mapping
from typing import ClassVar, Final, Literal
from uuid import UUID

from pydantic import SerializerFunctionWrapHandler, model_serializer

from service_core.analytics.funnels.operations import FunnelUnit
from service_core.analytics.funnels.ports import FunnelOrder
from service_core.analytics.reads.query.schemas import SavedQuery
from service_core.changes.resource import Resource
from service_core.kernel.date_range import DateRange

ReportKind = Literal["metric", "timeseries", "breakdown", "table", "funnel"]
ReportSource = Literal["catalog", "query"]
Chart = Literal["number", "line", "area", "bar", "pie", "table"]
Grouping = Literal["referrer", "campaign", "page", "browser", "os", "device", "country", "region", "city"]
"""The groupings of `/traffic`, `/devices` and `/locations`."""


class SavedRange(DateRange):
    """A stored date range, serialized with the fields that were sent."""

    @model_serializer(mode="wrap")
    def _as_sent(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def] # noqa: ANN202 - a return type would replace the schema
        return {name: value for name, value in handler(self).items() if value is not None}


DEFAULT_RANGE: Final = SavedRange(preset="last_30_days")
"""The range of reports and dashboards without a range of their own."""


class Report(Resource):
    """A stored report.

    A catalog report names a metric, and a chart or a grouping; a query report has a plan, or the
    steps of a funnel. `derive_kind_and_funnel_defaults` enforces this.
    """

    resource_type: ClassVar[str] = "report"

    description: str | None
    kind: ReportKind
    source: ReportSource
    metric_id: str | None
    chart: Chart | None
    dimension: Grouping | None
    plan: SavedQuery | None
    steps: tuple[str, ...] | None
    window_days: int | None
    order: FunnelOrder | None
    unit: FunnelUnit | None
    default_range: SavedRange


ReportsById = Mapping[UUID, Report]
"""Live reports by id, without deleted ones."""
