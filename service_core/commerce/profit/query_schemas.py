"""Query parameters of `GET /commerce-metrics`."""

from datetime import datetime, timedelta
from typing import Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.query.schemas import RefundBasis
from service_core.analytics.range_query import RangeQuery
from service_core.kernel.date_range import DATES_REQUIRED_MESSAGE
from service_core.kernel.errors import BadRequest
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.kernel.timestamps import parse_date_or_timestamp

MAX_RANGE: Final = timedelta(days=366)
_DATE_FIELDS: Final = ("start_date", "end_date")


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

    def resolve_range(self, caller: Caller) -> ResolvedRange:
        """The range, half-open as it is sent; a date stands for the midnight it begins with.

        Raises:
            BadRequest: ``missing_range``, ``invalid_date``, ``range_inverted``, ``not_hour_aligned``,
                ``end_in_future`` or ``range_too_long``.
        """
        start, end = self._parse_dates(caller)
        if start >= end:
            raise BadRequest("end_date must lie after start_date", "range_inverted", field="end_date")
        for name, instant in zip(_DATE_FIELDS, (start, end), strict=True):
            if instant != instant.replace(minute=0, second=0, microsecond=0):
                raise BadRequest(f"{name} must lie on an exact UTC hour", "not_hour_aligned", field=name)
        if end > caller.now:
            raise BadRequest("end_date must not lie in the future", "end_in_future", field="end_date")
        if end - start > MAX_RANGE:
            raise BadRequest("The range may cover 366 days", "range_too_long", field="end_date")
        return ResolvedRange(TimeRange(start, end), caller.workspace.zone, caller.now)

    def _parse_dates(self, caller: Caller) -> list[datetime]:
        sent = dict(zip(_DATE_FIELDS, (self.start_date, self.end_date), strict=True))
        missing = next((name for name, text in sent.items() if not text), None)
        if missing is not None:
            raise BadRequest(DATES_REQUIRED_MESSAGE, "missing_range", field=missing)
        read = {
            name: parse_date_or_timestamp(text or "", caller.workspace.zone) for name, text in sent.items()
        }
        invalid = next((name for name, found in read.items() if found is None), None)
        if invalid is not None:
            raise BadRequest(DATES_REQUIRED_MESSAGE, "invalid_date", field=invalid)
        return [found.start for found in read.values() if found is not None]
