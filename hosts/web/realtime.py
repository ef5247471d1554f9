"""The last 30 minutes of a workspace, drawn again by a script every few seconds."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from quart import Response, render_template, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer, Card, DisplayContext, Number, Table, message_card, parse_instant
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.rankings import NO_PLACES
from hosts.web.charts.plot import build_plot
from hosts.web.charts.plot_model import Bucket, Series
from hosts.web.charts.proportion_charts import Row, build_bars_relative_to_longest
from hosts.web.events import EventLine, build_event_line
from hosts.web.number_links import LinkOf, RowFilters, link_to_receipts
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import ViewState, today_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.measures import NOT_SET
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.reads.realtime import TIMELINE_MINUTES, WINDOW_MINUTES
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.timestamps import format_timestamp

_RANKINGS: Final = (("page_path", "Pages"), ("attribution_source", "Sources"), ("country", "Places"))
_MINUTE: Final = timedelta(minutes=1)
_MAX_RANKED: Final = 8
_MAX_EVENTS: Final = 20
_MAX_COMBINATIONS: Final = 1000
_TRUNCATED_NOTE: Final = f"Only the {_MAX_COMBINATIONS:,} most frequent combinations are counted."


@dataclass(frozen=True, slots=True)
class RealtimePage:
    """What the page shows.

    Attributes:
        totals: active visitors and what happened in 30 minutes.
        chart: page views by minute.
        cards: page views by page, source and place.
        lines: the newest events.
        events_failure: why they could not be read.
        updated: when, by the wall clock of the workspace.
    """

    totals: tuple[Number, ...]
    chart: Card
    cards: tuple[Card, ...]
    lines: tuple[EventLine, ...]
    events_failure: str | None
    updated: str


@dataclass(frozen=True, slots=True)
class SpanReceipts:
    """Addresses of receipts over some minutes."""

    catalog: Catalog
    state: ViewState
    pages: str

    def of_span(self, start: str, end: str, metric: str, filters: RowFilters = ()) -> str:
        """The receipt of a metric from a start to an exclusive end."""
        return link_to_receipts(self.catalog, self.state, self.pages, start=start, end=end)(metric, filters)


async def render_realtime(context: PageContext, public_id: str) -> Response:
    """The page; with ``part=live`` in the query only what changes."""
    view = await open_workspace_view(context, public_id)
    setting = build_display_context(context.component(Catalog), view.workspace)
    state = today_view_state(view.workspace.zone, view.caller.now)
    overview = f"{context.base}/w/{public_id}"
    page = await _load_page(view, setting, state, overview)
    if request.args.get("part") == "live":
        body = await render_template(
            "realtime_live.html", base=context.base, workspace=view.workspace, page=page, state=state
        )
        return Response(body, 200, uncached_page_headers(), mimetype="text/html")
    return await view.render("realtime.html", page=page, state=state)


async def _load_page(
    view: WorkspaceView, setting: DisplayContext, state: ViewState, overview: str
) -> RealtimePage:
    """Three requests: counts by minute, page views by page, source and place together, and the newest events."""
    start = format_timestamp(view.caller.now - timedelta(minutes=TIMELINE_MINUTES))
    end = format_timestamp(view.caller.now)
    counted, ranked, listed = await gather_or_cancel(
        view.get("/realtime"),
        view.post("/query", _ranking_body(start, end)),
        view.get("/events", start_date=start, end_date=end, limit=str(_MAX_EVENTS)),
    )
    receipts = SpanReceipts(view.context.component(Catalog), state, overview)
    return RealtimePage(
        _build_visitor_and_revenue_numbers(counted.body, setting, receipts, view.caller.now)
        if counted.ok
        else (),
        _timeline_card(counted.body, setting, receipts)
        if counted.ok
        else message_card("By minute", counted.message, "lg"),
        _ranking_cards(ranked, state, overview, partial(receipts.of_span, start, _after(view.caller.now))),
        tuple(build_event_line(row, setting.zone) for row in listed.data.get("events", [])),
        None if listed.ok else listed.message,
        f"{view.caller.now.astimezone(setting.zone):%H:%M:%S}",
    )


def _ranking_body(start: str, end: str) -> dict[str, Any]:
    return {
        "metrics": ["pageviews"],
        "dimensions": [dimension for dimension, _ in _RANKINGS],
        "date_range": {"from": start, "to": end},
        "limit": _MAX_COMBINATIONS,
    }


def _after(now: datetime) -> str:
    """The end of a range that an event of this instant belongs to."""
    return format_timestamp(now + timedelta(milliseconds=1))


def _build_visitor_and_revenue_numbers(
    counts: Answer, setting: DisplayContext, receipts: SpanReceipts, now: datetime
) -> tuple[Number, ...]:
    money = setting.format_for("currency")
    whole = setting.format_for("count")
    minutes = [parse_instant(point["timestamp"]) for point in counts["timeline"]]
    first, end = format_timestamp(minutes[0]), format_timestamp(minutes[-1] + _MINUTE)

    def over_half_an_hour(label: str, metric: str) -> Number:
        link = receipts.of_span(first, end, metric) if counts[metric] else ""
        return Number(label, whole.format_in_full_or_dash(counts[metric]), link=link)

    return (
        Number(
            "Visitors in the last 5 minutes",
            whole.format_in_full_or_dash(counts["active_visitors"]),
            link=receipts.of_span(
                format_timestamp(now - timedelta(minutes=WINDOW_MINUTES)), _after(now), "visitors"
            )
            if counts["active_visitors"]
            else "",
        ),
        over_half_an_hour("Page views in 30 minutes", "pageviews"),
        over_half_an_hour("Events in 30 minutes", "events"),
        Number(
            "Revenue in 30 minutes",
            money.format_in_full_or_dash(counts["revenue"]),
            unknown=counts["revenue"] is None,
            link=receipts.of_span(first, end, "revenue") if counts["revenue"] else "",
        ),
    )


def _timeline_card(counts: Answer, setting: DisplayContext, receipts: SpanReceipts) -> Card:
    """Page views and visitors by minute."""
    points = counts["timeline"]
    starts = [parse_instant(point["timestamp"]).astimezone(setting.zone) for point in points]
    buckets = [Bucket(f"{start:%H:%M}", f"{start:%H:%M}", start == starts[-1]) for start in starts]
    columns = (("pageviews", "Page views"), ("visitors", "Visitors"))
    rows = tuple(
        (bucket.title, *(f"{point[name]:,}" for name, _ in columns))
        for bucket, point in zip(buckets, points, strict=True)
    )
    picture = build_plot(
        "Page views by minute",
        buckets,
        [Series("Page views", tuple(point["pageviews"] for point in points))],
        unit=setting.format_for("count"),
        style="bar",
    )
    head = ("Minute", *(label for _, label in columns))
    links = tuple(
        tuple(
            receipts.of_span(format_timestamp(start), format_timestamp(start + _MINUTE), name)
            if point[name]
            else ""
            for name, _ in columns
        )
        for start, point in zip(starts, points, strict=True)
    )
    table = Table(head, rows, number_links=links)
    return Card("Page views by minute", "plot", picture, table=table, size="lg")


def _ranking_cards(
    ranked: ApiResult, state: ViewState, overview: str, records_of: LinkOf
) -> tuple[Card, ...]:
    if not ranked.ok:
        return tuple(message_card(title, ranked.message) for _, title in _RANKINGS)
    cards = (
        _link_bars(_ranking_card(title, counted, dimension, state, overview), counted, dimension, records_of)
        for dimension, title in _RANKINGS
        for counted in (_sum_pageviews_by(ranked.body, dimension),)
    )
    notes = (_TRUNCATED_NOTE,) if ranked.body["meta"]["truncated"] else ()
    return tuple(replace(card, notes=notes) for card in cards)


def _sum_pageviews_by(data: Answer, dimension: str) -> Counter[str]:
    """Page views of each value; they add up, as every page view has one page, source and place."""
    counted: Counter[str] = Counter()
    for row in data["rows"]:
        if row["pageviews"]:
            counted[NOT_SET if row[dimension] is None else str(row[dimension])] += row["pageviews"]
    return counted


def _ranking_card(title: str, counted: Counter[str], dimension: str, state: ViewState, overview: str) -> Card:
    if not counted:
        return message_card(title, "No page views in the last 30 minutes.")
    if dimension == "country" and set(counted) == {NOT_SET}:
        return message_card(title, NO_PLACES)
    largest, total = counted.most_common(_MAX_RANKED), counted.total()
    bars = build_bars_relative_to_longest(
        [
            (label_dimension_value(dimension, value), count, f"{count:,}", f"{100 * count / total:.1f} %")
            for value, count in largest
        ]
    )
    return Card(
        title,
        "rows",
        tuple(
            Row(
                bar.name,
                bar.text,
                bar.share,
                bar.width,
                overview + state.with_filter(dimension, value).query_string,
            )
            for bar, (value, _) in zip(bars, largest, strict=True)
        ),
    )


def _link_bars(card: Card, counted: Counter[str], dimension: str, records_of: LinkOf) -> Card:
    if card.shape != "rows":
        return card
    values = (value for value, _ in counted.most_common(_MAX_RANKED))
    return replace(
        card,
        figure=tuple(
            replace(bar, records=records_of("pageviews", [(dimension, value)]))
            for bar, value in zip(card.figure, values, strict=True)
        ),
    )


PAGES: Final = (Page("GET /w/<public_id>/realtime", render_realtime),)
