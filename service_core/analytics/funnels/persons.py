"""`GET /funnel/persons`: who reached a step of a funnel, and who dropped out before it."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.operations import (
    FunnelDefinitionQuery,
    FunnelUnit,
    build_funnel_reader_query,
)
from service_core.analytics.funnels.ports import FunnelReader, FunnelStepUnit, FunnelStepUnitsQuery
from service_core.analytics.people.identity_resolution import user_id_of_person
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel


class FunnelPersonsQuery(RowSelection, FunnelDefinitionQuery):
    """Parameters of `GET /funnel/persons`: those of the funnel, the step and the page."""

    required_params: ClassVar = ("steps", "step")
    step: int = Field(default=0, description="Number of the step, from 1.")
    outcome: Literal["reached", "dropped"] = Field(
        "reached", description="Who reached the step, or reached the previous step and not this one."
    )
    limit: Annotated[int, Clamp(1, 1000)] = 50
    offset: Annotated[int, Clamp(0, 1_000_000_000)] = 0


class FunnelPerson(ResponseModel):
    """One unit of the funnel, with the attempt that counts; `session_id` is null where units are persons."""

    user_id: str | None
    visitor_id: str
    session_id: str | None
    steps_reached: int
    started_at: datetime
    last_step_at: datetime


class FunnelPersonList(ResponseModel):
    """A page of the units of a step, latest start first."""

    persons: list[FunnelPerson]
    total_count: int = Field(description="`count` or `dropped` of the step.")
    has_more: bool
    limit: int
    offset: int
    step: int
    outcome: Literal["reached", "dropped"]
    unit: FunnelUnit
    range: RangeResponse
    complete: bool


@operation("GET /funnel/persons", tag="paths", tool="list_funnel_persons")
async def list_funnel_persons(
    query: FunnelPersonsQuery,
    *,
    caller: Caller,
    funnel_reader: FunnelReader,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> FunnelPersonList:
    """Lists who reached a step of a funnel, or who dropped out before it.

    Takes what `GET /funnel` takes, but no breakdown; one row per person, or per session. Who may still convert counts as dropped.
    """
    _refuse_step_outside_funnel(query)
    funnel = await build_funnel_reader_query(query, caller, queries)
    units, total = await funnel_reader.list_units_of_step_and_total(
        FunnelStepUnitsQuery(funnel, query.step - 1, query.outcome == "dropped", query.limit, query.offset)
    )
    date_range = query.resolve_range_or_default(caller)
    return FunnelPersonList(
        persons=[_build_person(unit, by_session=funnel.by_session) for unit in units],
        total_count=total,
        has_more=query.offset + len(units) < total,
        limit=query.limit,
        offset=query.offset,
        step=query.step,
        outcome=query.outcome,
        unit=query.unit,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


def _refuse_step_outside_funnel(query: FunnelPersonsQuery) -> None:
    """Checks that the funnel has the step; nobody drops out before the first one.

    Raises:
        BadRequest: ``invalid_parameter``.
    """
    first = 2 if query.outcome == "dropped" else 1
    if not first <= query.step <= len(query.steps):
        raise BadRequest(
            f"step is a number from {first} to {len(query.steps)}", "invalid_parameter", field="step"
        )


def _build_person(unit: FunnelStepUnit, *, by_session: bool) -> FunnelPerson:
    return FunnelPerson(
        user_id=user_id_of_person(unit.person),
        visitor_id=unit.visitor_id,
        session_id=unit.session_id if by_session else None,
        steps_reached=unit.steps_reached,
        started_at=unit.started_at,
        last_step_at=unit.last_step_at,
    )


OPERATIONS = (list_funnel_persons,)
