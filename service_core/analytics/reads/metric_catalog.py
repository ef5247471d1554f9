"""`GET /metrics/catalog`: all metrics and dimensions."""

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.query.catalog import Additivity, MetricUnit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.record_columns import can_list_records
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel


class MetricAvailability(ResponseModel):
    """Whether a metric is measured for the workspace, and the reason if not."""

    available: bool
    reason: UnavailableReason | None


class MetricEntry(ResponseModel):
    """One metric: definition, unit, and the dimensions it accepts."""

    id: str
    label: str
    description: str
    unit: MetricUnit
    category: str
    availability: MetricAvailability
    dimensions: list[str]
    requires_attribution: bool
    additivity: Additivity
    change_unit: str
    version: int = Field(description="Raised when what is counted or computed changes.")
    has_receipt: bool = Field(description="Whether `POST /receipts` opens its values.")


class DimensionEntry(ResponseModel):
    """One dimension."""

    id: str
    label: str
    description: str


class MetricCatalog(ResponseModel):
    """Everything that `POST /metrics` and `POST /query` accept."""

    metrics: list[MetricEntry]
    dimensions: list[DimensionEntry]
    count: int = Field(description="Number of metrics.")


@operation(
    "GET /metrics/catalog", tag="query", tool="list_metrics", tool_title="Metric catalog", is_aggregate=True
)
async def get_metrics_catalog(*, caller: Caller, queries: MetricQueries) -> MetricCatalog:
    """Lists every metric with its definition, unit and availability, and every dimension."""
    catalog = queries.catalog
    ids = tuple(catalog.metrics)
    reasons = (await queries.read_source_states_once(caller, ids)).unavailable_reasons(ids)
    metrics = [
        MetricEntry(
            id=metric.id,
            label=metric.label,
            description=metric.description,
            unit=metric.unit,
            category=metric.category,
            availability=MetricAvailability(
                available=metric.id not in reasons, reason=reasons.get(metric.id)
            ),
            dimensions=list(metric.dimensions),
            requires_attribution=metric.requires_attribution,
            additivity=metric.additivity,
            change_unit=metric.change_unit,
            version=metric.version,
            has_receipt=can_list_records(metric),
        )
        for metric in catalog.metrics.values()
    ]
    dimensions = [
        DimensionEntry(id=dimension.id, label=dimension.label, description=dimension.description)
        for dimension in catalog.dimensions.values()
    ]
    return MetricCatalog(metrics=metrics, dimensions=dimensions, count=len(metrics))


OPERATIONS = (get_metrics_catalog,)
