"""Checking what a request asks for, and turning it into the parts of a question (contract 4.1, 4.3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from service_core.access.model import Workspace
from service_core.insight.attribution.choose import credit_for
from service_core.insight.attribution.model import AskedAttribution, Attribution, Models
from service_core.insight.catalog import Catalog, Metric
from service_core.insight.filtering import MOST_FILTERS, operand, operation_of
from service_core.insight.measures import Leaf, Op, Relation
from service_core.insight.ports import Credit
from service_core.insight.query.formula import atoms, leaf_of
from service_core.insight.query.question import Filter
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest
from service_core.kernel.params import BodyModel

RefundBasis = Literal["refund", "order"]
Compare = Literal["previous_period", "previous_year", "match_weekday"] | bool | DateRange | None
MOST_DIMENSIONS: Final = 3
_LONGEST_NAME: Final = 64
"""Letters of an unknown name that are compared with the known ones: looking takes time with their number."""


class FilterBody(BodyModel):
    """A condition on a dimension (contract 2.10)."""

    dimension: str
    op: str = Field(default="eq", description=", ".join(f"`{op}`" for op in Op))
    value: Any = Field(
        default=None,
        description="1 to 100 values for `in` and `not_in`, two for `between`, none for `is_set` and `is_not_set`, "
        "else a string or number.",
    )


class MetricsBody(BodyModel):
    """What every question about metrics may say."""

    most_filters: ClassVar[int] = MOST_FILTERS

    metrics: list[str] = Field(description="Ids of the catalog.")
    filters: list[FilterBody] = Field(default=[], description="Joined by AND, at most 10.")
    attribution: AskedAttribution | None = Field(
        default=None, description="Used by `attributed_*`; the workspace's default when omitted."
    )
    refund_basis: RefundBasis = "refund"
    include_bots: bool = False

    @model_validator(mode="before")
    @classmethod
    def _refuse_workspace(cls, sent: Any) -> Any:
        """The workspace comes from the key, never from the request."""
        if isinstance(sent, Mapping) and "workspace_id" in sent:
            raise BadRequest("workspace_id is not allowed", "workspace_id_not_allowed", field="workspace_id")
        return sent

    def metric_ids(self, catalog: Catalog, most: int) -> tuple[str, ...]:
        """The metrics asked for, each once.

        Raises:
            BadRequest: ``missing_field``, ``too_many_metrics`` or ``unknown_metric``.
        """
        if not self.metrics:
            raise BadRequest("metrics names no metric", "missing_field", field="metrics")
        if len(self.metrics) > most:
            raise BadRequest(f"metrics takes at most {most} ids", "too_many_metrics", field="metrics")
        for position, id_ in enumerate(self.metrics):
            if id_ not in catalog.metrics:
                raise BadRequest(
                    f"Unknown metric {id_!r}",
                    "unknown_metric",
                    field=f"metrics[{position}]",
                    hint=nearest(id_, catalog.metrics),
                )
        return tuple(dict.fromkeys(self.metrics))

    def checked_filters(self, catalog: Catalog, metrics: Sequence[str]) -> tuple[Filter, ...]:
        """The filters, each on a dimension that every metric accepts.

        Raises:
            BadRequest: ``too_many_filters``, ``unknown_dimension``, ``invalid_filter`` or
                ``incompatible_dimension``.
        """
        return checked_filters(catalog, metrics, self.filters, most=self.most_filters)

    def credits(
        self, catalog: Catalog, models: Models, metrics: Iterable[str], workspace: Workspace
    ) -> "Credits":
        """How credits are given, by the request and by the workspace's default.

        Raises:
            BadRequest: ``invalid_attribution``.
        """
        asked, usual = (self.attribution or AskedAttribution()).of(workspace), Attribution.usual(workspace)
        models.named(asked.model, "attribution.model")
        by_default = {leaf.by_default for id_ in metrics for leaf in _credited(catalog.metrics[id_])}
        return Credits(
            attribution=asked if False in by_default else usual if by_default else None,
            asked=credit_for(models, asked) if False in by_default else None,
            usual=credit_for(models, usual) if True in by_default else None,
        )


@dataclass(frozen=True, slots=True)
class Credits:
    """How credits are given, None where no metric needs them.

    Attributes:
        attribution: what an answer states.
        asked: the rule for metrics that take an attribution.
        usual: that for metrics that always follow the workspace's default.
    """

    attribution: Attribution | None
    asked: Credit | None
    usual: Credit | None


def _credited(metric: Metric) -> Iterable[Leaf]:
    return (leaf for atom in atoms(metric.measure) if (leaf := leaf_of(atom)).of is Relation.CREDITS)


def unknown_dimension(name: str, catalog: Catalog, field: str) -> BadRequest:
    """The refusal of a dimension that the catalog does not know."""
    hint = nearest(name, catalog.dimensions)
    return BadRequest(f"Unknown dimension {name!r}", "unknown_dimension", field=field, hint=hint)


def nearest(name: str, known: Iterable[str]) -> str:
    """What to send instead of a name that the catalog does not know."""
    near = get_close_matches(name[:_LONGEST_NAME], list(known), n=1)
    return f"{f'Did you mean {near[0]}? ' if near else ''}GET /metrics/catalog lists them all."


def check_dimensions(catalog: Catalog, metrics: Sequence[str], names: Sequence[str], field: str) -> None:
    """Every metric must accept every dimension.

    Raises:
        BadRequest: ``unknown_dimension`` or ``incompatible_dimension``.
    """
    for position, name in enumerate(names):
        where = f"{field}[{position}]"
        if name not in catalog.dimensions:
            raise unknown_dimension(name, catalog, where)
        for id_ in metrics:
            if name not in catalog.metrics[id_].dimensions:
                raise BadRequest(
                    f"{id_} does not accept the dimension {name}",
                    "incompatible_dimension",
                    field=where,
                    hint="GET /metrics/catalog lists the dimensions of each metric.",
                )


def checked_filters(
    catalog: Catalog,
    metrics: Sequence[str],
    filters: Sequence[FilterBody],
    field: str = "filters",
    most: int = MOST_FILTERS,
) -> tuple[Filter, ...]:
    """Conditions as a request says them, each on a dimension that every metric accepts.

    Raises:
        BadRequest: ``too_many_filters``, ``unknown_dimension``, ``invalid_filter`` or
            ``incompatible_dimension``.
    """
    if len(filters) > most:
        raise BadRequest(f"At most {most} filters", "too_many_filters", field=field)
    check_dimensions(catalog, metrics, [condition.dimension for condition in filters], field)
    return tuple(_filter(condition, f"{field}[{i}]") for i, condition in enumerate(filters))


def _filter(condition: FilterBody, field: str) -> Filter:
    op = operation_of(condition.op, "invalid_filter", f"{field}.op")
    value = operand(op, condition.value, "invalid_filter", f"{field}.value")
    if any(isinstance(part, bool) for part in (value if isinstance(value, tuple) else (value,))):
        raise BadRequest(
            "Values of dimensions are strings or numbers", "invalid_filter", field=f"{field}.value"
        )
    return Filter(condition.dimension, op, value)
