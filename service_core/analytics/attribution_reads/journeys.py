"""`GET /attribution/journeys`: the conversions behind a cell of attribution, with their touches."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.attribution.credit_shares import MILLION
from service_core.analytics.attribution.credited_amounts import CreditedAmounts
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.ports import AttributionModel, DataDrivenModel
from service_core.analytics.attribution.resolve_model import credit_rule_or_last_touch_with_model_id
from service_core.analytics.attribution.schemas import GROUPINGS, CreditTotals
from service_core.analytics.attribution_reads.operations import AttributionQuery
from service_core.analytics.attribution_reads.ports import (
    Journey,
    JourneyCredit,
    JourneyReader,
    JourneysQuery,
    JourneyTouch,
)
from service_core.analytics.attribution_reads.segment_conditions import read_segment_conditions_by_relation
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.measures import (
    NOT_SET,
    Column,
    Condition,
    FilterOperator,
    Predicate,
    Relation,
    touch_column,
)
from service_core.analytics.people.identity_resolution import user_id_of_person
from service_core.analytics.people.schemas import TouchResponse
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.rounding import to_decimal_amount
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import NULL_FIELD_REASONS, ListsNullReasons, UnavailableMetric
from service_core.kernel.operations import operation
from service_core.kernel.schemas import Clamp

_CELL_FIELDS: Final = (
    "utm_source", "utm_medium", "utm_campaign", "attribution_source", "attribution_medium", "utm_term",
    "utm_content", "channel", "lyr",
)  # fmt: skip


class JourneysRequest(AttributionQuery):
    """Parameters of `GET /attribution/journeys`: those of the attribution, the row that is opened, and the page."""

    utm_source: str | None = Field(default=None, description="As the row shows it, like those that follow.")
    utm_medium: str | None = None
    utm_campaign: str | None = None
    attribution_source: str | None = None
    attribution_medium: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    channel: str | None = None
    lyr: str | None = None
    unattributed: bool = Field(default=False, description="Conversions without a touch, in place of a row.")
    limit: Annotated[int, Clamp(1, 500)] = 50
    offset: Annotated[int, Clamp(0, 1_000_000_000)] = 0

    def cell_conditions(self) -> tuple[Condition, ...]:
        """Returns the conditions of the credits of the row."""
        columns = {**{name: touch_column(name) for name in _CELL_FIELDS}, **self._grouped_columns}
        return (
            Predicate("attributed", value=not self.unattributed),
            *(
                _equals_or_is_absent(columns[name], value)
                for name in _CELL_FIELDS
                if (value := getattr(self, name)) is not None
            ),
        )

    @property
    def _grouped_columns(self) -> dict[str, Column]:
        grouping = GROUPINGS[self.group_by]
        return dict(zip(grouping.touch_fields, grouping.touch_columns, strict=True))


def _equals_or_is_absent(column: Column, value: str) -> Predicate:
    if value == NOT_SET:
        return Predicate(column, FilterOperator.IS_NOT_SET)
    return Predicate(column, FilterOperator.EQ, value)


class JourneyTouchResponse(TouchResponse, CreditTotals):
    """A touch in the window of the conversion, with what the model credits it with."""


class JourneyResponse(CreditTotals):
    """A conversion, payment or refund: the credit that belongs to the row, and all touches, oldest first."""

    event_id: str
    event_name: str
    timestamp: datetime
    user_id: str | None
    visitor_id: str
    order_id: str | None
    touches: list[JourneyTouchResponse]


class JourneyList(ListsNullReasons):
    """A page of journeys, latest first; ``totals`` are those of all of them, and equal the row of the attribution."""

    journeys: list[JourneyResponse]
    totals: CreditTotals
    total_count: int
    has_more: bool
    limit: int
    offset: int
    attribution: AttributionSettings
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool


@operation("GET /attribution/journeys", tag="paths", tool="list_journeys")
async def list_journeys(
    query: JourneysRequest,
    *,
    caller: Caller,
    journey_reader: JourneyReader,
    models: AttributionModels,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> JourneyList:
    """Lists the conversions, payments and refunds behind a row of `GET /attribution`, with their touches.

    Takes the values of the row; credit adds up to it. Data-driven models have no journeys.
    """
    chosen = query.attribution_settings(caller)
    model = models.require_installed(chosen.model)
    _refuse_data_driven_model(model)
    date_range = query.resolve_range_or_default(caller)
    segment = await read_segment_conditions_by_relation(caller, query.segment_id, model, queries)
    scope = query.scope_with_requested_event_as_conversion(caller, date_range)
    result = await journey_reader.list_journeys(
        JourneysQuery(
            replace(scope, filters=(*query.cell_conditions(), *segment[Relation.CREDITS])),
            credit_rule_or_last_touch_with_model_id(
                models, chosen, book_at_touch=query.books_at_touch, event_names=query.event_names
            ),
            query.limit,
            query.offset,
        )
    )
    currency = caller.workspace.currency
    return JourneyList(
        journeys=[_build_journey(journey, currency) for journey in result.journeys],
        totals=CreditTotals.model_validate(_credit_fields(result.credited, currency)),
        total_count=result.total,
        has_more=query.offset + len(result.journeys) < result.total,
        limit=query.limit,
        offset=query.offset,
        attribution=chosen,
        currency=currency,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


def _refuse_data_driven_model(model: AttributionModel) -> None:
    if isinstance(model, DataDrivenModel):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: it has no journeys",
            "invalid_parameter",
            field="model",
            hint="Choose a rule-based model.",
        )


def _credit_fields(credited: JourneyCredit, currency: str) -> dict[str, Decimal | None]:
    """Returns the response fields of credit; money is null if some of it is in another currency."""
    amounts = CreditedAmounts(
        credited.credit,
        None if credited.foreign_amount else credited.amount,
        None if credited.foreign_refund else credited.refunded,
    )
    return amounts.to_conversions_and_revenue_fields(currency)


def _build_journey(journey: Journey, currency: str) -> JourneyResponse:
    event = journey.event
    return JourneyResponse.model_validate(
        {
            "event_id": event.event_id,
            "event_name": event.event_name,
            "timestamp": event.timestamp,
            "user_id": user_id_of_person(journey.person),
            "visitor_id": event.visitor_id,
            "order_id": event.order_id,
            **_credit_fields(journey.credited, currency),
            "touches": [_build_touch(touch, currency) for touch in journey.touches],
        }
    )


def _build_touch(credited: JourneyTouch, currency: str) -> JourneyTouchResponse:
    touch = {name: getattr(credited.touch, name) for name in TouchResponse.model_fields}
    return JourneyTouchResponse.model_validate(
        {
            **touch,
            "conversions": Decimal(credited.credit) / MILLION,
            "revenue": to_decimal_amount(credited.amount, currency),
            "net_revenue": to_decimal_amount(credited.amount - credited.refunded, currency),
        }
    )


OPERATIONS = (list_journeys,)
