"""`/events`, `/event-names`, `/events/properties`, `/workspace`, `/usage` and `/context`."""

import json

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.reads.context import get_context
from service_core.analytics.reads.event_definitions import (
    PropertiesQuery,
    get_event_names,
    get_event_properties,
    redact_or_truncate_sample,
)
from service_core.analytics.reads.event_list import EventsQuery, get_events
from service_core.analytics.reads.usage import get_usage, get_workspace
from service_core.api.render import json_default
from service_core.ingestion.models import WIRE_COLUMNS
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.kernel.row_selection import RowSelection
from service_core.testing.event_builder import EventBuilder, utc_instant
from service_core.testing.memory.connections import MemoryConnections
from service_core.testing.memory.postbacks import NoPostbacks

DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-02"}


@pytest.fixture
def story(caller):
    """Five views of plans, a purchase in yen, a test event and a bot."""
    story = EventBuilder(caller.workspace.id)
    for n in range(5):
        data = {"plan": "pro" if n % 2 else "free", "email_hint": "a@b", "n": n}
        story.add_event("view_plan", at=f"2026-07-01T1{n}:00", visitor=f"V{n}", event_data=data, country="DE")
    story.add_event(
        "purchase", at="2026-07-02T10:00", visitor="V1", revenue=1200, currency="JPY", ip="203.0.113.7"
    )
    story.add_event("page_view", at="2026-07-02T11:00", visitor="V1", is_test=True)
    story.add_event(
        "page_view", at="2026-07-02T12:00", visitor="B", is_bot=True, bot_reasons=("known_agent",)
    )
    story.add_event("session_start", at="2026-07-02T13:00", visitor="V2")
    return story


@pytest.fixture
async def store(story):
    store = MemoryEventStore()
    await store.append(story.events)
    return store


@pytest.fixture
def read_events(caller, store, queue):
    async def read_events(**parameters):
        query = parse_query_parameters_leniently(EventsQuery, (DAYS | parameters).items())
        return json_default(
            await get_events(
                query,
                caller=caller,
                event_reader=store,
                freshness=EventFreshness(queue),
                queries=MetricQueries(Catalog(), ()),
            )
        )

    return read_events


async def test_rows_have_the_columns_of_the_contract_in_order(read_events):
    answer = await read_events()
    assert list(answer) == [
        "events", "total_count", "total_count_is_lower_bound", "has_more", "limit", "offset", "range", "complete",
    ]  # fmt: skip
    assert tuple(answer["events"][0]) == WIRE_COLUMNS
    assert "ip" not in answer["events"][0]


async def test_rows_are_newest_first_and_money_is_in_major_units(read_events):
    names = [(row["event_name"], row["revenue"], row["currency"]) for row in (await read_events())["events"]]
    assert names[:3] == [
        ("session_start", None, None),
        ("page_view", None, None),
        ("purchase", 1200.0, "JPY"),
    ]


async def test_pages_together_equal_one_large_page(read_events):
    whole = (await read_events())["events"]
    pages = [await read_events(limit="3", offset=str(offset)) for offset in (0, 3, 6)]
    assert [row for page in pages for row in page["events"]] == whole
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert {page["total_count"] for page in pages} == {8}


async def test_property_filters_give_a_lower_bound_before_the_last_page(read_events):
    filters = json.dumps([{"key": "plan", "value": "free"}])
    first = await read_events(property_filters=filters, limit="2")
    assert (first["total_count"], first["total_count_is_lower_bound"], first["has_more"]) == (2, True, True)
    last = await read_events(property_filters=filters, limit="2", offset="2")
    assert (last["total_count"], last["total_count_is_lower_bound"], last["has_more"]) == (3, False, False)
    exact = await read_events(property_filters=filters, limit="2", include_total="true")
    assert (exact["total_count"], exact["total_count_is_lower_bound"]) == (3, False)


async def test_page_after_the_last_one_still_counts_exactly(read_events):
    beyond = await read_events(property_filters='{"plan": "free"}', offset="50")
    assert (beyond["total_count"], beyond["total_count_is_lower_bound"], beyond["has_more"]) == (
        3,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"event_name": "purchase,page_view"}, 2),
        ({"visitor_id": "V1"}, 3),
        ({"country": "DE"}, 5),
        ({"country": "(not set)"}, 3),
        ({"include_bots": "1"}, 9),
        ({"property_filters": '{"plan": "pro", "n": 3}'}, 1),
        ({"property_filters": '[{"key": "n", "op": "between", "value": [1, 3]}]'}, 3),
        ({"property_filters": '[{"key": "plan", "op": "is_not_set"}]'}, 3),
    ],
)
async def test_filters_select_the_expected_events(read_events, parameters, found):
    assert (await read_events(**parameters))["total_count"] == found


@pytest.mark.parametrize(
    "sent",
    ["plan=pro", "[]", "3", '[{"op": "eq", "value": 1}]', '[{"key": "a", "op": "like", "value": 1}]', '{"a": [1]}',
     '{"a": null}', '{"a": NaN}', '{"a": 1e999}', '{"a": 99999999999999999999}', '{"a": "\\ud800"}', "[" * 100_000,
     json.dumps([{"key": "a", "value": 1}] * 11), '[{"key": "a", "value": 1, "extra": 1}]'],
)  # fmt: skip
async def test_property_filters_that_do_not_parse_are_refused(read_events, sent):
    with pytest.raises(BadRequest) as refused:
        await read_events(property_filters=sent)
    assert refused.value.code == "invalid_property_filters"


async def test_limits_are_clamped_and_echoed(read_events):
    assert (await read_events(limit="5000"))["limit"] == 1000
    assert (await read_events(limit="0", offset="-3"))["limit"] == 1
    assert (await read_events(limit="many"))["limit"] == 100


async def test_event_names_of_the_last_30_days_most_frequent_first(caller, store, queue):
    answer = json_default(
        await get_event_names(
            RowSelection(),
            caller=caller,
            event_reader=store,
            freshness=EventFreshness(queue),
            connections=MemoryConnections(),
            providers=InstalledProviders(),
        )
    )
    assert list(answer) == ["event_names", "events", "integrations", "complete"]
    assert answer["event_names"] == ["view_plan", "page_view", "purchase", "session_start"]
    assert list(answer["events"][0]) == ["name", "count", "first_seen_at", "last_seen_at"]
    assert answer["events"][0]["count"] == 5


async def read_properties(query, caller, store, queue):
    queries = MetricQueries(Catalog(), ())
    return await get_event_properties(
        query, caller=caller, event_reader=store, freshness=EventFreshness(queue), queries=queries
    )


async def test_properties_list_custom_keys_with_type_count_and_sample(caller, store, queue):
    query = parse_query_parameters_leniently(PropertiesQuery, [("event_name", "view_plan")])
    answer = json_default(await read_properties(query, caller, store, queue))
    assert answer["events"] == [
        {
            "event_name": "view_plan",
            "properties": [
                {"key": "email_hint", "count": 5, "distinct_count": 1, "sample": "***", "type": "string"},
                {"key": "n", "count": 5, "distinct_count": 5, "sample": 4, "type": "number"},
                {"key": "plan", "count": 5, "distinct_count": 2, "sample": "free", "type": "string"},
            ],
        }
    ]


async def test_properties_refuse_one_date_without_the_other(caller, store, queue):
    with pytest.raises(BadRequest, match="start_date and end_date required"):
        await read_properties(
            parse_query_parameters_leniently(PropertiesQuery, [("end_date", "2026-07-01")]),
            caller,
            store,
            queue,
        )


@pytest.mark.parametrize(
    ("key", "sample", "shown"),
    [
        ("billingEmail", "x", "***"),
        ("shipping_address", {"city": "Berlin"}, "***"),
        ("firstName", "Ada", "***"),
        ("customer_name", "Ada", "***"),
        ("product_name", "Shirt", "Shirt"),
        ("items", [{"name": "Shirt", "price": 5}], [{"name": "Shirt", "price": 5}]),
        ("user", {"id": 7, "name": "Ada", "list": [{"phoneNumber": 1}]}, {"id": 7, "name": "***", "list": [{"phoneNumber": "***"}]}),
        ("note", ["write to ada@example.com", "ok"], ["***", "ok"]),
        ("note", {"a": {"ada@example.com": [True]}}, {"a": {"***": [True]}}),
        ("call", "+49 (30) 123-4567", "***"),
        ("call", "030 1234567", "***"),
        ("call", "(555) 123-4567", "***"),
        ("paid_with", "4111 1111 1111 1111", "***"),
        ("paid_with", [4111111111111111], ["***"]),
        ("order", "2026-07-01", "2026-07-01"),
        ("order", "4111 1111 1111 1112", "4111 1111 1111 1112"),
        ("at", 1783500000000, 1783500000000),
        ("version", "10.15.7", "10.15.7"),
    ],
)  # fmt: skip
def test_sample_shows_no_personal_data_at_any_depth(key, sample, shown):
    assert redact_or_truncate_sample(key, sample) == shown


def test_sample_is_cut_at_200_characters():
    assert redact_or_truncate_sample("note", "x" * 300) == "x" * 200
    assert len(redact_or_truncate_sample("notes", ["x" * 300])) == 200
    assert redact_or_truncate_sample("numbers", [1, 2]) == [1, 2]


async def test_workspace_response_contains_its_name(caller):
    assert json_default(await get_workspace(caller=caller, connections=MemoryConnections())) == {
        "id": "k3Jx9QmZ2aPr", "name": "Example Shop", "domain": "example.com", "timezone": "America/New_York",
        "connected_platforms": [], "currency": "USD",
    }  # fmt: skip


async def test_usage_counts_no_session_marks_bots_or_test_events(caller, store):
    answer = json_default(await get_usage(caller=caller, aggregate_reader=store, postbacks=NoPostbacks()))
    assert list(answer) == [
        "events_used", "events_limit", "postbacks_used", "postbacks_limit", "period_start", "period_end", "plan",
        "rate_limit",
    ]  # fmt: skip
    assert (answer["events_used"], answer["events_limit"], answer["plan"]) == (6, 1_500_000, "growth")
    assert answer["rate_limit"] == {"limit": 100, "window_seconds": 60, "mutations_limit": 20}


async def test_usage_counts_late_events_in_the_period_of_their_receipt(caller, store):
    builder = EventBuilder(caller.workspace.id)
    for at, received in (("2026-05-30", caller.now), ("2026-06-30", utc_instant("2026-06-30"))):
        builder.add_event("late", at=at, visitor="late", received_at=received)
    await store.append(builder.events)
    answer = await get_usage(caller=caller, aggregate_reader=store, postbacks=NoPostbacks())
    assert answer.events_used == 7


async def test_context_returns_all_sections(caller, store, queue):
    context = get_context(
        caller=caller,
        aggregate_reader=store,
        event_reader=store,
        queue=queue,
        connections=MemoryConnections(),
        postbacks=NoPostbacks(),
    )
    answer = json_default(await context)
    assert answer["events_used"] == 6
    assert answer["key"] == {
        "id": str(caller.credential.id),
        "name": "Agent key",
        "type": "agent",
        "scopes": ["service:read"],
    }
    assert answer["attribution_default"] == {"model": "last_non_direct", "window_days": 30}
    assert str(answer["today"]) == "2026-07-08"
    assert answer["data"]["data_through"] == caller.now
    assert answer["limits"] == {"max_metrics": 10, "max_dimensions": 3, "max_filters": 10, "max_rows": 1000}
