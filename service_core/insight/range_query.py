"""The parameters that every read over a range has."""

from typing import ClassVar

from pydantic import Field

from service_core.access.model import Caller
from service_core.kernel.date_range import between
from service_core.kernel.params import QueryModel
from service_core.kernel.ranges import Range


class RangeQuery(QueryModel):
    """Parameters of a read over a range."""

    needed: ClassVar[tuple[str, ...]] = ("start_date", "end_date")
    start_date: str | None = Field(
        default=None, description="Start, inclusive: a date or an ISO 8601 instant."
    )
    end_date: str | None = Field(default=None, description="End, inclusive: a date or an ISO 8601 instant.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")

    def asked(self, who: Caller) -> Range:
        """The range in the caller's zone.

        Raises:
            BadRequest: a date is missing, does not parse, or the start lies after the end.
        """
        return between(self.start_date, self.end_date, who.workspace.zone, who.now)
