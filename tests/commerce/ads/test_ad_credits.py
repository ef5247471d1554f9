"""Attributed metrics by campaign, group and ad: the join of touches to what there was spend of."""

import pytest

from service_core.commerce.ads.match_ads import AdMatcher
from service_core.commerce.ads.models import AdEntity, AdLevel
from service_core.testing import event_builder
from tests.analytics.deployment import run_deployment
from tests.commerce.ads.ad_spend_data import ad_campaign, connect_ad_platform, save_spend, spend_row
from tests.fixtures.compact_rows import rows_without_bucket_details

WEEK = {"from": "2026-07-01", "to": "2026-07-07"}
META, GOOGLE = ("meta", "act_1"), ("google", "123")
REPORTED_SPEND = [
    (*META, ad_campaign("1", "Spring sale")),
    (*META, ad_campaign("2", "twice")),
    (*META, ad_campaign("3", "Twice")),
    (*GOOGLE, ad_campaign("9", "spring SALE")),
    (*META, AdEntity(AdLevel.GROUP, "1", "Spring sale", "11", "Adults")),
    (*META, AdEntity(AdLevel.GROUP, "2", "twice", "21", "Teens")),
    (*META, AdEntity(AdLevel.AD, "1", "Spring sale", "11", "Adults", "111", "Film")),
    ("tiktok", "7", AdEntity(AdLevel.AD, "70", "Dance", "71", "All", "711", "Loop")),
]

SOURCES = {"facebook": "meta", "fb": "meta", "adwords": "google"}


def match_ad(utm_id=None, utm_campaign=None, utm_content=None, utm_term=None, source="facebook"):
    place = AdMatcher(REPORTED_SPEND, SOURCES).match(utm_id, utm_campaign, utm_content, utm_term, source)
    return tuple(place.get(name) for name in ("platform", "campaign_id", "group_id", "ad_id"))


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"utm_id": "111"}, ("meta", "1", "11", "111")),
        ({"utm_id": "1", "utm_content": "adults"}, ("meta", "1", "11", None)),
        ({"utm_campaign": "1"}, ("meta", "1", None, None)),
        ({"utm_campaign": "SPRING sale"}, ("meta", "1", None, None)),
        ({"utm_campaign": "SPRING sale", "source": "google"}, ("google", "9", None, None)),
        ({"utm_campaign": "SPRING sale", "source": "newsletter"}, (None,) * 4),
        ({"utm_campaign": "twice"}, (None,) * 4),
        ({"utm_campaign": "1", "utm_content": "11", "utm_term": "film"}, ("meta", "1", "11", "111")),
        ({"utm_campaign": "1", "utm_content": "21"}, ("meta", "1", None, None)),
        ({"utm_content": "Adults"}, ("meta", "1", "11", None)),
        ({"utm_campaign": "dance", "utm_content": "all", "source": "tt"}, ("tiktok", "70", "71", None)),
        ({"utm_campaign": "9", "utm_term": "shoes", "source": "google"}, ("google", "9", None, None)),
        ({"utm_campaign": "Spring"}, (None,) * 4),
        ({}, (None,) * 4),
    ],
)
def test_ads_match_by_id_first_and_by_unique_name(said, place):
    assert match_ad(**said) == place


@pytest.fixture(params=["memory", "duckdb"])
async def workspace_client(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield await served.workspace()


def touch_from(source, name, **utm):
    return event_builder.campaign_columns(source, "cpc", name) | utm


async def add_spend_and_purchases(workspace_client):
    """Two orders through ads of Meta, one through Google, one through neither; Meta is connected afterwards."""
    for number, (visitor, utm) in enumerate(
        (
            ("A", touch_from("facebook", "spring", utm_content="adults", utm_term="film")),
            ("B", touch_from("facebook", "c1", utm_content="g2")),
            ("C", touch_from("google", "900")),
            ("D", touch_from("newsletter", "july")),
        )
    ):
        workspace_client.story.add_event("page_view", at="2026-07-02T10:00", visitor=visitor, **utm)
        workspace_client.story.add_event(
            "purchase", at="2026-07-02T11:00", visitor=visitor, order_id=str(number), revenue=10_00 * 2**number,
            currency="USD",
        )  # fmt: skip
    await workspace_client.knows()
    await connect_ad_platform(workspace_client, "meta")
    await connect_ad_platform(workspace_client, "google")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1", "Spring"), spend=20_00),
        spend_row("meta", AdEntity(AdLevel.GROUP, "c1", "Spring", "g1", "Adults"), spend=12_00),
        spend_row("meta", AdEntity(AdLevel.GROUP, "c1", "Spring", "g2", "Teens"), spend=8_00),
        spend_row("meta", AdEntity(AdLevel.AD, "c1", "Spring", "g1", "Adults", "a1", "Film"), spend=12_00),
        spend_row("google", ad_campaign("900", "Brand"), account="123", spend=10_00),
    )


async def run_query(workspace_client, *metrics, **plan):
    answer = await workspace_client.post(
        "/query", {"metrics": list(metrics), "date_range": WEEK, "format": "compact", **plan}
    )
    return rows_without_bucket_details(answer)


async def test_spend_and_attributed_revenue_are_joined_by_ad(workspace_client):
    await add_spend_and_purchases(workspace_client)
    assert await run_query(
        workspace_client,
        "attributed_revenue",
        "ad_spend",
        "attributed_roas",
        dimensions=["platform", "campaign_name"],
    ) == [
        ["(not set)", "(not set)", 80.0, 0.0, None],
        ["google", "Brand", 40.0, 10.0, 4.0],
        ["meta", "Spring", 30.0, 20.0, 1.5],
    ]
    assert await run_query(
        workspace_client, "attributed_roas", "attributed_conversions", dimensions=["ad_group_id"]
    ) == [
        ["g2", 2.5, 1],
        ["g1", 0.833333, 1],
        ["(not set)", None, 2],
    ]
    by_ad = await run_query(workspace_client, "attributed_revenue", dimensions=["ad_name"])
    assert by_ad == [["(not set)", 140.0], ["Film", 10.0]]


async def test_attributed_metrics_take_filters_on_ads(workspace_client):
    await add_spend_and_purchases(workspace_client)
    of_meta = {"dimension": "platform", "value": "meta"}
    parameters = {"metrics": ["attributed_revenue", "attributed_roas"], "date_range": WEEK}
    for model in ("last_touch", "markov"):
        answer = await workspace_client.post(
            "/metrics", parameters | {"filters": [of_meta], "attribution": {"model": model}}
        )
        values = {each["id"]: each["value"] or each["unavailable_reason"] for each in answer["metrics"]}
        if model == "last_touch":
            assert values == {"attributed_revenue": 30.0, "attributed_roas": 1.5}
        else:
            assert set(values.values()) == {"insufficient_data"}
    misspelt = {"dimension": "campaign_id", "value": "c11"}
    assert await run_query(workspace_client, "attributed_revenue", filters=[misspelt]) == [[0.0]]
    others = {"dimension": "campaign_id", "op": "is_not_set"}
    days = await run_query(workspace_client, "attributed_revenue", filters=[others], interval="day", limit=2)
    assert [revenue for _, revenue in days] == [0.0, 80.0]


async def test_data_driven_model_credits_ads(workspace_client):
    await add_spend_and_purchases(workspace_client)
    for visitor, name in (("E", "spring"), ("F", "900")):
        workspace_client.story.add_event(
            "page_view", at="2026-07-03T10:00", visitor=visitor, **touch_from("x", name)
        )
    await workspace_client.knows(*workspace_client.story.events[-2:])
    rows = await run_query(
        workspace_client,
        "attributed_conversions",
        dimensions=["campaign_id"],
        attribution={"model": "shapley"},
    )
    assert rows == [["c1", 2], ["(not set)", 1], ["900", 1]]
