"""What the Explore page asks: metrics, dimensions and a chart kind of its address, and the query they make."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from quart import request

from hosts.web.cards.card import Answer
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates

MAX_METRICS: Final = 10
MAX_DIMENSIONS: Final = 3
MAX_SERIES: Final = 5
"""Groups with a line of their own; the rest is one line."""

MAX_ROWS: Final = 100
MAX_DOWNLOADED_ROWS: Final = 1000
DEFAULT_METRICS: Final = ("visitors", "pageviews")

CHART_LABELS: Final[Mapping[str, str]] = {
    "line": "Line over time",
    "area": "Area over time",
    "bar": "Columns over time",
    "list": "Bar list",
    "table": "Table",
    "number": "Numbers",
}
"""Chart kind -> its name. Those over time send an interval."""

_CHARTS_OVER_TIME: Final = frozenset({"line", "area", "bar"})


@dataclass(frozen=True, slots=True)
class ExploreQuery:
    """The state of the Explore page.

    Attributes:
        state: range, comparison, bucket size and filters.
        metrics: ids of the catalog.
        dimensions: ids of the catalog.
        chart: a key of `CHART_LABELS`.
    """

    state: ViewState
    metrics: tuple[str, ...]
    dimensions: tuple[str, ...]
    chart: str

    @property
    def is_over_time(self) -> bool:
        """Whether the chart has a time axis."""
        return self.chart in _CHARTS_OVER_TIME

    @property
    def is_trend_of_one_metric(self) -> bool:
        """Whether the chart is one line, which has room for the line of the compared period."""
        return self.chart in {"line", "area"} and len(self.metrics) == 1 and not self.dimensions

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """The dimensions the chart shows: numbers have none."""
        return () if self.chart == "number" else self.dimensions

    @property
    def plan(self) -> dict[str, Any]:
        """The query without range and comparison, as a report stores it."""
        plan: dict[str, Any] = {"metrics": [*self.metrics]}
        if self.grouped_by:
            plan["dimensions"] = [*self.grouped_by]
        if self.state.filters:
            plan["filters"] = [one.body for one in self.state.filters]
        if self.state.segment_id:
            plan["segment_id"] = self.state.segment_id
        if self.is_over_time:
            plan["interval"] = self.state.interval
            if self.grouped_by:
                plan["top"] = {"limit": MAX_SERIES, "other": len(self.grouped_by) == 1}
        return plan

    @property
    def date_range(self) -> dict[str, str]:
        """The range as a request and a report name it."""
        date_range: dict[str, str] = self.state.query_body_parts()["date_range"]
        return date_range

    def request_body(self) -> dict[str, Any]:
        """Returns the body of `POST /query`."""
        parts = self.state.query_body_parts()
        body = {**self.plan, "date_range": parts["date_range"]}
        if "compare" in parts:
            body["compare"] = parts["compare"]
        if self.grouped_by and not self.is_over_time:
            body["limit"] = MAX_ROWS
        return body

    def download_body(self) -> dict[str, Any]:
        """Returns the body of a download: as many rows as one answer has, without the compared range."""
        body = {name: value for name, value in self.request_body().items() if name != "compare"}
        return body if "top" in body else body | {"limit": MAX_DOWNLOADED_ROWS}


def read_explore_query(view: WorkspaceView, catalog: Answer) -> ExploreQuery:
    """Returns the state in the address; ids that the catalog lacks count as not said.

    Args:
        view: the workspace.
        catalog: the answer of `GET /metrics/catalog`.
    """
    state = read_view_state(request.args, view.workspace.zone, view.caller.now)
    metrics = _read_known_ids("metrics", catalog["metrics"], MAX_METRICS) or DEFAULT_METRICS
    dimensions = _read_known_ids("dimensions", catalog["dimensions"], MAX_DIMENSIONS)
    chart = request.args.get("chart", "")
    chart = chart if chart in CHART_LABELS else "line"
    if chart == "list" and len(dimensions) != 1:
        chart = "table"
    kept = {"metrics": ",".join(metrics), "dimensions": ",".join(dimensions), "chart": chart}
    pairs = tuple((name, value) for name, value in kept.items() if value)
    return ExploreQuery(replace(state, page_parameters=pairs), metrics, dimensions, chart)


def accepted_dimension_ids(catalog: Answer, metric_ids: Iterable[str]) -> set[str]:
    """Returns the dimensions that every one of these metrics accepts."""
    accepted = {metric["id"]: set(metric["dimensions"]) for metric in catalog["metrics"]}
    return set.intersection(*(accepted[id_] for id_ in metric_ids))


def _read_known_ids(name: str, entries: Sequence[Answer], most: int) -> tuple[str, ...]:
    known = {entry["id"] for entry in entries}
    sent = (
        part for text in request.args.getlist(name) for part in replace_nul_and_surrogates(text).split(",")
    )
    return tuple(dict.fromkeys(part for part in sent if part in known))[:most]
