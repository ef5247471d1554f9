"""Parameters of `GET /retention` and `GET /ltv`."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.cohorts.models import (
    CohortPeriods,
    choose_cohort_unit_by_range_length,
    last_12_full_weeks,
)
from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.measures import Column, Condition, Predicate, Relation
from service_core.analytics.query.breakdown import BreakdownQuery
from service_core.analytics.query.catalog import Catalog, Dimension
from service_core.analytics.query.event_filters import (
    compile_event_filters,
    parse_event_filters,
    parse_filter_bodies,
)
from service_core.analytics.query.parse_filters import equals_label_or_is_not_set
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp
from service_core.kernel.time_ranges import BucketUnit, ResolvedRange

Granularity = Literal["day", "week", "month"]


FIRST_TOUCH_DIMENSIONS: Final = {
    id_: Dimension(id_, label, "", {Relation.EVENTS: Column(column)})
    for id_, label, column in (
        ("first_touch_channel", "First channel", "channel"),
        ("first_touch_source", "First source", "attribution_source"),
        ("first_touch_campaign", "First campaign", "utm_campaign"),
    )
}
"""Dimensions of the first touch of a person; their columns are those of `Touch`."""


@dataclass(frozen=True, slots=True)
class CohortFilters:
    """The conditions of a request on first touches, on acquiring events and on the events that make a person active."""

    of_first_touch: tuple[Predicate, ...] = ()
    of_acquisition: tuple[Condition, ...] = ()
    of_activity: tuple[Condition, ...] = ()


class CohortQuery(RowSelection, BreakdownQuery):
    """Parameters that `GET /ltv` and `GET /retention` share.

    The range is that of acquisition; the default is the 12 full ISO weeks before the current one.
    """

    required_params: ClassVar = ()
    granularity: Granularity | None = Field(default=None, description="Size of cohorts; default by range.")
    periods: Annotated[int, Clamp(0, 52)] = Field(
        12, description="Highest period; at most 31 days, 52 weeks or 24 months."
    )
    cohort_by: Literal["first_seen", "first_conversion"] = "first_seen"
    include_partial: bool = Field(default=False, description="Add the running period of each cohort.")
    utm_source: str | None = Field(default=None, description="Of the person's first touch, exact.")
    utm_campaign: str | None = Field(default=None, description="Of the person's first touch, exact.")
    channel: str | None = Field(default=None, description="Of the person's first touch, exact.")
    country: str | None = Field(default=None, description="Of the person's first touch, exact.")
    segment_id: UUID | None = Field(
        default=None,
        description="A segment, whose filters the event, or conversion, meets that acquired the person.",
    )
    filters: str | None = Field(
        default=None,
        description="JSON: a list of `{dimension, op, value}` that the event, or conversion, meets that acquired the "
        "person; also `property:<key>`, and `first_touch_channel`, `first_touch_source`, `first_touch_campaign`.",
    )

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the 12 full ISO weeks before the current one."""
        return last_12_full_weeks(caller.workspace.zone, caller.now)

    def requested_or_suitable_unit(self, date_range: ResolvedRange) -> BucketUnit:
        """Returns the cohort size."""
        if self.granularity is not None:
            return BucketUnit(self.granularity)
        return BucketUnit.WEEK if self.start_date is None else choose_cohort_unit_by_range_length(date_range)

    def filters_of_set_first_touch_params(self) -> tuple[Predicate, ...]:
        """Returns the conditions on the first touch of a person."""
        columns = ("utm_source", "utm_campaign", "channel", "country")
        return tuple(
            equals_label_or_is_not_set(column, value)
            for column in columns
            if (value := getattr(self, column))
        )

    def parse_filters(self, catalog: Catalog) -> CohortFilters:
        """Returns the conditions of ``filters``.

        Raises:
            BadRequest: ``invalid_filter``, ``unknown_dimension`` or ``incompatible_dimension``.
        """
        bodies = parse_filter_bodies(self.filters, "filters")
        of_touch = [body for body in bodies if body.dimension in FIRST_TOUCH_DIMENSIONS]
        of_event = [body for body in bodies if body not in of_touch]
        touches = Catalog(dimensions=FIRST_TOUCH_DIMENSIONS)
        return CohortFilters(
            compile_event_filters(of_touch, "filters", touches),
            compile_event_filters(of_event, "filters", catalog),
        )

    def cohort_periods(self, date_range: ResolvedRange) -> CohortPeriods:
        """Returns the cohorts and periods to show."""
        return CohortPeriods.for_range_clamped_to_data_and_unit_limit(
            date_range,
            self.requested_or_suitable_unit(date_range),
            self.periods,
            include_partial=self.include_partial,
        )

    def to_cohort_reader_query(
        self, caller: Caller, date_range: ResolvedRange, periods: CohortPeriods, filters: CohortFilters
    ) -> CohortReaderQuery:
        """Returns the query to the event store.

        Args:
            caller: whose workspace is read.
            date_range: the range of acquisition.
            periods: the cohorts and their periods.
            filters: the conditions of `filters` and of the segment.
        """
        return CohortReaderQuery(
            scope=scope_for_caller(caller, date_range.span, include_bots=self.include_bots),
            acquisition=periods.acquisition,
            activity=periods.activity_buckets_within_max_period,
            by_conversion=self.cohort_by == "first_conversion",
            first_touch_filters=(*self.filters_of_set_first_touch_params(), *filters.of_first_touch),
            acquisition_filters=filters.of_acquisition,
            activity_filters=filters.of_activity,
        )


class RetentionQuery(CohortQuery):
    """Parameters of `GET /retention`."""

    event_name: str | None = Field(default=None, description="What makes a person active; default any event.")
    mode: Literal["on", "on_or_after"] = "on"
    event_filters: str | None = Field(
        default=None,
        description="JSON: a list of `{dimension, op, value}` that an event meets which makes a person active; also "
        "`property:<key>`.",
    )

    def parse_filters(self, catalog: Catalog) -> CohortFilters:
        """Returns the conditions of ``filters`` and ``event_filters``."""
        of_activity = parse_event_filters(self.event_filters, "event_filters", catalog)
        return replace(super().parse_filters(catalog), of_activity=of_activity)

    def to_cohort_reader_query(
        self, caller: Caller, date_range: ResolvedRange, periods: CohortPeriods, filters: CohortFilters
    ) -> CohortReaderQuery:
        """Returns the query to the event store, with the events that make a person active."""
        names = list_event_synonyms(self.event_name) if self.event_name else None
        activity = periods.activity_buckets_within_max_period if self.mode == "on" else periods.activity
        return replace(
            super().to_cohort_reader_query(caller, date_range, periods, filters),
            event_names=names,
            activity=activity,
        )
