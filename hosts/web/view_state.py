"""The state of a page with a range, as its address holds it: range, comparison, bucket size and filters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal, Protocol, cast, get_args
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from hosts.web.view_periods import format_days, shift_period
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates
from service_core.kernel.date_presets import ALL_TIME, PRESET_NAMES, resolve_preset
from service_core.kernel.wall_clock import local_date

Comparison = Literal["none", "previous", "year"]
FilterKind = Literal["is", "is_not", "contains"]

DEFAULT_RANGE: Final = "last_30_days"
DEFAULT_COMPARISON: Final[Comparison] = "previous"
AUTO_INTERVAL: Final = "auto"

RANGE_LABELS: Final[Mapping[str, str]] = {
    "today": "Today",
    "yesterday": "Yesterday",
    "last_7_days": "Last 7 days",
    "last_28_days": "Last 28 days",
    "last_30_days": "Last 30 days",
    "last_90_days": "Last 90 days",
    "this_week": "This week",
    "last_week": "Last week",
    "this_month": "This month",
    "last_month": "Last month",
    "this_quarter": "This quarter",
    "last_quarter": "Last quarter",
    "this_year": "This year",
    "last_year": "Last year",
    "last_12_months": "Last 12 months",
    ALL_TIME: "All time",
}
"""Preset of the API -> what the range menu calls it, in the order of the menu."""

RANGE_KEYS: Final[Mapping[str, str]] = {
    "today": "d",
    "yesterday": "e",
    "last_7_days": "w",
    "last_30_days": "t",
    "this_month": "m",
    "this_year": "y",
}
"""Preset -> the key that chooses it."""

COMPARISON_LABELS: Final[Mapping[Comparison, str]] = {
    "previous": "Previous period",
    "year": "Year over year",
    "none": "No comparison",
}
FILTER_LABELS: Final[Mapping[FilterKind, str]] = {"is": "is", "is_not": "is not", "contains": "contains"}
_COMPARE_FIELD: Final[Mapping[Comparison, str]] = {"previous": "previous_period", "year": "previous_year"}
_INTERVALS: Final = (("hour", 0, 14), ("day", 1, 400), ("week", 8, 1500), ("month", 32, 100_000))
"""Bucket size, and the shortest and longest range in days for which it is offered."""

_DIMENSION_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_VALUE_LENGTH: Final = 2000
_MAX_VALUES: Final = 100


class QueryArguments(Protocol):
    """The query string of a request."""

    def get(self, name: str, default: str, /) -> str:
        """The first value of a name, or the default."""

    def getlist(self, name: str, /) -> list[str]:
        """Every value of a name."""


@dataclass(frozen=True, slots=True)
class ViewFilter:
    """A condition on a dimension; several values are alternatives.

    Attributes:
        dimension: id of the catalog.
        kind: how values are compared.
        values: at least one; exactly one where the kind is ``contains``.
    """

    dimension: str
    kind: FilterKind
    values: tuple[str, ...]

    @property
    def parameters(self) -> list[str]:
        """The values of ``f`` in an address, one for each value of the filter."""
        return [f"{self.dimension}:{self.kind}:{value}" for value in self.values]

    @property
    def body(self) -> dict[str, Any]:
        """The filter in the body of `POST /query`."""
        if self.kind == "contains":
            return {"dimension": self.dimension, "op": "contains", "value": self.values[0]}
        single = len(self.values) == 1
        op = ("eq" if single else "in") if self.kind == "is" else ("neq" if single else "not_in")
        return {"dimension": self.dimension, "op": op, "value": self.values[0] if single else [*self.values]}


@dataclass(frozen=True, slots=True)
class ViewState:
    """What a page with a range shows.

    Attributes:
        preset: a preset of the API; None for dates of the reader's own.
        first_day: first local day; of all time, the earliest day an event can have.
        last_day: last local day, included.
        today: the local date.
        zone: of the workspace.
        comparison: the period the numbers are compared with.
        interval: bucket size of charts, ``auto`` by the length of the range.
        filters: joined by AND.
        segment_id: of a saved segment, whose filters apply too; None for everybody.
        segment_dimensions: dimensions of the filters of the segment, for pages that leave out metrics without them.
        page_parameters: further parameters of the page's address that its links keep.
    """

    preset: str | None
    first_day: date
    last_day: date
    today: date
    zone: ZoneInfo
    comparison: Comparison = DEFAULT_COMPARISON
    interval: str = AUTO_INTERVAL
    filters: tuple[ViewFilter, ...] = ()
    segment_id: str | None = None
    segment_dimensions: tuple[str, ...] = ()
    page_parameters: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The range as the menu names it, or its dates."""
        return self.dates_label if self.preset is None else RANGE_LABELS.get(self.preset, self.dates_label)

    @property
    def dates_label(self) -> str:
        """First and last day in words: ``1 to 7 Jul 2026``."""
        return format_days(self.first_day, self.last_day)

    @property
    def offered_intervals(self) -> tuple[str, ...]:
        """The bucket sizes that suit the length of the range, ``auto`` first."""
        if self.preset == ALL_TIME:
            return AUTO_INTERVAL, "week", "month"
        days = (self.last_day - self.first_day).days + 1
        return (AUTO_INTERVAL, *(unit for unit, least, most in _INTERVALS if least <= days <= most))

    def date_parameters(self) -> dict[str, str]:
        """``start_date`` and ``end_date`` of reads; both days are included."""
        return {"start_date": self.first_day.isoformat(), "end_date": self.last_day.isoformat()}

    def range_and_segment_parameters(self) -> dict[str, str]:
        """The dates of reads over events, and ``segment_id`` if a segment is chosen."""
        return self.date_parameters() | ({"segment_id": self.segment_id} if self.segment_id else {})

    def query_body_parts(self, *, with_comparison: bool = True) -> dict[str, Any]:
        """``date_range``, ``filters``, and if chosen ``segment_id`` and ``compare`` of `POST /query`."""
        dates = {"from": self.first_day.isoformat(), "to": self.last_day.isoformat()}
        parts: dict[str, Any] = {
            "date_range": {"preset": self.preset} if self.preset else dates,
            "filters": [one.body for one in self.filters],
        }
        if self.segment_id:
            parts["segment_id"] = self.segment_id
        if with_comparison and self.compares:
            parts["compare"] = _COMPARE_FIELD[self.comparison]
        return parts

    @property
    def is_filtered(self) -> bool:
        """Whether filters or a segment narrow the numbers."""
        return bool(self.filters or self.segment_id)

    @property
    def compares(self) -> bool:
        """Whether there is a period to compare with: all time has none."""
        return self.comparison != "none" and self.preset != ALL_TIME

    def parameters(self, *without: str) -> list[tuple[str, str]]:
        """Names and values of the address, without those that are the default.

        Args:
            without: names to leave out, for a form that has fields of these names.
        """
        dates = [("from", self.first_day.isoformat()), ("to", self.last_day.isoformat())]
        chosen = [("range", self.preset)] if self.preset else dates
        pairs = [
            *(pair for pair in chosen if pair != ("range", DEFAULT_RANGE)),
            *([("compare", self.comparison)] if self.comparison != DEFAULT_COMPARISON else []),
            *([("interval", self.interval)] if self.interval != AUTO_INTERVAL else []),
            *(("f", parameter) for one in self.filters for parameter in one.parameters),
            *([("segment", self.segment_id)] if self.segment_id else []),
            *self.page_parameters,
        ]
        return [(name, value) for name, value in pairs if name not in without]

    def link(self, **changes: str | None) -> str:
        """The query string of the state with changes; it begins with ``?``.

        Args:
            changes: ``range``, ``compare``, ``interval``, ``segment`` or parameters of the page; None removes one.
        """
        state = self
        if preset := changes.pop("range", None):
            state = state.with_preset(preset)
        if compared := changes.pop("compare", None):
            state = replace(state, comparison=cast(Comparison, compared))
        if interval := changes.pop("interval", None):
            state = replace(state, interval=interval)
        if "segment" in changes:
            state = replace(state, segment_id=changes.pop("segment"))
        kept = {name: value for name, value in (dict(state.page_parameters) | changes).items() if value}
        state = replace(state, page_parameters=tuple((name, str(value)) for name, value in kept.items()))
        return state.query_string

    @property
    def query_string(self) -> str:
        """The state as the query string of an address; it begins with ``?``."""
        return f"?{urlencode(self.parameters())}"

    @property
    def selection_query(self) -> str:
        """The query string without a range, for a script that adds the days selected on a chart."""
        return urlencode(self.parameters("range", "from", "to"))

    def with_preset(self, preset: str) -> "ViewState":
        """The state with another preset range."""
        first, last = _days_of_preset(preset, self.today)
        return _with_offered_interval(replace(self, preset=preset, first_day=first, last_day=last))

    def with_days(self, first_day: date, last_day: date) -> "ViewState":
        """The state with a range of these days, both included."""
        return _with_offered_interval(replace(self, preset=None, first_day=first_day, last_day=last_day))

    def with_filter(self, dimension: str, value: str, kind: FilterKind = "is") -> "ViewState":
        """The state with one more condition; a value of a dimension that is filtered alike replaces its values."""
        others = [one for one in self.filters if (one.dimension, one.kind) != (dimension, kind)]
        return replace(self, filters=(*others, ViewFilter(dimension, kind, (value,))))

    def filter_link(self, dimension: str, value: str) -> str:
        """The query string of the state with one more condition; it begins with ``?``."""
        return self.with_filter(dimension, value).query_string

    @property
    def for_everybody(self) -> "ViewState":
        """The state without filters and segment, for links from numbers that neither narrows."""
        return replace(self, filters=(), segment_id=None, segment_dimensions=())

    def without_filter(self, position: int) -> "ViewState":
        """The state without the filter at a position."""
        kept = (one for index, one in enumerate(self.filters) if index != position)
        return replace(self, filters=tuple(kept))

    @property
    def previous(self) -> "ViewState | None":
        """The state with the period before; None before all time."""
        return self._with_adjacent_period(-1)

    @property
    def next(self) -> "ViewState | None":
        """The state with the period after; None when it lies ahead."""
        return self._with_adjacent_period(1)

    def _with_adjacent_period(self, direction: int) -> "ViewState | None":
        if self.preset == ALL_TIME:
            return None
        first, last = shift_period(self.preset, self.first_day, self.last_day, direction)
        if first > self.today or first < EARLIEST_EVENT_TIME.date():
            return None
        return self.with_days(first, min(last, self.today) if direction > 0 else last)


def today_view_state(zone: ZoneInfo, now: datetime) -> ViewState:
    """The state of the current local day, for links of a page that has no range."""
    today = local_date(now, zone)
    return ViewState("today", today, today, today, zone)


def read_view_state(
    args: QueryArguments, zone: ZoneInfo, now: datetime, page_parameters: Sequence[str] = ()
) -> ViewState:
    """The state of a page; what an address says wrongly counts as not said.

    Args:
        args: the query string of the request.
        zone: of the workspace.
        now: time of the request.
        page_parameters: names of further parameters that the page's links keep.
    """
    today = local_date(now, zone)
    preset, days = _read_range(args, today)
    compared, interval = args.get("compare", ""), args.get("interval", "")
    kept = ((name, replace_nul_and_surrogates(args.get(name, ""))) for name in page_parameters)
    state = ViewState(
        preset,
        *days,
        today,
        zone,
        comparison=cast(Comparison, compared) if compared in get_args(Comparison) else DEFAULT_COMPARISON,
        interval=interval,
        filters=_read_filters(args),
        segment_id=_read_id(args.get("segment", "")),
        page_parameters=tuple(pair for pair in kept if pair[1]),
    )
    return _with_offered_interval(state)


def _read_range(args: QueryArguments, today: date) -> tuple[str | None, tuple[date, date]]:
    """The preset and its days, or None and the dates that were given; dates win."""
    first, last = _read_date(args.get("from", "")), _read_date(args.get("to", ""))
    if first is not None and last is not None and first <= last:
        return None, (first, last)
    preset = args.get("range", "")
    preset = preset if preset in PRESET_NAMES else DEFAULT_RANGE
    return preset, _days_of_preset(preset, today)


def _days_of_preset(preset: str, today: date) -> tuple[date, date]:
    days = resolve_preset(preset, today, EARLIEST_EVENT_TIME.date())
    return (today - timedelta(days=29), today) if days is None else days


def _read_date(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if EARLIEST_EVENT_TIME.year <= day.year < EARLIEST_EVENT_TIME.year + 200 else None


def _read_id(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _read_filters(args: QueryArguments) -> tuple[ViewFilter, ...]:
    """The filters of an address, and the one of a form without script, which has fields of its own."""
    dimension, kind = args.get("filter_dimension", ""), args.get("filter_kind", "")
    added = (f"{dimension}:{kind}:{value.strip()}" for value in args.getlist("filter_value"))
    return merge_filter_parameters([*args.getlist("f"), *added])


def merge_filter_parameters(parameters: Iterable[str]) -> tuple[ViewFilter, ...]:
    """The filters that values of ``f`` describe, those of one dimension and kind merged; at most ten."""
    values: dict[tuple[str, FilterKind, str], list[str]] = {}
    for parameter in parameters:
        dimension, _, rest = replace_nul_and_surrogates(parameter).partition(":")
        kind, _, value = rest.partition(":")
        if kind not in FILTER_LABELS or not _DIMENSION_ID.fullmatch(dimension):
            continue
        if not 0 < len(value) <= _MAX_VALUE_LENGTH:
            continue
        key = dimension, cast(FilterKind, kind), value if kind == "contains" else ""
        known = values.setdefault(key, [])
        if value not in known and len(known) < _MAX_VALUES:
            known.append(value)
    merged = (ViewFilter(dimension, kind, tuple(some)) for (dimension, kind, _), some in values.items())
    return tuple(merged)[:MAX_FILTERS]


def _with_offered_interval(state: ViewState) -> ViewState:
    """The state with an interval that suits its range."""
    return state if state.interval in state.offered_intervals else replace(state, interval=AUTO_INTERVAL)
