"""Parameters of reads over a date range."""

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from service_core.access.models import Caller
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.date_range import parse_inclusive_start_end_dates
from service_core.kernel.schemas import QueryModel
from service_core.kernel.time_ranges import ResolvedRange, whole_days_range
from service_core.kernel.wall_clock import local_date


class RangeQuery(AsOfRequest, QueryModel):
    """Parameters of a read over a date range; `default_range` says what a request without dates means."""

    required_params: ClassVar[tuple[str, ...]] = ("start_date", "end_date")
    start_date: str | None = Field(
        default=None, description="Start, inclusive: a date or an ISO 8601 instant."
    )
    end_date: str | None = Field(default=None, description="End, inclusive: a date or an ISO 8601 instant.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")

    def resolve_range_or_default(self, caller: Caller) -> ResolvedRange:
        """Returns the range in the time zone of the caller's workspace; without both dates, the default range.

        Raises:
            BadRequest: a date does not parse, the start is after the end, or a date is missing and there is no default.
        """
        if self.start_date is None and self.end_date is None:
            default = self.default_range(caller)
            if default is not None:
                return default
        return parse_inclusive_start_end_dates(
            self.start_date, self.end_date, caller.workspace.zone, caller.now
        )

    def default_range(self, caller: Caller) -> ResolvedRange | None:  # noqa: ARG002 - subclasses need the caller
        """Returns the range of a request without dates; None if dates are required."""
        return None


def resolve_last_30_days(caller: Caller) -> ResolvedRange:
    """Returns the last 30 local days, today included."""
    return _resolve_last_days(caller, 30)


def resolve_last_90_days(caller: Caller) -> ResolvedRange:
    """Returns the last 90 local days, today included."""
    return _resolve_last_days(caller, 90)


def _resolve_last_days(caller: Caller, day_count: int) -> ResolvedRange:
    zone = caller.workspace.zone
    today = local_date(caller.now, zone)
    first_day = today - timedelta(days=day_count - 1)
    return ResolvedRange(whole_days_range(first_day, today, zone), zone, caller.now)
