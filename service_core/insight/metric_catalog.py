"""`GET /metrics/catalog`: every metric and dimension there is (contract 4.2)."""

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.catalog import Additivity, MetricUnit
from service_core.insight.query.questions import Questions
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer
from service_core.kernel.reading import Reason


class Availability(Answer):
    """Whether a metric is measured for the workspace, and why not."""

    available: bool
    reason: Reason | None


class MetricEntry(Answer):
    """One metric: its definition, unit, and what it may be split by."""

    id: str
    label: str
    description: str
    unit: MetricUnit
    category: str
    availability: Availability
    dimensions: list[str]
    requires_attribution: bool
    additivity: Additivity
    change_unit: str


class DimensionEntry(Answer):
    """One dimension."""

    id: str
    label: str
    description: str


class MetricCatalog(Answer):
    """Everything `POST /metrics` and `POST /query` accept."""

    metrics: list[MetricEntry]
    dimensions: list[DimensionEntry]
    count: int = Field(description="Number of metrics.")


@operation("GET /metrics/catalog", tag="query")
async def get_metrics_catalog(*, who: Caller, questions: Questions) -> MetricCatalog:
    """Every metric with its definition, unit and availability, and every dimension."""
    catalog = questions.catalog
    reasons = await questions.reasons(who, tuple(catalog.metrics))
    metrics = [
        MetricEntry(
            id=metric.id,
            label=metric.label,
            description=metric.description,
            unit=metric.unit,
            category=metric.category,
            availability=Availability(available=metric.id not in reasons, reason=reasons.get(metric.id)),
            dimensions=list(metric.dimensions),
            requires_attribution=metric.requires_attribution,
            additivity=metric.additivity,
            change_unit=metric.change_unit,
        )
        for metric in catalog.metrics.values()
    ]
    dimensions = [
        DimensionEntry(id=each.id, label=each.label, description=each.description)
        for each in catalog.dimensions.values()
    ]
    return MetricCatalog(metrics=metrics, dimensions=dimensions, count=len(metrics))


OPERATIONS = (get_metrics_catalog,)
