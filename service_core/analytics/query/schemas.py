"""Request models for metrics, filters and attribution, and their validation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Literal
from uuid import UUID

from pydantic import Field, model_validator

from service_core.access.models import Workspace
from service_core.analytics.attribution.models import (
    AttributionModels,
    AttributionRequest,
    AttributionSettings,
)
from service_core.analytics.attribution.resolve_model import credit_rule_or_last_touch_with_model_id
from service_core.analytics.measures import Aggregation, FilterOperator, Relation
from service_core.analytics.ports import CreditRule
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compute import aggregation_of, list_base_measures
from service_core.analytics.query.models import DimensionFilter
from service_core.analytics.query.parse_filters import MAX_FILTERS, parse_operand_for_operator, parse_operator
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import BodyModel

RefundBasis = Literal["refund", "order"]
Compare = Literal["previous_period", "previous_year", "match_weekday"] | bool | DateRange | None
MAX_DIMENSIONS: Final = 3
_MAX_COMPARED_LENGTH: Final = 64
"""Number of characters of an unknown name that are compared with known ones; the time grows with it."""


class FilterBody(BodyModel):
    """A condition on a dimension."""

    dimension: str
    op: str = Field(default="eq", description=", ".join(f"`{op}`" for op in FilterOperator))
    value: Any = Field(
        default=None,
        description="1 to 100 values for `in` and `not_in`, two for `between`, none for `is_set` and `is_not_set`, "
        "else a string or number.",
    )


class MetricsRequestBase(BodyModel):
    """Fields that all requests for metrics share."""

    max_filters: ClassVar[int] = MAX_FILTERS

    metrics: list[str] = Field(description="Ids of the catalog.")
    filters: list[FilterBody] = Field(default=[], description="Joined by AND, at most 10.")
    segment_id: UUID | None = Field(
        default=None, description="A segment, whose filters apply in addition to `filters`."
    )
    attribution: AttributionRequest | None = Field(
        default=None, description="Used by `attributed_*`; the workspace's default when omitted."
    )
    refund_basis: RefundBasis = "refund"
    include_bots: bool = False

    @model_validator(mode="before")
    @classmethod
    def _refuse_workspace_id(cls, sent: Any) -> Any:
        """Rejects ``workspace_id``: the workspace follows from the key."""
        if isinstance(sent, Mapping) and "workspace_id" in sent:
            raise BadRequest("workspace_id is not allowed", "workspace_id_not_allowed", field="workspace_id")
        return sent

    def unique_known_metric_ids(self, catalog: Catalog, max_metrics: int) -> tuple[str, ...]:
        """Returns the requested metrics, each once.

        Raises:
            BadRequest: ``missing_field``, ``too_many_metrics`` or ``unknown_metric``.
        """
        if not self.metrics:
            raise BadRequest("metrics names no metric", "missing_field", field="metrics")
        if len(self.metrics) > max_metrics:
            raise BadRequest(f"metrics takes at most {max_metrics} ids", "too_many_metrics", field="metrics")
        for position, id_ in enumerate(self.metrics):
            if id_ not in catalog.metrics:
                raise BadRequest(
                    f"Unknown metric {id_!r}",
                    "unknown_metric",
                    field=f"metrics[{position}]",
                    hint=suggest_name(id_, catalog.metrics),
                )
        return tuple(dict.fromkeys(self.metrics))

    def parse_filters_accepted_by_metrics(
        self, catalog: Catalog, metric_ids: Sequence[str]
    ) -> tuple[DimensionFilter, ...]:
        """Returns the filters, each on a dimension that every metric accepts.

        Raises:
            BadRequest: ``too_many_filters``, ``unknown_dimension``, ``invalid_filter`` or
                ``incompatible_dimension``.
        """
        return parse_filters_accepted_by_metrics(
            catalog, metric_ids, self.filters, max_filters=self.max_filters
        )

    def credit_rules_needed_by_metrics(
        self, catalog: Catalog, models: AttributionModels, metric_ids: Iterable[str], workspace: Workspace
    ) -> "CreditRules":
        """Returns the credit rules of the request and of the default of the workspace.

        Raises:
            BadRequest: ``invalid_attribution``.
        """
        requested, default = (
            (self.attribution or AttributionRequest()).with_workspace_defaults(workspace),
            AttributionSettings.workspace_default(workspace),
        )
        models.require_installed(requested.model, "attribution.model")
        by_default = {
            aggregation.use_default_attribution
            for id_ in metric_ids
            for aggregation in _list_credit_aggregations(catalog.metrics[id_])
        }
        return CreditRules(
            attribution=requested if False in by_default else default if by_default else None,
            requested=credit_rule_or_last_touch_with_model_id(models, requested)
            if False in by_default
            else None,
            workspace_default=credit_rule_or_last_touch_with_model_id(models, default)
            if True in by_default
            else None,
        )


@dataclass(frozen=True, slots=True)
class CreditRules:
    """The credit rules of a query; None if no metric needs them.

    Attributes:
        attribution: the settings that the answer shows.
        requested: rule for metrics that accept an attribution.
        workspace_default: rule for metrics that always follow the default of the workspace.
    """

    attribution: AttributionSettings | None
    requested: CreditRule | None
    workspace_default: CreditRule | None


def _list_credit_aggregations(metric: Metric) -> Iterable[Aggregation]:
    return (
        aggregation
        for base_measure in list_base_measures(metric.measure)
        if (aggregation := aggregation_of(base_measure)).relation is Relation.CREDITS
    )


def unknown_dimension_error(name: str, catalog: Catalog, field: str) -> BadRequest:
    """Returns the error for a dimension that is not in the catalog."""
    hint = suggest_name(name, catalog.dimensions)
    return BadRequest(f"Unknown dimension {name!r}", "unknown_dimension", field=field, hint=hint)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Returns a hint with the closest known name."""
    matches = get_close_matches(name[:_MAX_COMPARED_LENGTH], list(known), n=1)
    return f"{f'Did you mean {matches[0]}? ' if matches else ''}GET /metrics/catalog lists them all."


def require_dimensions_accepted_by_metrics(
    catalog: Catalog, metric_ids: Sequence[str], dimension_ids: Sequence[str], error_field: str
) -> None:
    """Checks that every metric accepts every dimension.

    Raises:
        BadRequest: ``unknown_dimension`` or ``incompatible_dimension``.
    """
    for position, name in enumerate(dimension_ids):
        where = f"{error_field}[{position}]"
        if catalog.dimension_or_none(name) is None:
            raise unknown_dimension_error(name, catalog, where)
        for id_ in metric_ids:
            if not catalog.metrics[id_].accepts(name):
                raise BadRequest(
                    f"{id_} does not accept the dimension {name}",
                    "incompatible_dimension",
                    field=where,
                    hint="GET /metrics/catalog lists the dimensions of each metric.",
                )


def parse_filters_accepted_by_metrics(
    catalog: Catalog,
    metric_ids: Sequence[str],
    filters: Sequence[FilterBody],
    error_field: str = "filters",
    max_filters: int = MAX_FILTERS,
) -> tuple[DimensionFilter, ...]:
    """Returns the filters of a request, each on a dimension that every metric accepts.

    Raises:
        BadRequest: ``too_many_filters``, ``unknown_dimension``, ``invalid_filter`` or
            ``incompatible_dimension``.
    """
    if len(filters) > max_filters:
        raise BadRequest(f"At most {max_filters} filters", "too_many_filters", field=error_field)
    require_dimensions_accepted_by_metrics(
        catalog, metric_ids, [condition.dimension for condition in filters], error_field
    )
    return tuple(
        _parse_filter_refusing_booleans(condition, f"{error_field}[{i}]")
        for i, condition in enumerate(filters)
    )


def _parse_filter_refusing_booleans(condition: FilterBody, error_field: str) -> DimensionFilter:
    op = parse_operator(condition.op, "invalid_filter", f"{error_field}.op")
    value = parse_operand_for_operator(op, condition.value, "invalid_filter", f"{error_field}.value")
    if any(isinstance(part, bool) for part in (value if isinstance(value, tuple) else (value,))):
        raise BadRequest(
            "Values of dimensions are strings or numbers", "invalid_filter", field=f"{error_field}.value"
        )
    return DimensionFilter(condition.dimension, op, value)
