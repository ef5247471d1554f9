"""A plan of `POST /query` in its two forms: as a request, and as reports and analyses store it (contract 4.3)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from service_core.access.model import Caller, Workspace
from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.catalog import Catalog
from service_core.insight.query.ordering import default_order, total_order
from service_core.insight.query.question import BUCKET, Order, Question
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import (
    MOST_DIMENSIONS,
    Compare,
    FilterBody,
    MetricsBody,
    check_dimensions,
)
from service_core.insight.query_answer import OrderBody
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest
from service_core.kernel.paging import binding
from service_core.kernel.params import Clamp
from service_core.kernel.ranges import Buckets, Range, Unit
from service_core.kernel.series import SIZES, auto_unit, elapsed, series

_MOST_METRICS: Final = 10
_MOST_ORDERS: Final = 4


class PlanBody(MetricsBody):
    """What both forms of a plan say."""

    dimensions: list[str] = Field(default=[], description="Up to 3.")
    interval: str | None = Field(
        default=None, description=f"Bucket size: `auto`, {', '.join(f'`{size}`' for size in SIZES)}."
    )
    order_by: list[OrderBody] = Field(
        default=[], description="Up to 4; default the first metric, descending."
    )
    limit: Annotated[int, Clamp(1, 1000)] = 100

    def question(
        self, questions: Questions, models: Models, asked: Range, workspace: Workspace
    ) -> tuple[Question, Attribution | None]:
        """The question of the first page, checked.

        Raises:
            BadRequest: with the code of what does not fit.
        """
        catalog = questions.catalog
        ids = self.metric_ids(catalog, _MOST_METRICS)
        dimensions = self._dimensions(catalog, ids)
        given = self.credits(catalog, models, ids, workspace)
        question = Question(
            ids,
            asked,
            dimensions=dimensions,
            filters=self.checked_filters(catalog, ids),
            buckets=self._buckets(asked),
            order=self._order(ids, dimensions),
            limit=self.limit,
            credit=given.asked,
            usual_credit=given.usual,
            order_refunds=self.refund_basis == "order",
            include_bots=self.include_bots,
        )
        return question, given.attribution

    def _dimensions(self, catalog: Catalog, ids: tuple[str, ...]) -> tuple[str, ...]:
        if len(self.dimensions) > MOST_DIMENSIONS:
            raise BadRequest(
                f"At most {MOST_DIMENSIONS} dimensions", "too_many_dimensions", field="dimensions"
            )
        check_dimensions(catalog, ids, self.dimensions, "dimensions")
        return tuple(dict.fromkeys(self.dimensions))

    def _buckets(self, asked: Range) -> Buckets | None:
        if not self.interval:
            return None
        if self.interval not in ("auto", *SIZES):
            raise BadRequest(
                f"Unknown interval {self.interval!r}",
                "invalid_interval",
                field="interval",
                hint=f"Intervals: auto, {', '.join(SIZES)}.",
            )
        unit = auto_unit(asked) if self.interval == "auto" else Unit(self.interval)
        return elapsed(series(asked, unit), asked.now)

    def _order(self, ids: tuple[str, ...], dimensions: tuple[str, ...]) -> tuple[Order, ...]:
        bucketed = bool(self.interval)
        if not self.order_by:
            return default_order(ids, dimensions, bucketed=bucketed)
        if len(self.order_by) > _MOST_ORDERS:
            raise BadRequest(f"At most {_MOST_ORDERS} sort keys", "invalid_parameter", field="order_by")
        known = (*ids, *dimensions, *((BUCKET,) if bucketed else ()))
        for position, key in enumerate(self.order_by):
            if key.field not in known:
                raise BadRequest(
                    f"{key.field!r} is no metric, dimension or bucket of this query",
                    "invalid_parameter",
                    field=f"order_by[{position}].field",
                )
        order = tuple(Order(key.field, key.direction == "desc") for key in self.order_by)
        return total_order(order, dimensions, bucketed=bucketed)


class QueryRequest(PlanBody):
    """An `analytics_query` plan as it is asked."""

    date_range: DateRange
    compare: Compare = None
    cursor: str | None = None
    format: Literal["rows", "compact"] = "rows"

    def binding(self, who: Caller) -> bytes:
        """What a cursor of this request is bound to."""
        return binding(str(who.workspace.id), self.model_dump(mode="json", exclude={"cursor"}))


REQUEST_ONLY: Final = tuple(name for name in QueryRequest.model_fields if name not in PlanBody.model_fields)
"""What a stored plan may not say: whoever runs it does."""


class StoredPlan(PlanBody):
    """An `analytics_query` plan as it is kept: without its range, comparison, cursor and format."""

    @model_serializer(mode="wrap")
    def _as_sent(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def] # noqa: ANN202 - a return type would replace the schema
        return {name: value for name, value in handler(self).items() if name in self.model_fields_set}

    def over(
        self, date_range: DateRange, *, filters: Sequence[FilterBody] = (), **said: Any
    ) -> "QueryRequest":
        """The request that runs it over a range.

        Args:
            date_range: the range.
            filters: conditions beside its own.
            said: further fields of the request, in place of its own.
        """
        both = [*self.filters, *filters]
        return StoredPlanRun.model_validate({**dict(self), "date_range": date_range, "filters": both, **said})


class StoredPlanRun(QueryRequest):
    """A stored plan as it is run: its own filters and as many of whoever runs it."""

    most_filters: ClassVar[int] = 2 * MetricsBody.most_filters
