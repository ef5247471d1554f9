"""`GET /dimension-values` and `GET /search`."""

import pytest

from service_core.analytics.reads.dimension_values import DimensionValuesQuery, get_dimension_values
from service_core.api.render import json_default
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.memory.transactions import MemoryTransactions
from service_core.workspace.search import SearchQuery, get_search


class Nobody:
    async def list_people_and_total(self, plan):
        return [], 0


@pytest.fixture
def list_values(query_client):
    async def list_values(**parameters):
        query = parse_query_parameters_leniently(DimensionValuesQuery, parameters.items())
        return json_default(
            await get_dimension_values(query, caller=query_client.caller, queries=query_client.queries)
        )

    return list_values


@pytest.fixture
def run_search(query_client):
    async def run_search(**parameters):
        query = parse_query_parameters_leniently(SearchQuery, parameters.items())
        query_parameters = {
            "caller": query_client.caller,
            "queries": query_client.queries,
            "people": Nobody(),
        }
        return json_default(
            await get_search(query, **query_parameters, changes=ChangeExecutor(MemoryTransactions(), ()))
        )

    return run_search


async def test_values_are_counted_by_visitors_most_frequent_first(list_values):
    assert await list_values(dimension="utm_source") == {
        "dimension": "utm_source",
        "values": [
            {"value": "(not set)", "label": "(not set)", "count": 2},
            {"value": "facebook", "label": "facebook", "count": 1},
            {"value": "google", "label": "google", "count": 1},
        ],
        "has_more": False,
        "next_cursor": None,
    }


async def test_values_of_a_property_are_counted_by_events(query_client, list_values):
    for plan in ("pro", "Team", "Team", 5):
        data = {"plan": plan}
        event = query_client.story.add_event("click", at="2026-07-02", visitor="V9", event_data=data)
        await query_client.store.append([event])
    answer = await list_values(dimension="property:plan", q="TEA")
    assert answer["values"] == [{"value": "Team", "label": "Team", "count": 2}]
    values = (await list_values(dimension="property:plan"))["values"]
    assert [(each["value"], each["count"]) for each in values][1:] == [("Team", 2), ("5", 1), ("pro", 1)]


async def test_products_are_counted_by_customers_also_where_another_item_is_larger(query_client, list_values):
    items = [{"sku": "bag", "price": 90}, {"sku": "strap", "price": 5}]
    for visitor, sold in (("V7", items), ("V8", items[:1])):
        event = query_client.story.add_event(
            "purchase", at="2026-07-02", visitor=visitor, revenue=9500, event_data={"items": sold}
        )
        await query_client.store.append([event])
    values = (await list_values(dimension="product"))["values"]
    counts = {each["value"]: each["count"] for each in values}
    assert (counts["bag"], counts["strap"]) == (2, 1)


async def test_values_are_searched_whatever_the_case(list_values):
    assert [each["value"] for each in (await list_values(dimension="utm_source", q="GOO"))["values"]] == [
        "google"
    ]


@pytest.mark.parametrize("limit", ["1", "2", "3", "50"])
async def test_null_value_is_listed_under_its_label(query_client, list_values, limit):
    for visitor, source in (
        ("V4", "sett"),
        ("V5", "sett"),
        ("V6", "sett"),
        ("V7", "reset"),
        ("V8", "offset"),
    ):
        query_client.story.add_event("page_view", at="2026-07-02", visitor=visitor, utm_source=source)
    await query_client.store.append(query_client.story.events[-5:])
    found, cursor = [], {}
    while cursor is not None:
        page = await list_values(dimension="utm_source", q="SET", limit=limit, **cursor)
        found += [(each["value"], each["count"]) for each in page["values"]]
        cursor = {"cursor": page["next_cursor"]} if page["has_more"] else None
    assert found == [("sett", 3), ("(not set)", 2), ("offset", 1), ("reset", 1)]


async def test_null_value_is_not_a_search_result(run_search):
    assert (await run_search(q="not set"))["results"] == []


async def test_values_of_bots_are_included_on_request(query_client, list_values):
    query_client.story.add_event("page_view", at="2026-07-02", visitor="robot", browser="Robot", is_bot=True)
    await query_client.store.append(query_client.story.events[-1:])
    assert (await list_values(dimension="browser", q="robot"))["values"] == []
    found = (await list_values(dimension="browser", q="robot", include_bots="true"))["values"]
    assert [(each["value"], each["count"]) for each in found] == [("Robot", 1)]


async def test_values_are_paged_by_cursor(list_values):
    first = await list_values(dimension="utm_source", limit="2")
    assert first["has_more"]
    second = await list_values(dimension="utm_source", limit="2", cursor=first["next_cursor"])
    assert [each["value"] for each in second["values"]] == ["google"]
    with pytest.raises(BadRequest) as refused:
        await list_values(dimension="utm_medium", limit="2", cursor=first["next_cursor"])
    assert refused.value.code == "invalid_cursor"


@pytest.mark.parametrize("dimension", ["country", "page_path", "referrer_host"])
async def test_pages_of_any_size_list_the_same_values(query_client, list_values, dimension):
    for visitor, country in (("V4", "DE"), ("V5", "FR"), ("V6", "FR"), ("V7", None)):
        query_client.story.add_event(
            "page_view",
            at="2026-07-02",
            visitor=visitor,
            country=country,
            page_path=f"/{visitor}",
            referrer_host=visitor,
        )
    await query_client.store.append(query_client.story.events[-4:])
    whole = (await list_values(dimension=dimension))["values"]
    found, cursor = [], {}
    while cursor is not None:
        page = await list_values(dimension=dimension, limit="1", **cursor)
        found += page["values"]
        cursor = {"cursor": page["next_cursor"]} if page["has_more"] else None
    assert len(whole) > 1
    assert found == whole


async def test_every_listed_value_works_as_a_filter(query_client, list_values):
    for dimension in ("utm_source", "country", "event_name", "new_vs_returning", "referrer_host"):
        for each in (await list_values(dimension=dimension))["values"]:
            plan = {"metrics": ["visitors"], "filters": [{"dimension": dimension, "value": each["value"]}]}
            assert (await query_client.query(plan))["totals"]["visitors"] == each["count"], (dimension, each)


async def test_revenue_and_ads_dimensions_list_values_of_their_sources(list_values):
    assert [each["value"] for each in (await list_values(dimension="currency"))["values"]] == ["USD"]
    assert (await list_values(dimension="campaign_id"))["values"] == []


@pytest.mark.parametrize("parameters", [{}, {"dimension": "mood"}])
async def test_unknown_dimension_is_refused(list_values, parameters):
    with pytest.raises(BadRequest) as refused:
        await list_values(**parameters)
    assert refused.value.code == "unknown_dimension"


async def test_search_finds_names_of_every_kind(run_search):
    answer = await run_search(q="spring")
    assert answer["results"] == [
        {"type": "campaign", "dimension": "utm_campaign", "value": "spring", "label": "spring", "id": None,
         "platform": None, "count": 1}
    ]  # fmt: skip
    found = {(each["type"], each["value"]) for each in (await run_search(q="pur"))["results"]}
    assert {("event", "purchase"), ("metric", "purchases"), ("metric", "repeat_purchase_rate")} <= found


async def test_search_can_be_limited_to_types(run_search):
    for types in ("metric", " metric ,"):
        assert {each["type"] for each in (await run_search(q="pur", types=types))["results"]} == {"metric"}


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, "missing_query"),
        ({"q": "a"}, "missing_query"),
        ({"q": "ab", "types": "mood"}, "invalid_parameter"),
    ],
)
async def test_invalid_search_is_refused(run_search, parameters, code):
    with pytest.raises(BadRequest) as refused:
        await run_search(**parameters)
    assert refused.value.code == code
