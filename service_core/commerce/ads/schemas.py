"""Query parameters and response models of `GET /ads`."""

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Annotated, Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.connections.models import ConnectionStatus
from service_core.commerce.ads.models import AdLevel
from service_core.commerce.ads.ports import AdPlatforms
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.date_range import DATES_REQUIRED_MESSAGE
from service_core.kernel.errors import BadRequest
from service_core.kernel.installed_ids import InstalledIds
from service_core.kernel.null_reasons import (
    LISTED_BY_OPERATION,
    NOT_REPORTED,
    NULL_FIELD_REASONS,
    ListsNullReasons,
    NullReason,
    UnavailableMetric,
)
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange, TimeRange, whole_days_range
from service_core.kernel.timestamps import parse_span_of_date_or_timestamp
from service_core.kernel.wall_clock import local_date

MAX_RANGE_DAYS: Final = 366
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class AdsQuery(AsOfRequest, RowSelection):
    """Parameters of `GET /ads`: one of the two pairs of dates is required."""

    start_date: str | None = Field(default=None, description="Start, inclusive; goes with `end_date`.")
    end_date: str | None = Field(default=None, description="End, inclusive.")
    date_from: str | None = Field(
        default=None,
        description="First day, `YYYY-MM-DD`, in place of `start_date`; goes with `date_through`.",
    )
    date_through: str | None = Field(default=None, description="Last day, inclusive.")
    platform: Annotated[str | None, InstalledIds("ad_platforms", is_closed=False)] = Field(
        default=None,
        description="An ad platform that is installed or connected, by its id or another of its names; default all.",
    )
    level: str = Field(
        default="campaign",
        description="`campaign`, `group` or `ad`, or what an ad platform calls them, such as `adset`.",
    )
    limit: Annotated[int, Clamp(1, 200)] = Field(50, description="Rows; totals cover all of them.")

    def resolve_workspace_days(self, caller: Caller) -> ResolvedRange:
        """Returns the requested workspace days; an instant stands for the day it lies in.

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
            raise BadRequest(DATES_REQUIRED_MESSAGE, "missing_date_range", field=names[bool(first)])
        spans = [
            self._parse_required_bound(name, text, caller)
            for name, text in zip(names, (first, last), strict=True)
        ]
        return _widen_to_workspace_days(spans[0], spans[1], names, caller)

    def _parse_required_bound(self, field_name: str, text: str, caller: Caller) -> TimeRange:
        is_day = field_name in ("date_from", "date_through")
        bound = (
            None
            if is_day and not _DAY.fullmatch(text.strip())
            else parse_span_of_date_or_timestamp(text, caller.workspace.zone)
        )
        if bound is None:
            complaint = f"{field_name} is not a day (YYYY-MM-DD)" if is_day else DATES_REQUIRED_MESSAGE
            raise BadRequest(complaint, "invalid_date_range", field=field_name)
        return bound

    def resolve_platform_id(self, platforms: AdPlatforms, connected_ids: Iterable[str]) -> str | None:
        """Returns the id of the requested platform; None for all.

        Args:
            platforms: the installed ones.
            connected_ids: ids of those the workspace has connected.

        Raises:
            BadRequest: ``invalid_platform``.
        """
        if self.platform is None:
            return None
        name = platforms.aliases.get(self.platform, self.platform)
        known = dict.fromkeys((*platforms.by_id, *connected_ids))
        if name not in known:
            raise BadRequest(
                f"Unknown platform {self.platform!r}",
                "invalid_platform",
                field="platform",
                hint=f"Platforms: {', '.join(known)}.",
            )
        return name

    def resolve_level(self, platforms: AdPlatforms) -> AdLevel:
        """Returns the requested level, which may have the name an installed platform gives it.

        Raises:
            BadRequest: ``invalid_level``.
        """
        if self.level in platforms.level_names:
            return platforms.level_names[self.level]
        if self.level not in set(AdLevel):
            raise BadRequest(
                f"Unknown level {self.level!r}",
                "invalid_level",
                field="level",
                hint=f"Levels: {', '.join(AdLevel)}.",
            )
        return AdLevel(self.level)


def _widen_to_workspace_days(
    first: TimeRange, last: TimeRange, field_names: tuple[str, str], caller: Caller
) -> ResolvedRange:
    zone = caller.workspace.zone
    start, end = local_date(first.start, zone), local_date(last.end - timedelta.resolution, zone)
    if first.start >= last.end:
        raise BadRequest(
            f"{field_names[0]} must not be after {field_names[1]}", "invalid_date_range", field=field_names[0]
        )
    if (end - start).days >= MAX_RANGE_DAYS:
        raise BadRequest(f"The range may cover {MAX_RANGE_DAYS} days", "range_too_long", field=field_names[1])
    return ResolvedRange(whole_days_range(start, end, zone), zone, caller.now)


class AdMetrics(ResponseModel):
    """Spend and its results. Null is unknown or a division by zero; conversions are the platform's claims."""

    spend: Annotated[float | None, NOT_REPORTED]
    impressions: Annotated[int | None, NOT_REPORTED]
    clicks: Annotated[int | None, NOT_REPORTED]
    ctr: Annotated[
        float | None, NullReason(UnavailableReason.INSUFFICIENT_DATA, computed_from=("clicks", "impressions"))
    ]
    cpc: Annotated[
        float | None, NullReason(UnavailableReason.INSUFFICIENT_DATA, computed_from=("spend", "clicks"))
    ]
    cpm: Annotated[
        float | None, NullReason(UnavailableReason.INSUFFICIENT_DATA, computed_from=("spend", "impressions"))
    ]
    conversions: Annotated[float | int | None, NOT_REPORTED]
    conversion_value: Annotated[float | None, NOT_REPORTED]
    cpa: Annotated[
        float | None, NullReason(UnavailableReason.INSUFFICIENT_DATA, computed_from=("spend", "conversions"))
    ]
    roas: Annotated[
        float | None,
        NullReason(UnavailableReason.INSUFFICIENT_DATA, computed_from=("conversion_value", "spend")),
    ]


class AdRow(AdMetrics):
    """A campaign, group or ad, in the currency of its account."""

    platform: str
    account_id: str
    account_name: str | None
    level: AdLevel
    id: str
    name: str | None
    status: str | None
    campaign_id: str
    campaign_name: str | None
    group_id: str | None
    group_name: str | None
    ad_id: str | None
    ad_name: str | None
    currency: str
    reach: Annotated[int | None, NOT_REPORTED] = Field(
        description="Null over several days of delivery: people of days do not add up."
    )


class AdAccountStatus(ResponseModel):
    """An account of a connected platform, and how its connection stands."""

    platform: str
    account_id: str | None = Field(description="Null while the platform has not named any account.")
    account_name: str | None
    status: ConnectionStatus
    currency: str | None
    timezone: str | None = Field(
        description="Zone its days are in; they are matched to workspace days by date."
    )
    last_synced_at: datetime | None
    error: str | None


class AdsResponse(ListsNullReasons):
    """Rows by spend, totals over all of them in the currency of the workspace."""

    ads: list[AdRow]
    level: AdLevel
    platform: str | None
    date_from: date
    date_through: date
    timezone: str
    currency: str
    totals: Annotated[AdMetrics, LISTED_BY_OPERATION]
    totals_unavailable: list[UnavailableMetric]
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    platforms: list[AdAccountStatus]
    truncated: bool
    complete: bool
