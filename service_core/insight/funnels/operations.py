"""`GET /funnel` (contract 3.11, semantics 15)."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, field_validator

from service_core.access.model import Caller
from service_core.insight.event_names import same_as
from service_core.insight.filtering import exactly
from service_core.insight.freshness import is_complete
from service_core.insight.funnels.ports import FunnelOrder, FunnelPlan, Funnels, FunnelTable
from service_core.insight.funnels.steps import steps_of, synonyms
from service_core.insight.measures import Predicate
from service_core.insight.range_query import RangeQuery
from service_core.insight.rounding import ratio, seconds
from service_core.insight.scans import scan_of
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.presets import PRESETS
from service_core.kernel.ranges import Range, whole_days
from service_core.kernel.wall_clock import local_date

Unit = Literal["person", "session"]
_DEFAULT_RANGE: Final = "last_30_days"


class FunnelQuery(RangeQuery):
    """Parameters of `GET /funnel`; the range is that of step 1, by default the last 30 local days."""

    needed: ClassVar = ("steps",)
    steps: tuple[str, ...] = Field(
        default=(),
        validate_default=True,
        description="2 to 5 event names: a comma list, repeats, or a JSON array.",
    )
    window_days: Annotated[int, Clamp(1, 90)] = Field(14, description="From step 1 to the last step.")
    order: FunnelOrder = FunnelOrder.ORDERED
    unit: Unit = "person"
    exclude: str | None = Field(
        default=None, description="Event that removes a unit when it lies between two of its steps."
    )
    utm_source: str | None = Field(default=None, description="Of the event of step 1, exact.")
    utm_campaign: str | None = Field(default=None, description="Of the event of step 1, exact.")
    channel: str | None = Field(default=None, description="Of the event of step 1, exact.")
    country: str | None = Field(default=None, description="Of the event of step 1, exact.")
    device_type: str | None = Field(default=None, description="Of the event of step 1, exact.")

    @field_validator("steps", mode="before")
    @classmethod
    def _split_steps(cls, sent: list[str]) -> tuple[str, ...]:
        return steps_of(sent)

    def asked(self, who: Caller) -> Range:
        """The range of step 1."""
        if self.start_date is None and self.end_date is None:
            zone = who.workspace.zone
            days = PRESETS[_DEFAULT_RANGE](local_date(who.now, zone))
            return Range(whole_days(*days, zone), zone, who.now)
        return super().asked(who)

    def filters(self) -> tuple[Predicate, ...]:
        """What the event of step 1 has to be like."""
        columns = ("utm_source", "utm_campaign", "channel", "country", "device_type")
        return tuple(exactly(column, value) for column in columns if (value := getattr(self, column)))


class FunnelStepAnswer(Answer):
    """One step: how many units reached it, from step 1 and from the step before."""

    step: int
    event_name: str
    count: int
    conversion_rate: Decimal | None
    step_conversion_rate: Decimal | None
    dropped: int
    median_seconds_from_previous: Decimal | None
    mean_seconds_from_previous: Decimal | None


class Funnel(Answer):
    """How far units get. ``open`` counts entrants that may still convert."""

    steps: list[FunnelStepAnswer]
    overall_conversion_rate: Decimal | None
    open: int
    window_days: int
    order: FunnelOrder
    unit: Unit
    timezone: str
    range: RangeAnswer
    complete: bool


@operation("GET /funnel", tag="people")
async def get_funnel(query: FunnelQuery, *, who: Caller, funnels: Funnels, queue: IngestQueue) -> Funnel:
    """How many people, or sessions, get from step to step, and how long they take.

    A step is later than the one before it; the range is that of step 1, and the window runs from
    there to the last step. Names that count as one event are one step.
    """
    asked = query.asked(who)
    plan = FunnelPlan(
        scan=scan_of(who, asked.span, filters=query.filters(), include_bots=query.include_bots),
        steps=synonyms(query.steps),
        window=timedelta(days=query.window_days),
        now=who.now,
        order=query.order,
        by_session=query.unit == "session",
        exclude=same_as(query.exclude) if query.exclude else None,
    )
    table = await funnels.funnel(plan)
    steps = _steps(query.steps, table)
    return Funnel(
        steps=steps,
        overall_conversion_rate=steps[-1].conversion_rate,
        open=table.open,
        window_days=query.window_days,
        order=query.order,
        unit=query.unit,
        timezone=asked.zone.key,
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


def _steps(names: tuple[str, ...], table: FunnelTable) -> list[FunnelStepAnswer]:
    counts = [step.count for step in table.steps]
    return [
        FunnelStepAnswer(
            step=i + 1,
            event_name=name,
            count=step.count,
            conversion_rate=ratio(step.count, counts[0]),
            step_conversion_rate=ratio(step.count, counts[max(i - 1, 0)]),
            dropped=counts[max(i - 1, 0)] - step.count,
            median_seconds_from_previous=seconds(step.median_seconds),
            mean_seconds_from_previous=seconds(step.mean_seconds),
        )
        for i, (name, step) in enumerate(zip(names, table.steps, strict=True))
    ]


OPERATIONS = (get_funnel,)
