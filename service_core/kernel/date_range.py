"""Date ranges as requests send them and as answers repeat them."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import Field

from service_core.kernel.date_presets import ALL_TIME, DATE_PRESETS, PRESET_NAMES, resolve_preset
from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange, TimeRange, whole_days_range
from service_core.kernel.timestamps import parse_span_of_date_or_timestamp
from service_core.kernel.wall_clock import local_date

DATES_REQUIRED_MESSAGE: Final = "start_date and end_date required (ISO 8601)"
"""The error message for missing dates. Most endpoints send it without an error code."""


class DateRange(BodyModel):
    """A start and an end, both inclusive, or a preset."""

    from_: str | None = Field(default=None, alias="from", description="Date or instant, inclusive.")
    to: str | None = Field(default=None, description="Date or instant, inclusive.")
    preset: str | None = Field(
        default=None, description=", ".join(f"`{name}`" for name in (*DATE_PRESETS, ALL_TIME))
    )

    @property
    def is_all_time(self) -> bool:
        """Whether `resolve` needs the time of the first event."""
        return self.preset == ALL_TIME

    def resolve(
        self,
        zone: ZoneInfo,
        now: datetime,
        first_event_time: datetime | None = None,
        *,
        error_field: str = "date_range",
    ) -> ResolvedRange:
        """Returns the resolved range. Empty texts count as absent.

        Args:
            zone: time zone of the workspace.
            now: time of the request.
            first_event_time: time of the first event, for ``all_time``.
            error_field: name of the range in the request, for error messages.

        Raises:
            BadRequest: ``invalid_date_range``.
        """
        if bool(self.from_ or self.to) == bool(self.preset):
            raise _invalid_date_range_error("A date range is either {from, to} or {preset}", error_field)
        if not self.preset:
            first, last = (
                parse_span_of_date_or_timestamp(self.from_ or "", zone),
                parse_span_of_date_or_timestamp(self.to or "", zone),
            )
            if first is None or last is None:
                raise _invalid_date_range_error("from and to must be ISO 8601 dates or instants", error_field)
            return ResolvedRange(
                _join_unless_start_after_end(first, last, "from must not be after to", error_field), zone, now
            )
        first_day = local_date(first_event_time, zone) if first_event_time else None
        days = resolve_preset(self.preset, local_date(now, zone), first_day)
        if days is None:
            raise _invalid_date_range_error(
                f"Unknown preset {self.preset!r}", error_field, f"Presets: {', '.join(PRESET_NAMES)}."
            )
        return ResolvedRange(whole_days_range(*days, zone), zone, now)


def parse_inclusive_start_end_dates(
    start_date: str | None, end_date: str | None, zone: ZoneInfo, now: datetime
) -> ResolvedRange:
    """Returns the range of the parameters ``start_date`` and ``end_date``, both inclusive.

    Raises:
        BadRequest: without a code if one is missing or does not parse; ``invalid_date_range`` if the start lies after
            the end.
    """
    first, last = (
        parse_span_of_date_or_timestamp(start_date or "", zone),
        parse_span_of_date_or_timestamp(end_date or "", zone),
    )
    if first is None or last is None:
        raise BadRequest(DATES_REQUIRED_MESSAGE)
    message = "start_date must not be after end_date"
    return ResolvedRange(_join_unless_start_after_end(first, last, message, "start_date"), zone, now)


def _join_unless_start_after_end(
    first: TimeRange, last: TimeRange, message: str, error_field: str
) -> TimeRange:
    if first.start >= last.end:
        raise _invalid_date_range_error(message, error_field)
    return TimeRange(first.start, last.end)


def _invalid_date_range_error(message: str, field: str, hint: str | None = None) -> BadRequest:
    return BadRequest(message, "invalid_date_range", field=field, hint=hint)


class RangeResponse(ResponseModel):
    """The range that an answer covers. Both ends are inclusive and can be sent back unchanged."""

    from_: datetime = Field(serialization_alias="from")
    to: datetime
    timezone: str
    partial: bool = Field(description="True when `to` lies after now.")

    @classmethod
    def from_range(cls, date_range: ResolvedRange) -> "RangeResponse":
        """Returns the response model of a resolved range."""
        return cls(
            from_=date_range.span.start,
            to=date_range.inclusive_end,
            timezone=date_range.zone.key,
            partial=date_range.extends_past_now,
        )
