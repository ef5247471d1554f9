"""A range as a request says it, and as an answer repeats it (contract 2.7)."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import Field

from service_core.kernel.errors import BadRequest
from service_core.kernel.instants import parse
from service_core.kernel.params import Answer, BodyModel
from service_core.kernel.presets import ALL_TIME, NAMES, PRESETS, preset_days
from service_core.kernel.ranges import Range, Span, whole_days
from service_core.kernel.wall_clock import local_date

DATES_REQUIRED: Final = "start_date and end_date required (ISO 8601)"
"""The date error of the specification; most routes send it without a code (contract 2.5)."""


class DateRange(BodyModel):
    """Either both ends, inclusive, or a preset."""

    from_: str | None = Field(default=None, alias="from", description="Date or instant, inclusive.")
    to: str | None = Field(default=None, description="Date or instant, inclusive.")
    preset: str | None = Field(
        default=None, description=", ".join(f"`{name}`" for name in (*PRESETS, ALL_TIME))
    )

    @property
    def is_all_time(self) -> bool:
        """Whether `resolve` needs to know the day of the first event."""
        return self.preset == ALL_TIME

    def resolve(
        self, zone: ZoneInfo, now: datetime, first_event: datetime | None = None, *, field: str = "date_range"
    ) -> Range:
        """The range it means; an empty text is absent. ``field`` is what the request calls it.

        Raises:
            BadRequest: ``invalid_date_range``.
        """
        if bool(self.from_ or self.to) == bool(self.preset):
            raise _invalid("A date range is either {from, to} or {preset}", field)
        if not self.preset:
            first, last = parse(self.from_ or "", zone), parse(self.to or "", zone)
            if first is None or last is None:
                raise _invalid("from and to must be ISO 8601 dates or instants", field)
            return Range(_ordered(first, last, "from must not be after to", field), zone, now)
        first_day = local_date(first_event, zone) if first_event else None
        days = preset_days(self.preset, local_date(now, zone), first_day)
        if days is None:
            raise _invalid(f"Unknown preset {self.preset!r}", field, f"Presets: {', '.join(NAMES)}.")
        return Range(whole_days(*days, zone), zone, now)


def between(start_date: str | None, end_date: str | None, zone: ZoneInfo, now: datetime) -> Range:
    """The range of the parameters ``start_date`` and ``end_date``, both inclusive.

    Raises:
        BadRequest: the date error, without a code, when one is missing or does not parse;
            ``invalid_date_range`` when the start lies after the end.
    """
    first, last = parse(start_date or "", zone), parse(end_date or "", zone)
    if first is None or last is None:
        raise BadRequest(DATES_REQUIRED)
    complaint = "start_date must not be after end_date"
    return Range(_ordered(first, last, complaint, "start_date"), zone, now)


def _ordered(first: Span, last: Span, complaint: str, field: str) -> Span:
    if first.start >= last.end:
        raise _invalid(complaint, field)
    return Span(first.start, last.end)


def _invalid(message: str, field: str, hint: str | None = None) -> BadRequest:
    return BadRequest(message, "invalid_date_range", field=field, hint=hint)


class RangeAnswer(Answer):
    """The range an answer covers; both ends are inclusive and may be sent back unchanged."""

    from_: datetime = Field(serialization_alias="from")
    to: datetime
    timezone: str
    partial: bool = Field(description="True when `to` lies after now.")

    @classmethod
    def of(cls, asked: Range) -> "RangeAnswer":
        """The answer's form of a range."""
        return cls(from_=asked.span.start, to=asked.last, timezone=asked.zone.key, partial=asked.partial)
