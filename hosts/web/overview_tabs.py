"""The cards of the overview: their tabs, and the dimension each tab ranks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from hosts.web.view_state import ViewState
from service_core.analytics.query.catalog import Catalog

DEFAULT_METRIC: Final = "visitors"
TILE_METRICS: Final = (
    DEFAULT_METRIC, "sessions", "pageviews", "bounce_rate", "avg_session_duration", "conversions", "revenue",
)  # fmt: skip
"""Metrics of the tiles, in their order."""

BREAKDOWN_DIMENSIONS: Final = ("channel", "attribution_source", "country", "device_type", "browser")
"""Dimensions the chart can be broken down by."""


@dataclass(frozen=True, slots=True)
class Tab:
    """A ranking of one dimension.

    Attributes:
        id: in the address.
        label: its title.
        dimension: what it ranks.
        empty: what it says without any row.
        metric: what it ranks by; empty for the metric the reader chose.
        only_set: leaves out what has no value, where that is nearly everything.
    """

    id: str
    label: str
    dimension: str
    empty: str = "No data in this range."
    metric: str = ""
    only_set: bool = False


@dataclass(frozen=True, slots=True)
class TabGroup:
    """A card with tabs; its id is the parameter of the address that names the chosen one."""

    id: str
    tabs: tuple[Tab, ...]

    def read_chosen_tab(self, state: ViewState) -> Tab:
        """The tab that the address names, else the first."""
        wanted = dict(state.page_parameters).get(self.id, "")
        return next((tab for tab in self.tabs if tab.id == wanted), self.tabs[0])


_GROUPS: Final = (
    TabGroup(
        "sources",
        (
            Tab("channels", "Channels", "channel"),
            Tab("sources", "Sources", "attribution_source"),
            Tab(
                "campaigns",
                "Campaigns",
                "utm_campaign",
                "No visits with a campaign in this range.",
                only_set=True,
            ),
        ),
    ),
    TabGroup(
        "pages",
        (
            Tab("pages", "Pages", "page_path"),
            Tab("entry", "Entry pages", "landing_page"),
            Tab("exit", "Exit pages", "exit_page"),
        ),
    ),
    TabGroup(
        "places",
        (
            Tab("countries", "Countries", "country"),
            Tab("regions", "Regions", "region"),
            Tab("cities", "Cities", "city"),
        ),
    ),
    TabGroup(
        "devices",
        (
            Tab("devices", "Devices", "device_type"),
            Tab("browsers", "Browsers", "browser"),
            Tab("systems", "Systems", "os"),
            Tab("screens", "Screens", "screen_class"),
            Tab("languages", "Languages", "language"),
        ),
    ),
    TabGroup(
        "goals", (Tab("goals", "Goals", "event_name", "No conversions in this range.", metric="conversions"),)
    ),
)
PAGE_PARAMETERS: Final = ("metric", "by", *(group.id for group in _GROUPS))
"""Parameters of the overview's address besides those of a view state."""


def list_tab_groups(catalog: Catalog) -> list[TabGroup]:
    """The cards of the overview; a tab whose dimension is not in the catalog is left out."""
    known = (
        replace(group, tabs=tuple(tab for tab in group.tabs if tab.dimension in catalog.dimensions))
        for group in _GROUPS
    )
    return [group for group in known if group.tabs]


def find_tab(catalog: Catalog, dimension: str) -> Tab | None:
    """The tab of a dimension."""
    tabs = (tab for group in list_tab_groups(catalog) for tab in group.tabs)
    return next((tab for tab in tabs if tab.dimension == dimension), None)


def filterable_dimensions(catalog: Catalog) -> Mapping[str, str]:
    """Id and label of every dimension that visitors can be filtered by."""
    accepted = catalog.metrics[DEFAULT_METRIC].dimensions
    return {id_: one.label for id_, one in catalog.dimensions.items() if id_ in accepted}


def list_accepted_metrics(
    catalog: Catalog, metric_ids: Iterable[str], state: ViewState, *dimensions: str
) -> list[str]:
    """Those of the metrics that accept dimensions, and the filters and the segment of a state."""
    needed = {*dimensions, *(one.dimension for one in state.filters), *state.segment_dimensions}
    return [id_ for id_ in metric_ids if all(map(catalog.metrics[id_].accepts, needed))]


def chosen_metric(catalog: Catalog, state: ViewState, *dimensions: str) -> str:
    """The metric that the address names if it accepts filters and dimensions, else visitors."""
    wanted = dict(state.page_parameters).get("metric", "")
    known = [wanted] if wanted in TILE_METRICS else []
    return next(iter(list_accepted_metrics(catalog, known, state, *dimensions)), DEFAULT_METRIC)


def chosen_breakdown(catalog: Catalog, state: ViewState, metric: str) -> str | None:
    """The dimension the chart is broken down by, if the address names one that the metric accepts."""
    wanted = dict(state.page_parameters).get("by", "")
    if wanted not in BREAKDOWN_DIMENSIONS or wanted not in catalog.metrics[metric].dimensions:
        return None
    return wanted
