"""Reads the cohorts of a request, and those of each group of a breakdown."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service_core.access.models import Caller
from service_core.analytics.cohorts.models import (
    CohortPeriod,
    CohortPeriods,
    build_periods_of_non_empty_cohorts,
)
from service_core.analytics.cohorts.ports import (
    AcquisitionValuesQuery,
    CohortReader,
    CohortReaderQuery,
    CohortResult,
)
from service_core.analytics.cohorts.schemas import FIRST_TOUCH_DIMENSIONS, CohortQuery
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.ports import QueryScope
from service_core.analytics.query.breakdown import (
    Breakdown,
    BreakdownGroup,
    read_each_group_two_at_a_time,
    resolve_breakdown,
)
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.property_scope import require_read_scope_for_properties
from service_core.kernel.time_ranges import TimeRange


@dataclass(frozen=True, slots=True)
class CohortGroup:
    """A group of a breakdown with the periods of its cohorts."""

    group: BreakdownGroup
    persons: int
    cohorts: Sequence[CohortPeriod]

    @property
    def identity(self) -> dict[str, Any]:
        """The fields of an answer that name the group and its size."""
        return {"value": self.group.label, "is_other": self.group.is_other, "persons": self.persons}


@dataclass(frozen=True, slots=True)
class CohortRead:
    """Reads cohorts with money in the currency of the workspace, as far as rates exist."""

    request: CohortQuery
    query: CohortReaderQuery
    periods: CohortPeriods
    breakdown: Breakdown | None
    reader: CohortReader
    converter: CurrencyConverter

    @classmethod
    async def from_validated_request(
        cls,
        request: CohortQuery,
        caller: Caller,
        reader: CohortReader,
        converter: CurrencyConverter,
        queries: MetricQueries,
    ) -> "CohortRead":
        """Returns the read of a request.

        Raises:
            BadRequest: a range, a filter, the segment or the dimension of the breakdown is invalid.
            Forbidden: ``insufficient_scope``, for a custom property and a caller who reads totals only.
        """
        date_range = request.resolve_range_or_default(caller)
        periods = request.cohort_periods(date_range)
        filters = request.parse_filters(queries.catalog)
        require_read_scope_for_properties(
            caller, [request.breakdown or ""], (*filters.of_acquisition, *filters.of_activity)
        )
        breakdown = (
            resolve_breakdown(queries.catalog, request.breakdown, FIRST_TOUCH_DIMENSIONS)
            if request.breakdown
            else None
        )
        segment = await queries.read_segment_event_conditions(caller, request.segment_id)
        filters = replace(filters, of_acquisition=(*segment, *filters.of_acquisition))
        query = request.to_cohort_reader_query(caller, date_range, periods, filters)
        return cls(request, query, periods, breakdown, reader, converter)

    @property
    def currency(self) -> str:
        """The currency of the workspace."""
        return self.query.scope.currency

    async def read_periods_of_non_empty_cohorts(self) -> list[CohortPeriod]:
        """Returns the periods of all cohorts that have persons."""
        return build_periods_of_non_empty_cohorts(
            await self._read_with_converted_money(self.query), self.periods
        )

    async def read_non_empty_groups_largest_first(self) -> list[CohortGroup]:
        """Returns the groups of the breakdown that have persons, the largest first, and last that of all other values."""
        if self.breakdown is None:
            return []
        values = await self.reader.list_acquisition_values(
            AcquisitionValuesQuery(
                self.query, self.breakdown.column, self.breakdown.is_of_first_touch, self.request.top
            )
        )
        groups = self.breakdown.build_group_per_value(values, with_other=self.request.other)
        return [
            CohortGroup(group, persons, build_periods_of_non_empty_cohorts(result, self.periods))
            for group, result in await read_each_group_two_at_a_time(groups, self._read_cohorts_of_group)
            if (persons := sum(result.sizes.values()))
        ]

    async def _read_cohorts_of_group(self, group: BreakdownGroup) -> CohortResult:
        if self.breakdown is not None and self.breakdown.is_of_first_touch:
            filters = (*self.query.first_touch_filters, group.condition)
            return await self._read_with_converted_money(replace(self.query, first_touch_filters=filters))
        return await self._read_with_converted_money(
            replace(self.query, acquisition_filters=(*self.query.acquisition_filters, group.condition))
        )

    async def _read_with_converted_money(self, query: CohortReaderQuery) -> CohortResult:
        span = (
            TimeRange(query.activity.starts[0], query.activity.end)
            if query.activity.starts
            else query.scope.span
        )

        def read_in_scope(scope: QueryScope) -> Awaitable[CohortResult]:
            return self.reader.read_cohorts(replace(query, scope=replace(query.scope, rates=scope.rates)))

        return await self.converter.run_and_repeat_with_missing_rates(
            replace(query.scope, span=span),
            read_in_scope,
            lambda result: any(cell.foreign_money for cell in result.cells),
        )
