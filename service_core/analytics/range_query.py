"""Parameters of reads over a date range."""

from typing import ClassVar

from pydantic import Field

from service_core.access.models import Caller
from service_core.kernel.date_range import parse_start_end_dates
from service_core.kernel.schemas import QueryModel
from service_core.kernel.time_ranges import ResolvedRange


class RangeQuery(QueryModel):
    """Parameters of a read over a date range."""

    required_params: ClassVar[tuple[str, ...]] = ("start_date", "end_date")
    start_date: str | None = Field(
        default=None, description="Start, inclusive: a date or an ISO 8601 instant."
    )
    end_date: str | None = Field(default=None, description="End, inclusive: a date or an ISO 8601 instant.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")

    def resolve_range(self, caller: Caller) -> ResolvedRange:
        """Returns the range in the time zone of the caller's workspace.

        Raises:
            BadRequest: a date is missing, does not parse, or the start is after the end.
        """
        return parse_start_end_dates(self.start_date, self.end_date, caller.workspace.zone, caller.now)
