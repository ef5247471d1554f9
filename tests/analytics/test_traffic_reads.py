"""`/overview`, `/traffic`, `/devices`, `/locations`, `/tags` and `/realtime` on a small world."""

from datetime import timedelta

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.sources import EventSource
from service_core.analytics.reads.breakdowns import (
    DevicesQuery,
    LocationsQuery,
    TrafficQuery,
    get_devices,
    get_locations,
    get_traffic,
)
from service_core.analytics.reads.link_tags import LinkTagsQuery, get_tags
from service_core.analytics.reads.overview import OverviewQuery, get_overview
from service_core.analytics.reads.realtime import RealtimeQuery, get_realtime
from service_core.api.render import json_default
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.kernel.timestamps import format_timestamp
from service_core.testing.event_builder import EventBuilder
from service_core.testing.memory.exchange_rates import converter_without_rates

DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-02"}


@pytest.fixture
def story(caller):
    """Two local days: V1 from Google on both, V2 direct, V3 from a partner with a purchase, a bot."""
    story = EventBuilder(caller.workspace.id)
    google = {"referrer_host": "google.com", "country": "DE", "browser": "Chrome", "device_type": "desktop"}
    story.add_event("page_view", at="2026-07-01T05:00", visitor="V1", session="s1", page_path="/", **google)
    story.add_event("pageview", at="2026-07-01T05:01", visitor="V1", session="s1", page_path="/a", **google)
    story.add_event("page_view", at="2026-07-02T05:00", visitor="V1", session="s2", page_path="/", **google)
    story.add_event(
        "page_view", at="2026-07-01T06:00", visitor="V2", session="s3", page_path="/", country="US"
    )
    partner = {"referrer_host": "partner.example", "lyr": "k7m2q9xa", "attribution_source": "partner.example"}
    story.add_event("page_view", at="2026-07-02T06:00", visitor="V3", session="s4", page_path="/b", **partner)
    story.add_event("purchase", at="2026-07-02T06:05", visitor="V3", session="s4", revenue=4990, order_id="1")
    story.add_event("page_view", at="2026-07-02T07:00", visitor="B", session="s5", page_path="/", is_bot=True)
    story.add_event("page_view", at="2026-07-03T04:00", visitor="V9", session="s9", page_path="/")
    return story


@pytest.fixture
def store(story):
    class Store(MemoryEventStore):
        async def loaded(self):
            await self.append(story.events)
            return self

    return Store()


@pytest.fixture
async def metric_queries(store, queue):
    source = EventSource(await store.loaded(), store, queue, AttributionModels())
    return MetricQueries(Catalog.from_validated_definitions(CORE_METRICS, CORE_DIMENSIONS), (source,))


async def read_overview(caller, metric_queries, **parameters):
    return json_default(
        await get_overview(
            parse_query_parameters_leniently(OverviewQuery, (DAYS | parameters).items()),
            caller=caller,
            queries=metric_queries,
        )
    )


async def read_traffic(caller, metric_queries, **parameters):
    return json_default(
        await get_traffic(
            parse_query_parameters_leniently(TrafficQuery, (DAYS | parameters).items()),
            caller=caller,
            queries=metric_queries,
        )
    )


async def test_overview_has_the_shape_and_order_of_the_contract(caller, metric_queries):
    answer = await read_overview(caller, metric_queries)
    assert list(answer) == [
        "visitors_total", "pageviews_total", "sessions_total", "custom_events_total", "custom_event_counts",
        "time_series", "complete", "aggregation_level", "timezone", "range",
    ]  # fmt: skip
    assert list(answer["time_series"][0]) == [
        "timestamp", "date", "visitors", "pageviews", "sessions", "custom_events", "partial",
    ]  # fmt: skip
    assert list(answer["range"]) == ["from", "to", "timezone", "partial"]


async def test_overview_counts_visitors_page_views_sessions_and_events(caller, metric_queries):
    answer = await read_overview(caller, metric_queries)
    assert (answer["visitors_total"], answer["pageviews_total"], answer["sessions_total"]) == (3, 5, 4)
    assert (answer["custom_events_total"], answer["custom_event_counts"]) == (1, {"purchase": 1})
    assert [
        (
            format_timestamp(b["timestamp"]),
            b["visitors"],
            b["pageviews"],
            b["sessions"],
            b["custom_events"],
            b["partial"],
        )
        for b in answer["time_series"]
    ] == [("2026-07-01T04:00:00.000Z", 2, 3, 2, 0, False), ("2026-07-02T04:00:00.000Z", 2, 2, 2, 1, False)]
    assert (answer["aggregation_level"], answer["timezone"]) == ("day", "America/New_York")
    assert answer["complete"] is True


async def test_bots_are_left_out_unless_asked_for(caller, metric_queries):
    assert (await read_overview(caller, metric_queries, include_bots="true"))["visitors_total"] == 4


@pytest.mark.parametrize("name", ["aggregation", "interval", "granularity"])
async def test_bucket_size_parameter_has_three_names(caller, metric_queries, name):
    answer = await read_overview(caller, metric_queries, **{name: "week"})
    assert answer["aggregation_level"] == "week"
    assert [b["partial"] for b in answer["time_series"]] == [True]


async def test_empty_range_returns_zeros_and_a_zero_filled_series(caller, metric_queries):
    answer = await read_overview(caller, metric_queries, start_date="2026-06-01", end_date="2026-06-03")
    assert (answer["visitors_total"], answer["custom_event_counts"]) == (0, {})
    assert [b["visitors"] for b in answer["time_series"]] == [0, 0, 0]


async def test_series_ends_at_the_current_bucket(caller, metric_queries):
    answer = await read_overview(caller, metric_queries, start_date="2026-07-07", end_date="2026-07-20")
    assert len(answer["time_series"]) == 2
    assert answer["range"]["partial"]
    future = await read_overview(caller, metric_queries, start_date="2027-07-07", end_date="2027-07-20")
    assert future["time_series"] == []


async def test_response_is_incomplete_while_an_old_event_is_queued(caller, metric_queries, queue):
    queue.oldest = caller.now - timedelta(minutes=6)
    assert (await read_overview(caller, metric_queries))["complete"] is True
    assert (await read_overview(caller, metric_queries, end_date="2026-07-08"))["complete"] is False
    queue.oldest = caller.now - timedelta(minutes=4)
    assert (await read_overview(caller, metric_queries, end_date="2026-07-08"))["complete"] is True


async def test_queued_events_younger_than_5_minutes_do_not_make_the_response_incomplete(
    caller, metric_queries, queue
):
    until_now = {"start_date": "2026-07-08", "end_date": "2026-07-08"}
    for oldest, complete in ((timedelta(minutes=5), False), (timedelta(minutes=5, milliseconds=-1), True)):
        queue.oldest = caller.now - oldest
        assert (await read_overview(caller, metric_queries, **until_now))["complete"] is complete


async def test_missing_dates_return_the_specified_error(caller, metric_queries):
    with pytest.raises(BadRequest, match=r"^start_date and end_date required \(ISO 8601\)$"):
        await read_overview(caller, metric_queries, start_date="")


async def test_traffic_by_referrer_counts_each_visitor_once_per_value(caller, metric_queries):
    answer = await read_traffic(caller, metric_queries)
    assert list(answer) == ["data", "type", "metric", "total", "range", "complete"]
    assert answer["data"] == [
        {"name": "(direct)", "count": 1, "percentage": 33.33},
        {"name": "google.com", "count": 1, "percentage": 33.33},
        {"name": "partner.example", "count": 1, "percentage": 33.33},
    ]
    assert (answer["type"], answer["metric"], answer["total"]) == ("referrer", "visitors", 3)


async def test_pages_count_page_views_by_default(caller, metric_queries):
    answer = await read_traffic(caller, metric_queries, type="page")
    assert [(row["name"], row["count"]) for row in answer["data"]] == [("/", 3), ("/a", 1), ("/b", 1)]
    assert (answer["metric"], answer["total"]) == ("pageviews", 5)


async def test_smaller_limit_changes_no_row_that_remains(caller, metric_queries):
    whole = await read_traffic(caller, metric_queries, type="page")
    first = await read_traffic(caller, metric_queries, type="page", limit="1")
    assert first["data"] == whole["data"][:1]
    assert first["total"] == whole["total"]


async def test_unlisted_grouping_is_refused(caller, metric_queries):
    with pytest.raises(BadRequest) as refused:
        await read_traffic(caller, metric_queries, type="planet")
    assert (refused.value.code, refused.value.field) == ("invalid_parameter", "type")


async def test_devices_accept_device_type_for_device(caller, metric_queries):
    query = parse_query_parameters_leniently(DevicesQuery, (DAYS | {"type": "device_type"}).items())
    answer = await get_devices(query, caller=caller, queries=metric_queries)
    assert answer.type == "device"
    assert [(row.name, row.count) for row in answer.data] == [("(not set)", 2), ("desktop", 1)]


async def test_countries_have_a_name_and_a_code(caller, metric_queries):
    query = parse_query_parameters_leniently(LocationsQuery, DAYS.items())
    answer = json_default(await get_locations(query, caller=caller, queries=metric_queries))
    assert answer["data"] == [
        {"name": "(not set)", "code": None, "count": 1, "percentage": 33.33},
        {"name": "Germany", "code": "DE", "count": 1, "percentage": 33.33},
        {"name": "United States", "code": "US", "count": 1, "percentage": 33.33},
    ]


async def test_cities_name_their_country(caller, metric_queries):
    query = parse_query_parameters_leniently(LocationsQuery, (DAYS | {"type": "city"}).items())
    answer = json_default(await get_locations(query, caller=caller, queries=metric_queries))
    assert {(row["name"], row["country_code"]) for row in answer["data"]} == {
        ("(not set)", "DE"), ("(not set)", "US"), ("(not set)", None),
    }  # fmt: skip


class Unlinked:
    """A workspace without links."""

    async def links_by_tag(self, workspace_id, tags):
        return {}


async def test_tags_count_the_visitors_that_carried_them(caller, metric_queries, store, queue):
    parameters = {
        "caller": caller,
        "aggregate_reader": store,
        "freshness": EventFreshness(queue),
        "links": Unlinked(),
        "queries": metric_queries,
    }
    answer = json_default(
        await get_tags(parse_query_parameters_leniently(LinkTagsQuery, DAYS.items()), **parameters)
    )
    assert answer["data"] == [
        {"tag": "k7m2q9xa", "count": 1, "percentage": 100.0, "source": "partner.example", "link_id": None,
         "link_name": None}
    ]  # fmt: skip
    assert answer["total"] == 1


async def test_realtime_counts_the_last_minutes(caller, metric_queries, store, story):
    def ago(minutes, **columns):
        story.add_event("page_view", at=caller.now - timedelta(minutes=minutes), page_path="/now", **columns)

    ago(29, visitor="R1", session="r1")
    ago(4, visitor="R2", session="r2", country="DE")
    story.add_event(
        "purchase", at=caller.now - timedelta(minutes=1), visitor="R2", session="r2", revenue=1000
    )
    await store.append(story.events[-3:])
    answer = json_default(
        await get_realtime(
            RealtimeQuery(),
            caller=caller,
            queries=metric_queries,
            event_reader=store,
            converter=converter_without_rates(store),
        )
    )
    assert (answer["active_visitors"], answer["pageviews"], answer["events"], answer["revenue"]) == (
        1,
        2,
        3,
        10.0,
    )
    assert (len(answer["timeline"]), answer["window_minutes"], answer["timeline_minutes"]) == (30, 5, 30)
    assert [(v["visitor_id"], v["pageviews"], v["events"], v["revenue"]) for v in answer["visitors"]] == [
        ("R2", 1, 2, 10.0)
    ]
    assert sum(bucket["events"] for bucket in answer["timeline"]) == 3
    assert answer["timeline"][-1]["timestamp"] == caller.now


async def test_active_visitors_include_both_ends_of_the_5_minute_window(caller, metric_queries, store, story):
    for visitor, ago in (("now", 0), ("last", 300_000), ("gone", 300_001)):
        story.add_event("page_view", at=caller.now - timedelta(milliseconds=ago), visitor=visitor)
    await store.append(story.events[-3:])
    answer = json_default(
        await get_realtime(
            RealtimeQuery(),
            caller=caller,
            queries=metric_queries,
            event_reader=store,
            converter=converter_without_rates(store),
        )
    )
    assert answer["active_visitors"] == 2
    assert [visitor["visitor_id"] for visitor in answer["visitors"]] == ["now", "last"]


async def test_realtime_lists_the_latest_50_visitors_and_counts_all(caller, metric_queries, store, story):
    for n in range(51):
        story.add_event("page_view", at=caller.now - timedelta(seconds=n), visitor=f"N{n}")
    await store.append(story.events[-51:])
    answer = json_default(
        await get_realtime(
            RealtimeQuery(),
            caller=caller,
            queries=metric_queries,
            event_reader=store,
            converter=converter_without_rates(store),
        )
    )
    assert answer["active_visitors"] == 51
    assert [visitor["visitor_id"] for visitor in answer["visitors"]] == [f"N{n}" for n in range(50)]


async def test_foreign_currency_makes_revenue_null(caller, metric_queries, store, story):
    story.add_event(
        "purchase", at=caller.now - timedelta(minutes=1), visitor="R2", revenue=1000, currency="USD"
    )
    story.add_event(
        "purchase", at=caller.now - timedelta(minutes=2), visitor="R3", revenue=1000, currency="EUR"
    )
    await store.append(story.events[-2:])
    answer = json_default(
        await get_realtime(
            RealtimeQuery(),
            caller=caller,
            queries=metric_queries,
            event_reader=store,
            converter=converter_without_rates(store),
        )
    )
    assert answer["revenue"] is None
    assert [b["revenue"] for b in answer["timeline"][-4:]] == [0.0, None, 10.0, 0.0]
