"""What a request of `GET /commerce-metrics` says, checked (contract 3.15)."""

from datetime import datetime, timedelta
from typing import Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.query.requested import RefundBasis
from service_core.insight.range_query import RangeQuery
from service_core.kernel.date_range import DATES_REQUIRED
from service_core.kernel.errors import BadRequest
from service_core.kernel.instants import parse
from service_core.kernel.ranges import Range, Span

LONGEST: Final = timedelta(days=366)
_NAMES: Final = ("start_date", "end_date")


class CommerceMetricsQuery(RangeQuery):
    """Parameters of `GET /commerce-metrics`; both ends lie on an hour of UTC."""

    start_date: str | None = Field(
        default=None, description="Start, inclusive: an ISO 8601 instant on an exact UTC hour."
    )
    end_date: str | None = Field(
        default=None,
        description="End, exclusive: an ISO 8601 instant on an exact UTC hour, not in the future and at most "
        "366 days after the start.",
    )
    refund_basis: RefundBasis = Field(
        "refund", description="Book a refund on its own day or on that of its order."
    )

    def asked(self, who: Caller) -> Range:
        """The range, half-open as it is sent; a date stands for the midnight it begins with.

        Raises:
            BadRequest: ``missing_range``, ``invalid_date``, ``range_inverted``, ``not_hour_aligned``,
                ``end_in_future`` or ``range_too_long``.
        """
        start, end = self._instants(who)
        if start >= end:
            raise BadRequest("end_date must lie after start_date", "range_inverted", field="end_date")
        for name, instant in zip(_NAMES, (start, end), strict=True):
            if instant != instant.replace(minute=0, second=0, microsecond=0):
                raise BadRequest(f"{name} must lie on an exact UTC hour", "not_hour_aligned", field=name)
        if end > who.now:
            raise BadRequest("end_date must not lie in the future", "end_in_future", field="end_date")
        if end - start > LONGEST:
            raise BadRequest("The range may cover 366 days", "range_too_long", field="end_date")
        return Range(Span(start, end), who.workspace.zone, who.now)

    def _instants(self, who: Caller) -> list[datetime]:
        sent = dict(zip(_NAMES, (self.start_date, self.end_date), strict=True))
        missing = next((name for name, text in sent.items() if not text), None)
        if missing is not None:
            raise BadRequest(DATES_REQUIRED, "missing_range", field=missing)
        read = {name: parse(text or "", who.workspace.zone) for name, text in sent.items()}
        invalid = next((name for name, found in read.items() if found is None), None)
        if invalid is not None:
            raise BadRequest(DATES_REQUIRED, "invalid_date", field=invalid)
        return [found.start for found in read.values() if found is not None]
