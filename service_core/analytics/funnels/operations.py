"""`GET /funnel`."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field, field_validator

from service_core.access.models import Caller
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.parse_steps import (
    expand_synonyms,
    parse_2_to_5_funnel_steps,
)
from service_core.analytics.funnels.ports import (
    FunnelOrder,
    FunnelReader,
    FunnelReaderQuery,
    FunnelResult,
    FunnelStartValuesQuery,
)
from service_core.analytics.funnels.step_filters import parse_step_filters
from service_core.analytics.measures import Predicate
from service_core.analytics.ports import EventReader
from service_core.analytics.query.breakdown import (
    Breakdown,
    BreakdownGroup,
    BreakdownQuery,
    read_each_group_two_at_a_time,
    resolve_breakdown,
)
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.parse_filters import equals_label_or_is_not_set
from service_core.analytics.query.property_scope import require_read_scope_for_properties
from service_core.analytics.range_query import RangeQuery, resolve_last_30_days
from service_core.analytics.reads.event_name_check import (
    EventNameMeta,
    read_event_name_warnings_and_suggestions,
)
from service_core.analytics.rounding import round_ratio, round_seconds
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import KNOWN_NULL
from service_core.kernel.operations import operation
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

FunnelUnit = Literal["person", "session"]


class FunnelDefinitionQuery(RangeQuery):
    """Parameters that define a funnel. The range applies to step 1; the default is the last 30 local days."""

    required_params: ClassVar[tuple[str, ...]] = ("steps",)
    steps: tuple[str, ...] = Field(
        default=(),
        validate_default=True,
        description="2 to 5 event names: a comma list, repeats, or a JSON array.",
    )
    window_days: Annotated[int, Clamp(1, 90)] = Field(14, description="From step 1 to the last step.")
    order: FunnelOrder = FunnelOrder.ORDERED
    unit: FunnelUnit = "person"
    exclude: str | None = Field(
        default=None, description="Event that removes a unit when it lies between two of its steps."
    )
    utm_source: str | None = Field(default=None, description="Of the event of step 1, exact.")
    utm_campaign: str | None = Field(default=None, description="Of the event of step 1, exact.")
    channel: str | None = Field(default=None, description="Of the event of step 1, exact.")
    country: str | None = Field(default=None, description="Of the event of step 1, exact.")
    device_type: str | None = Field(default=None, description="Of the event of step 1, exact.")
    segment_id: UUID | None = Field(
        default=None, description="A segment, whose filters the event of step 1 meets."
    )

    step_filters: str | None = Field(
        default=None,
        description="JSON: one list per step of `{dimension, op, value}`; the dimension `property:<key>` is a property "
        "of the event.",
    )

    @field_validator("steps", mode="before")
    @classmethod
    def _split_steps(cls, sent: list[str]) -> tuple[str, ...]:
        return parse_2_to_5_funnel_steps(sent)

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the last 30 local days."""
        return resolve_last_30_days(caller)

    def filters_of_set_first_step_params(self) -> tuple[Predicate, ...]:
        """Returns the conditions on the event of step 1."""
        columns = ("utm_source", "utm_campaign", "channel", "country", "device_type")
        return tuple(
            equals_label_or_is_not_set(column, value)
            for column in columns
            if (value := getattr(self, column))
        )


class FunnelQuery(FunnelDefinitionQuery, BreakdownQuery):
    """Parameters of `GET /funnel`. A breakdown is by the event of step 1."""

    required_params: ClassVar[tuple[str, ...]] = ("steps",)


class FunnelStepResponse(ResponseModel):
    """One step: how many units reached it, from step 1 and from the previous step."""

    step: int
    event_name: str
    count: int
    conversion_rate: Annotated[Decimal | None, KNOWN_NULL]
    step_conversion_rate: Annotated[Decimal | None, KNOWN_NULL]
    dropped: int
    median_seconds_from_previous: Annotated[Decimal | None, KNOWN_NULL]
    mean_seconds_from_previous: Annotated[Decimal | None, KNOWN_NULL]


class FunnelCounts(ResponseModel):
    """Counts and rates of a funnel. ``open`` counts units that may still convert."""

    steps: list[FunnelStepResponse]
    overall_conversion_rate: Annotated[Decimal | None, KNOWN_NULL]
    open: int


class FunnelGroup(FunnelCounts):
    """The funnel of one value of the breakdown: that of the units whose event of step 1 has the value."""

    value: str
    is_other: bool = Field(description="Whether it is the group of all other values.")


class FunnelResponse(FunnelCounts):
    """Counts and rates of a funnel, and those of each group of a breakdown."""

    window_days: int
    order: FunnelOrder
    unit: FunnelUnit
    timezone: str
    range: RangeResponse
    complete: bool
    meta: EventNameMeta
    breakdown: str | None = Field(default=None, description="The dimension of the groups.")
    groups: list[FunnelGroup] = Field(
        default=[],
        description="The largest first. A unit that starts with several values counts in each of them.",
    )


@operation("GET /funnel", tag="people", is_aggregate=True)
async def get_funnel(
    query: FunnelQuery,
    *,
    caller: Caller,
    funnel_reader: FunnelReader,
    event_reader: EventReader,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> FunnelResponse:
    """Counts how many people, or sessions, get from step to step, and how long they take.

    Each step is later than the previous one. The range applies to step 1; the window runs from step 1 to the
    last step. Synonymous event names count as one step. ``meta.warnings`` names steps that were never seen.
    ``breakdown`` adds the funnel of each of the most frequent values of a dimension of step 1.
    """
    date_range = query.resolve_range_or_default(caller)
    plan = await build_funnel_reader_query(query, caller, queries)
    require_read_scope_for_properties(caller, [query.breakdown or ""])
    breakdown = resolve_breakdown(queries.catalog, query.breakdown) if query.breakdown else None
    names = [*query.steps, *([query.exclude] if query.exclude else [])]
    result, meta = await gather_or_cancel(
        funnel_reader.read_funnel(plan), read_event_name_warnings_and_suggestions(event_reader, caller, names)
    )
    return FunnelResponse(
        **_counts_and_rates(query.steps, result),
        window_days=query.window_days,
        order=query.order,
        unit=query.unit,
        timezone=date_range.zone.key,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
        meta=meta,
        breakdown=query.breakdown,
        groups=await _read_non_empty_groups(query, plan, breakdown, funnel_reader) if breakdown else [],
    )


async def _read_non_empty_groups(
    query: FunnelQuery, plan: FunnelReaderQuery, breakdown: Breakdown, reader: FunnelReader
) -> list[FunnelGroup]:
    """Returns the funnels of the most frequent values of step 1, and that of all others."""
    values = await reader.list_start_values(FunnelStartValuesQuery(plan, breakdown.column, query.top))

    async def read(group: BreakdownGroup) -> FunnelResult:
        scope = replace(plan.scope, filters=(*plan.scope.filters, group.condition))
        return await reader.read_funnel(replace(plan, scope=scope))

    groups_with_results = await read_each_group_two_at_a_time(
        breakdown.build_group_per_value(values, with_other=query.other), read
    )
    groups = [
        FunnelGroup(value=group.label, is_other=group.is_other, **_counts_and_rates(query.steps, result))
        for group, result in groups_with_results
        if result.steps[0].count
    ]
    return sorted(groups, key=lambda group: (group.is_other, -group.steps[0].count))


def _counts_and_rates(event_names: tuple[str, ...], result: FunnelResult) -> dict[str, Any]:
    """Returns the fields of `FunnelCounts`."""
    steps = _build_steps_with_conversion_rates(event_names, result)
    return {"steps": steps, "overall_conversion_rate": steps[-1].conversion_rate, "open": result.open}


async def build_funnel_reader_query(
    query: FunnelDefinitionQuery, caller: Caller, queries: MetricQueries
) -> FunnelReaderQuery:
    """Returns the query to the event store, with the conditions of the segment on the event of step 1."""
    step_conditions = parse_step_filters(query.step_filters, len(query.steps), queries.catalog)
    require_read_scope_for_properties(caller, conditions=chain.from_iterable(step_conditions))
    return FunnelReaderQuery(
        scope=scope_for_caller(
            caller,
            query.resolve_range_or_default(caller).span,
            filters=(
                *query.filters_of_set_first_step_params(),
                *await queries.read_segment_event_conditions(caller, query.segment_id),
            ),
            include_bots=query.include_bots,
        ),
        steps=expand_synonyms(query.steps),
        window=timedelta(days=query.window_days),
        now=caller.now,
        order=query.order,
        by_session=query.unit == "session",
        exclude=list_event_synonyms(query.exclude) if query.exclude else None,
        step_conditions=step_conditions,
    )


def _build_steps_with_conversion_rates(
    event_names: tuple[str, ...], result: FunnelResult
) -> list[FunnelStepResponse]:
    counts = [step.count for step in result.steps]
    return [
        FunnelStepResponse(
            step=i + 1,
            event_name=name,
            count=step.count,
            conversion_rate=round_ratio(step.count, counts[0]),
            step_conversion_rate=round_ratio(step.count, counts[max(i - 1, 0)]),
            dropped=counts[max(i - 1, 0)] - step.count,
            median_seconds_from_previous=round_seconds(step.median_seconds),
            mean_seconds_from_previous=round_seconds(step.mean_seconds),
        )
        for i, (name, step) in enumerate(zip(event_names, result.steps, strict=True))
    ]


OPERATIONS = (get_funnel,)
