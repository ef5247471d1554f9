"""What the overview shows, read with few requests: one for tiles and chart, one for each card, one for live visitors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from hosts.web.api_client import ApiClient, ApiResult
from hosts.web.cards.card import Answer, Card, DisplayContext, message_card, parse_instant
from hosts.web.cards.queries import build_query_card_by_columns
from hosts.web.cards.rankings import build_ranking_card
from hosts.web.cards.tiles import Tile, build_tiles
from hosts.web.cards.trends import build_trend_card
from hosts.web.charts.plot_model import Plot
from hosts.web.number_links import (
    RowFilters,
    link_numbers_to_receipts,
    link_to_receipts,
    link_trend,
    records_link_of_tile,
)
from hosts.web.overview_tabs import (
    BREAKDOWN_DIMENSIONS,
    DEFAULT_METRIC,
    TILE_METRICS,
    Tab,
    TabGroup,
    chosen_breakdown,
    chosen_metric,
    list_accepted_metrics,
    list_tab_groups,
)
from hosts.web.range_bar import Choice, RangeBar
from hosts.web.view_periods import format_days
from hosts.web.view_state import ViewState
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.wall_clock import local_date

_MAX_LINKED_ROWS: Final = 100
_MOMENT: Final = timedelta(milliseconds=1)
_MAX_RANKED: Final = 8
_MAX_LINES: Final = 5
_MAX_BUCKETS: Final = 1000


@dataclass(frozen=True, slots=True)
class TabLink:
    """A tab of a card.

    Attributes:
        link: query string of the page with the tab open.
        current: whether it is open.
    """

    label: str
    link: str
    current: bool


@dataclass(frozen=True, slots=True)
class TabbedCard:
    """A card with tabs.

    Attributes:
        id: of the group of tabs.
        details: dimension and query string of the page with all rows.
    """

    id: str
    tabs: tuple[TabLink, ...]
    card: Card
    details: tuple[str, str]


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """What the overview shows.

    Attributes:
        bar: range and filters.
        tiles: metrics with their change.
        compared_with: the compared days in words; empty without a comparison.
        chart: the chosen metric over time.
        breakdowns: what the chart can be broken down by.
        cards: rankings.
        live: active visitors of the last five minutes; None when they could not be counted.
        failure: the answer that is an error, when the totals could not be read.
        is_empty: nothing happened in the range, whatever the filters.
        explore: query string of Explore with the metric of the chart, where it can be saved as a report.
    """

    bar: RangeBar
    tiles: Sequence[Tile]
    compared_with: str
    chart: Card
    breakdowns: Sequence[Choice]
    cards: Sequence[TabbedCard]
    live: int | None
    failure: ApiResult | None
    is_empty: bool
    explore: str


@dataclass(frozen=True, slots=True)
class OverviewReader:
    """Reads the overview of one state.

    Attributes:
        client: sends the requests.
        catalog: of metrics and dimensions.
        setting: of the workspace.
        bar: with the state.
    """

    client: ApiClient
    catalog: Catalog
    setting: DisplayContext
    bar: RangeBar
    pages: str = ""

    @property
    def state(self) -> ViewState:
        """Range, comparison and filters."""
        return self.bar.state

    async def load_page(self) -> OverviewPage:
        """Everything the overview shows; what cannot be read is said where it would stand."""
        metric = chosen_metric(self.catalog, self.state)
        by = chosen_breakdown(self.catalog, self.state, metric)
        metrics = list_accepted_metrics(self.catalog, TILE_METRICS, self.state) or [DEFAULT_METRIC]
        (totals, chart, live), cards = await gather_or_cancel(
            gather_or_cancel(
                self.client.post("/query", self._totals_body(metrics)),
                self.client.post("/query", self._breakdown_body(metric, by)) if by else _no_answer(),
                self.client.get("/realtime"),
            ),
            gather_or_cancel(*(self.load_card(group) for group in list_tab_groups(self.catalog))),
        )
        data = totals.body if totals.ok else None
        return OverviewPage(
            self.bar,
            self._build_tiles(metric, data),
            _describe_compared_days(data, self.setting),
            self._chart_card(metric, totals if chart is None else chart, is_broken_down=chart is not None),
            self._breakdown_choices(metric, by),
            cards,
            live.body["active_visitors"] if live.ok else None,
            None if totals.ok else totals,
            data is not None and not self.state.is_filtered and _shows_that_nothing_happened(data["totals"]),
            self._explore_query(metric, by),
        )

    def _build_tiles(self, metric: str, data: Answer | None) -> list[Tile]:
        tiles = build_tiles(
            TILE_METRICS,
            data,
            self.setting,
            drawn=metric,
            link_of=lambda id_: self.state.link(metric=None if id_ == DEFAULT_METRIC else id_),
            explanation_of=lambda id_: replace(self.state, page_parameters=(("metric", id_),)).query_string,
        )
        return [replace(tile, records=records_link_of_tile(self.catalog, tile, self.state)) for tile in tiles]

    async def load_card(self, group: TabGroup) -> TabbedCard:
        """One card with its chosen tab."""
        tab = group.read_chosen_tab(self.state)
        ranking = await self.client.post("/query", self._ranking_body(tab))
        card = (
            build_ranking_card(
                tab.label,
                ranking.body,
                self.setting,
                empty=tab.empty,
                link_of=lambda value: self.state.with_filter(tab.dimension, value).query_string,
            )
            if ranking.ok
            else message_card(tab.label, ranking.message)
        )
        if ranking.ok:
            card = link_numbers_to_receipts(card, ranking.body, self._link_of_number)
        first = group.tabs[0]
        tabs = (
            TabLink(one.label, self.state.link(**{group.id: None if one is first else one.id}), one is tab)
            for one in group.tabs
        )
        details = replace(self.state, page_parameters=()).query_string
        return TabbedCard(group.id, tuple(tabs), card, (tab.dimension, details))

    def _totals_body(self, metrics: Sequence[str]) -> dict[str, Any]:
        return {
            "metrics": [*metrics],
            "interval": self.state.interval,
            "limit": _MAX_BUCKETS,
            **self.state.query_body_parts(),
        }

    def _breakdown_body(self, metric: str, dimension: str | None) -> dict[str, Any]:
        return {
            "metrics": [metric],
            "dimensions": [dimension],
            "interval": self.state.interval,
            "top": {"limit": _MAX_LINES, "other": True},
            **self.state.query_body_parts(with_comparison=False),
        }

    def _ranking_body(self, tab: Tab) -> dict[str, Any]:
        parts = self.state.query_body_parts(with_comparison=False)
        if tab.only_set and len(parts["filters"]) < MAX_FILTERS:
            parts["filters"] = [*parts["filters"], {"dimension": tab.dimension, "op": "is_set"}]
        metric = tab.metric or chosen_metric(self.catalog, self.state, tab.dimension)
        return {"metrics": [metric], "dimensions": [tab.dimension], "limit": _MAX_RANKED, **parts}

    def _chart_card(self, metric: str, course: ApiResult, *, is_broken_down: bool) -> Card:
        title = self.setting.label(metric)
        if not course.ok:
            return message_card(title, course.message, "lg")
        if is_broken_down:
            card = build_query_card_by_columns(title, course.body, self.setting)
            return link_numbers_to_receipts(
                replace(card, numbers=(), size="lg"), course.body, self._link_of_number
            )
        card = build_trend_card(metric, course.body, self.setting)
        return self._link_rows_to_days(link_trend(card, metric, course.body, self._link_of_number))

    def _link_of_number(self, metric: str, filters: RowFilters) -> str:
        return link_to_receipts(self.catalog, self.state, self.pages)(metric, filters) if self.pages else ""

    def _link_rows_to_days(self, card: Card) -> Card:
        """The card whose table leads from each bucket to its days; a long one stays as it is, so that pages stay small."""
        if card.table is None or not isinstance(card.figure, Plot) or len(card.table.rows) > _MAX_LINKED_ROWS:
            return card
        links = tuple(
            self.state.with_days(
                max(local_date(bucket.start, self.setting.zone), self.state.first_day),
                min(local_date(bucket.end - _MOMENT, self.setting.zone), self.state.last_day),
            ).query_string
            for bucket in card.figure.buckets
        )
        return replace(card, table=replace(card.table, links=links))

    def _explore_query(self, metric: str, dimension: str | None) -> str:
        chosen = (("metrics", metric), ("dimensions", dimension or ""), ("chart", "line"))
        return replace(self.state, page_parameters=tuple(pair for pair in chosen if pair[1])).query_string

    def _breakdown_choices(self, metric: str, current: str | None) -> list[Choice]:
        offered = [one for one in BREAKDOWN_DIMENSIONS if one in self.catalog.metrics[metric].dimensions]
        return [
            Choice("Total", self.state.link(by=None), current is None),
            *(Choice(self.setting.label(one), self.state.link(by=one), one == current) for one in offered),
        ]


def _describe_compared_days(data: Answer | None, setting: DisplayContext) -> str:
    """The compared days in words; empty without any."""
    if data is None or data["comparison"] is None:
        return ""
    covered = data["comparison"]["range"]
    first, last = (parse_instant(covered[end]).astimezone(setting.zone).date() for end in ("from", "to"))
    return format_days(first, last)


def _shows_that_nothing_happened(totals: Mapping[str, float | None]) -> bool:
    """Whether every known total is zero; an unknown one alone does not show it."""
    return totals[DEFAULT_METRIC] == 0 and not any(totals.values())


async def _no_answer() -> None:
    return None
