"""What a request of `GET /ads` says, checked (contract 3.13)."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.commerce.ads.model import Level
from service_core.insight.connections.providers import PROVIDERS
from service_core.kernel.date_range import DATES_REQUIRED
from service_core.kernel.errors import BadRequest
from service_core.kernel.instants import parse
from service_core.kernel.params import Clamp, QueryModel
from service_core.kernel.ranges import Range, Span, whole_days
from service_core.kernel.wall_clock import local_date

LONGEST_DAYS: Final = 366
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_PLATFORM_ALIASES: Final = {"facebook": "meta", "google_ads": "google", "tiktok_ads": "tiktok"}
_LEVEL_ALIASES: Final = {"adset": Level.GROUP, "adgroup": Level.GROUP}
_SPENDING: Final = tuple(known.id for known in PROVIDERS.values() if known.reports_spend)


class AdsQuery(QueryModel):
    """Parameters of `GET /ads`: one of the two pairs of dates is required."""

    start_date: str | None = Field(default=None, description="Start, inclusive; goes with `end_date`.")
    end_date: str | None = Field(default=None, description="End, inclusive.")
    date_from: str | None = Field(
        default=None,
        description="First day, `YYYY-MM-DD`, in place of `start_date`; goes with `date_through`.",
    )
    date_through: str | None = Field(default=None, description="Last day, inclusive.")
    platform: str | None = Field(
        default=None,
        description=f"{', '.join(f'`{name}`' for name in _SPENDING)}, or one that is connected; default all. "
        f"{', '.join(f'`{alias}`' for alias in _PLATFORM_ALIASES)} are understood.",
    )
    level: str = Field(
        default="campaign", description="`campaign`, `group` or `ad`; `adset` and `adgroup` are groups."
    )
    limit: Annotated[int, Clamp(1, 200)] = Field(50, description="Rows; totals cover all of them.")

    def days(self, who: Caller) -> Range:
        """The workspace days asked for; an instant stands for the day it lies in.

        Raises:
            BadRequest: ``missing_date_range``, ``conflicting_date_range``, ``invalid_date_range`` or
                ``range_too_long``.
        """
        instants, dates = (self.start_date, self.end_date), (self.date_from, self.date_through)
        if any(instants) and any(dates):
            raise BadRequest(
                "Send either start_date and end_date, or date_from and date_through", "conflicting_date_range"
            )
        first, last = dates if any(dates) else instants
        names = ("date_from", "date_through") if any(dates) else ("start_date", "end_date")
        if not first or not last:
            raise BadRequest(DATES_REQUIRED, "missing_date_range", field=names[bool(first)])
        spans = [self._span(name, text, who) for name, text in zip(names, (first, last), strict=True)]
        return _whole(spans[0], spans[1], names, who)

    def _span(self, name: str, text: str, who: Caller) -> Span:
        is_day = name in ("date_from", "date_through")
        found = None if is_day and not _DAY.fullmatch(text.strip()) else parse(text, who.workspace.zone)
        if found is None:
            complaint = f"{name} is not a day (YYYY-MM-DD)" if is_day else DATES_REQUIRED
            raise BadRequest(complaint, "invalid_date_range", field=name)
        return found

    def of_platform(self, connected: Iterable[str]) -> str | None:
        """The platform asked for.

        Raises:
            BadRequest: ``invalid_platform``.
        """
        if self.platform is None:
            return None
        name = _PLATFORM_ALIASES.get(self.platform, self.platform)
        known = dict.fromkeys((*_SPENDING, *connected))
        if name not in known:
            raise BadRequest(
                f"Unknown platform {self.platform!r}",
                "invalid_platform",
                field="platform",
                hint=f"Platforms: {', '.join(known)}.",
            )
        return name

    @property
    def of_level(self) -> Level:
        """The level asked for.

        Raises:
            BadRequest: ``invalid_level``.
        """
        if self.level in _LEVEL_ALIASES:
            return _LEVEL_ALIASES[self.level]
        if self.level not in set(Level):
            raise BadRequest(
                f"Unknown level {self.level!r}",
                "invalid_level",
                field="level",
                hint=f"Levels: {', '.join(Level)}.",
            )
        return Level(self.level)


def _whole(first: Span, last: Span, names: tuple[str, str], who: Caller) -> Range:
    zone = who.workspace.zone
    start, end = local_date(first.start, zone), local_date(last.end - timedelta.resolution, zone)
    if first.start >= last.end:
        raise BadRequest(f"{names[0]} must not be after {names[1]}", "invalid_date_range", field=names[0])
    if (end - start).days >= LONGEST_DAYS:
        raise BadRequest(f"The range may cover {LONGEST_DAYS} days", "range_too_long", field=names[1])
    return Range(whole_days(start, end, zone), zone, who.now)
