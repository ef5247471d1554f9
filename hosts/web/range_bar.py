"""The bar above a page with a range: its menus, arrows and filters as values, each with the address it leads to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import (
    COMPARISON_LABELS,
    FILTER_LABELS,
    RANGE_KEYS,
    RANGE_LABELS,
    FilterKind,
    ViewState,
)

_INTERVAL_LABELS: Final = {
    "auto": "Automatic",
    "hour": "Hourly",
    "day": "Daily",
    "week": "Weekly",
    "month": "Monthly",
}
_MAX_CHIP_VALUES: Final = 3
_SHIFTED_TOGGLE: Final[Mapping[str, str]] = {"none": "previous", "previous": "none", "year": "none"}
Menu = Literal["comparison", "interval", "filters", "segments"]

FILTERS_ONLY: Final[frozenset[Menu]] = frozenset({"filters"})
"""Of a page whose numbers accept filters, and are not compared."""

FILTERS_AND_SEGMENTS: Final[frozenset[Menu]] = frozenset({"filters", "segments"})
"""Of a page whose numbers accept filters and segments, and are not compared."""

SEGMENTS_ONLY: Final[frozenset[Menu]] = frozenset({"segments"})
"""Of a page whose numbers accept a range and a segment."""

DATES_ONLY: Final[frozenset[Menu]] = frozenset()
"""Of a page whose numbers accept a range alone."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a menu.

    Attributes:
        label: its words.
        link: query string of the page with it.
        current: whether it is chosen.
        key: the key that chooses it; empty without one.
    """

    label: str
    link: str
    current: bool
    key: str = ""


@dataclass(frozen=True, slots=True)
class SegmentMenu:
    """The saved segments a page can be narrowed to.

    Attributes:
        names: id -> name, in the order of the menu; a chosen segment that is not listed is named, too.
        save_address: where a form saves the filters of the page as a segment; empty for who may not.
        list_address: of the page of all segments.
        problem: why the segments could not be read; None when they were.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    save_address: str = ""
    list_address: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter as the bar shows it.

    Attributes:
        dimension: id of the dimension.
        kind: how values are compared.
        form_values: the values a form for editing starts with, and an empty one for a further alternative.
        text: the whole filter in words.
        remove_link: query string of the page without it.
        kept: fields of a form that replaces it: everything of the state but this filter.
    """

    dimension: str
    kind: FilterKind
    form_values: tuple[str, ...]
    text: str
    remove_link: str
    kept: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RangeBar:
    """What `templates/range_bar.html` draws.

    Attributes:
        state: of the page.
        address: of the page, without a query string.
        dimensions: id of each dimension that can be filtered by -> its name.
        menus: which menus stand beside that of ranges.
        values_address: where a script reads values of a dimension; empty without suggestions.
        segments: the saved segments; None where none are offered.
    """

    state: ViewState
    address: str
    dimensions: Mapping[str, str]
    menus: frozenset[Menu] = frozenset({"comparison", "interval", "filters", "segments"})
    values_address: str = ""
    segments: SegmentMenu | None = None

    @property
    def ranges(self) -> list[Choice]:
        """Every preset."""
        return [
            Choice(
                words, self.state.link(range=preset), preset == self.state.preset, RANGE_KEYS.get(preset, "")
            )
            for preset, words in RANGE_LABELS.items()
        ]

    @property
    def comparisons(self) -> list[Choice]:
        """Every comparison; the key X switches it off and on."""
        toggled = _SHIFTED_TOGGLE[self.state.comparison]
        return [
            Choice(
                words,
                self.state.link(compare=id_),
                id_ == self.state.comparison,
                "x" if id_ == toggled else "",
            )
            for id_, words in COMPARISON_LABELS.items()
        ]

    @property
    def comparison_label(self) -> str:
        """The chosen comparison in words."""
        return COMPARISON_LABELS[self.state.comparison] if self.state.compares else COMPARISON_LABELS["none"]

    @property
    def intervals(self) -> list[Choice]:
        """The bucket sizes that suit the range."""
        return [
            Choice(_INTERVAL_LABELS[unit], self.state.link(interval=unit), unit == self.state.interval)
            for unit in self.state.offered_intervals
        ]

    @property
    def interval_label(self) -> str:
        """The chosen bucket size in words."""
        return _INTERVAL_LABELS[self.state.interval]

    @property
    def segment_choices(self) -> list[Choice]:
        """Everybody, and every saved segment."""
        saved = self.segments.names if self.segments else {}
        return [
            Choice("Everyone", self.state.link(segment=None), self.state.segment_id is None),
            *(
                Choice(name, self.state.link(segment=id_), id_ == self.state.segment_id)
                for id_, name in saved.items()
            ),
        ]

    @property
    def segment_label(self) -> str:
        """The chosen segment in words."""
        chosen = [choice.label for choice in self.segment_choices if choice.current]
        return chosen[0] if chosen else "A segment"

    @property
    def values_link(self) -> str:
        """Address and range of the values that a filter can take; empty without suggestions."""
        dates = ViewState(
            self.state.preset, self.state.first_day, self.state.last_day, self.state.today, self.state.zone
        )
        return f"{self.values_address}{dates.query_string}" if self.values_address else ""

    @property
    def kinds(self) -> Mapping[FilterKind, str]:
        """How a filter can compare -> in words."""
        return FILTER_LABELS

    @property
    def chips(self) -> list[FilterChip]:
        """The filters of the state."""
        return [self._build_chip(position) for position in range(len(self.state.filters))]

    def _build_chip(self, position: int) -> FilterChip:
        chosen = self.state.filters[position]
        shown = [label_dimension_value(chosen.dimension, value) for value in chosen.values[:_MAX_CHIP_VALUES]]
        more = len(chosen.values) - len(shown)
        values = " or ".join(shown) + (f" or {more} more" if more else "")
        name = self.dimensions.get(chosen.dimension, chosen.dimension.replace("_", " ").capitalize())
        rest = self.state.without_filter(position)
        return FilterChip(
            chosen.dimension,
            chosen.kind,
            chosen.values if chosen.kind == "contains" else (*chosen.values, ""),
            f"{name} {FILTER_LABELS[chosen.kind]} {values}",
            rest.query_string,
            tuple(rest.parameters()),
        )

    @property
    def kept_by_dates_form(self) -> list[tuple[str, str]]:
        """The fields a form for dates keeps."""
        return self.state.parameters("range", "from", "to")

    @property
    def without_filters_link(self) -> str:
        """Query string of the page without any filter."""
        return replace(self.state, filters=()).query_string
