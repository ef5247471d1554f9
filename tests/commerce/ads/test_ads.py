"""`GET /ads`, with numbers worked out by hand."""

from datetime import timedelta

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import StoreUnavailable
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.ads.ad_spend_data import (
    ad,
    ad_campaign,
    ad_group,
    connect_ad_platform,
    save_spend,
    spend_row,
)

WEEK = {"date_from": "2026-07-01", "date_through": "2026-07-07"}
REELS = (
    spend_row("meta", ad_campaign("c1", "reels"), "2026-07-01", spend=100_00, impressions=8000, clicks=200, reach=7000,
        conversions=4, conversion_value=300_00),
    spend_row("meta", ad_campaign("c1", "reels"), "2026-07-07", spend=200_00, impressions=12000, clicks=300, reach=9000,
        conversions=6, conversion_value=420_00),
)  # fmt: skip
SEARCH = spend_row(
    "google", ad_campaign("9", "brand"), "2026-07-03", account="123", spend=50_00, impressions=1000, clicks=70,
    conversions=2.5, conversion_value=90_00,
)  # fmt: skip


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield await served.workspace()


async def test_campaigns_are_sorted_by_spend_with_all_reported_figures(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client, *REELS, spend_row("meta", ad_campaign("c2"), spend=1_00, impressions=10, clicks=0)
    )
    answer = await workspace_client.get("/ads", **WEEK)
    first, second = answer.pop("ads")
    assert first == {
        "platform": "meta", "account_id": "act_1", "account_name": "meta act_1", "level": "campaign",
        "id": "c1", "name": "reels", "status": "active", "campaign_id": "c1", "campaign_name": "reels",
        "group_id": None, "group_name": None, "ad_id": None, "ad_name": None, "currency": "USD",
        "spend": 300.0, "impressions": 20000, "clicks": 500, "ctr": 0.025, "cpc": 0.6, "cpm": 15.0,
        "reach": None, "conversions": 10, "conversion_value": 720.0, "cpa": 30.0, "roas": 2.4,
    }  # fmt: skip
    assert (second["id"], second["cpc"], second["conversions"], second["roas"]) == ("c2", None, None, None)
    assert answer == {
        "level": "campaign", "platform": None, "date_from": "2026-07-01", "date_through": "2026-07-07",
        "timezone": "America/New_York", "currency": "USD",
        "totals": {
            "spend": 301.0, "impressions": 20010, "clicks": 500, "ctr": 0.024988, "cpc": 0.6, "cpm": 15.04,
            "conversions": None, "conversion_value": None, "cpa": None, "roas": None,
        },
        "totals_unavailable": [
            {"metric": name, "reason": "insufficient_data"}
            for name in ("conversions", "conversion_value", "cpa", "roas")
        ],
        "unavailable": [
            {"metric": name, "reason": "insufficient_data"}
            for name in ("reach", "conversions", "conversion_value", "cpa", "roas")
        ],
        "platforms": [
            {
                "platform": "meta", "account_id": "act_1", "account_name": "meta act_1", "status": "connected",
                "currency": "USD", "timezone": "America/Los_Angeles",
                "last_synced_at": "2026-07-08T15:00:00.000Z", "error": None,
            }
        ],
        "truncated": False, "complete": True,
    }  # fmt: skip


async def test_level_accepts_platform_names_and_is_never_summed_from_another_level(
    workspace_client,
):
    await connect_ad_platform(workspace_client, "meta")
    adults = spend_row("meta", ad_group("g1"), spend=40_00, impressions=10, clicks=2)
    await save_spend(
        workspace_client,
        *REELS,
        adults,
        spend_row("meta", ad("a1"), spend=7_00),
        spend_row("meta", ad("a2"), spend=8_00),
    )
    for level in ("group", "adset", "adgroup"):
        answer = await workspace_client.get("/ads", **WEEK, level=level)
        assert (answer["level"], answer["totals"]["spend"]) == ("group", 40.0)
        assert [(each["id"], each["campaign_id"], each["group_id"]) for each in answer["ads"]] == [
            ("g1", "c1", "g1")
        ]
    answer = await workspace_client.get("/ads", **WEEK, level="ad", limit=1)
    assert [each["ad_id"] for each in answer["ads"]] == ["a2"]
    assert (answer["totals"]["spend"], answer["truncated"]) == (15.0, True)


async def test_claimed_conversions_of_several_platforms_are_not_summed(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await connect_ad_platform(workspace_client, "google", accounts=("123",))
    await save_spend(workspace_client, *REELS, SEARCH)
    answer = await workspace_client.get("/ads", **WEEK)
    claims = ("conversions", "conversion_value", "cpa", "roas")
    assert answer["totals"]["spend"] == 350.0
    assert {answer["totals"][name] for name in claims} == {None}
    assert answer["totals_unavailable"] == [
        {"metric": name, "reason": "multiple_platforms"} for name in claims
    ]
    google = await workspace_client.get("/ads", **WEEK, platform="google_ads")
    assert (google["platform"], google["totals"]["conversions"], google["totals"]["cpa"]) == (
        "google",
        2.5,
        20.0,
    )
    assert [each["account_id"] for each in google["platforms"]] == ["123"]
    first_day = await workspace_client.get("/ads", date_from="2026-07-01", date_through="2026-07-01")
    assert (first_day["totals"]["conversions"], first_day["ads"][0]["reach"]) == (4, 7000)


async def test_foreign_currency_spend_is_in_rows_and_not_in_totals(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        *REELS,
        spend_row("meta", ad_campaign("e"), account="act_2", currency="JPY", spend=9000, clicks=3),
    )
    answer = await workspace_client.get("/ads", **WEEK)
    assert [(each["currency"], each["spend"]) for each in answer["ads"]] == [("JPY", 9000.0), ("USD", 300.0)]
    assert (answer["totals"]["spend"], answer["totals"]["clicks"]) == (None, 503)
    values = {each["metric"]: each["reason"] for each in answer["totals_unavailable"]}
    assert (values["spend"], values["cpc"]) == ("missing_fx_rate", "missing_fx_rate")


async def test_spend_is_null_without_an_ad_account_and_zero_without_delivery(workspace_client):
    answer = await workspace_client.get("/ads", **WEEK)
    assert (answer["ads"], answer["platforms"], answer["complete"]) == ([], [], True)
    assert set(answer["totals"].values()) == {None}
    assert {each["reason"] for each in answer["totals_unavailable"]} == {"no_ad_platform"}
    await connect_ad_platform(workspace_client, "meta")
    await connect_ad_platform(workspace_client, "tiktok")
    answer = await workspace_client.get("/ads", **WEEK)
    assert [answer["totals"][name] for name in ("spend", "clicks", "conversions", "roas")] == [
        0.0,
        0,
        0,
        None,
    ]
    answer = await workspace_client.get("/ads", **WEEK, platform="google")
    assert {each["reason"] for each in answer["totals_unavailable"]} == {"no_ad_platform"}


async def test_connection_in_error_reports_its_reason_and_makes_totals_null(workspace_client):
    await connect_ad_platform(
        workspace_client, "meta", status=ConnectionStatus.EXPIRED, error="The token has expired"
    )
    await save_spend(workspace_client, *REELS)
    answer = await workspace_client.get("/ads", **WEEK)
    assert [each["spend"] for each in answer["ads"]] == [300.0]
    assert {each["reason"] for each in answer["totals_unavailable"]} == {"source_error"}
    assert (answer["platforms"][0]["error"], answer["complete"]) == ("The token has expired", False)


async def test_platform_in_error_does_not_affect_other_platforms(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await connect_ad_platform(workspace_client, "google", status=ConnectionStatus.EXPIRED)
    await connect_ad_platform(workspace_client, "tiktok", read=NOW - timedelta(days=30))
    await save_spend(workspace_client, *REELS)
    meta = await workspace_client.get("/ads", **WEEK, platform="meta")
    assert (meta["totals"]["spend"], meta["totals"]["roas"], meta["complete"]) == (300.0, 2.4, True)
    for platform in ({}, {"platform": "google"}):
        answer = await workspace_client.get("/ads", **WEEK, **platform)
        assert {each["reason"] for each in answer["totals_unavailable"]} == {"source_error"}
        assert not answer["complete"]
    tiktok = await workspace_client.get("/ads", **WEEK, platform="tiktok")
    assert (tiktok["totals"]["spend"], tiktok["complete"]) == (0.0, False)


async def test_account_with_an_old_sync_is_incomplete(workspace_client):
    await connect_ad_platform(workspace_client, "meta", read=NOW - timedelta(hours=3))
    assert not (await workspace_client.get("/ads", date_from="2026-07-08", date_through="2026-07-08"))[
        "complete"
    ]
    assert (await workspace_client.get("/ads", **WEEK))["complete"]


async def test_timestamps_are_widened_to_their_days(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, *REELS)
    answer = await workspace_client.get("/ads", start_date="2026-07-02T02:00Z", end_date="2026-07-07T03:00Z")
    assert (answer["date_from"], answer["date_through"]) == ("2026-07-01", "2026-07-06")
    assert answer["totals"]["spend"] == 100.0


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, "missing_date_range"),
        ({"date_from": "2026-07-01"}, "missing_date_range"),
        (WEEK | {"start_date": "2026-07-01"}, "conflicting_date_range"),
        ({"date_from": "2026-07-01T10:00Z", "date_through": "2026-07-02"}, "invalid_date_range"),
        ({"start_date": "someday", "end_date": "2026-07-02"}, "invalid_date_range"),
        ({"date_from": "2026-07-08", "date_through": "2026-07-07"}, "invalid_date_range"),
        ({"date_from": "2025-07-01", "date_through": "2026-07-02"}, "range_too_long"),
        (WEEK | {"platform": "openai"}, "invalid_platform"),
        (WEEK | {"level": "keyword"}, "invalid_level"),
    ],
)
async def test_invalid_ads_request_is_refused_with_its_code(workspace_client, parameters, code):
    assert await workspace_client.refused("GET", "/ads", **parameters) == (400, code)


async def test_unparseable_date_returns_the_specified_error(workspace_client):
    _, body = await workspace_client.ask("GET", "/ads", "start_date=someday&end_date=2026-07-02")
    assert (body["error"], body["field"]) == ("start_date and end_date required (ISO 8601)", "start_date")


async def test_longest_range_is_a_leap_year(workspace_client):
    year = {"date_from": "2025-07-01", "date_through": "2026-07-01"}
    assert (await workspace_client.get("/ads", **year)).items() >= year.items()


async def test_unreadable_ad_data_is_unverified_and_not_unconnected(workspace_client, monkeypatch):
    await connect_ad_platform(workspace_client, "meta")
    await workspace_client.get("/ads", **WEEK)

    def broken():
        raise StoreUnavailable

    monkeypatch.setattr(workspace_client.service.ports.workspace.database, "read", broken)
    assert await workspace_client.refused("GET", "/ads", **WEEK) == (503, "ads_unavailable")


async def test_ad_dimension_values_are_counted_by_spend_rows(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, *REELS, SEARCH, spend_row("meta", ad("a1"), spend=7_00))
    answer = await workspace_client.get("/dimension-values", dimension="campaign_name")
    assert [(each["value"], each["count"]) for each in answer["values"]] == [("reels", 2), ("brand", 1)]
    answer = await workspace_client.get("/dimension-values", dimension="platform", q="GOO")
    assert [(each["value"], each["count"]) for each in answer["values"]] == [("google", 1)]
    answer = await workspace_client.get("/dimension-values", dimension="ad_id", limit=1)
    assert ([each["value"] for each in answer["values"]], answer["has_more"]) == (["a1"], False)


async def test_ad_dimension_values_continue_on_further_pages(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, *(spend_row("meta", ad(f"a{number}"), spend=1) for number in range(3)))
    pages, request = [], {"dimension": "ad_id", "limit": 2}
    while request:
        answer = await workspace_client.get("/dimension-values", **request)
        pages.append([each["value"] for each in answer["values"]])
        request = {**request, "cursor": answer["next_cursor"]} if answer["has_more"] else None
    assert pages == [["a0", "a1"], ["a2"]]


async def test_ad_entities_are_searchable_by_name_as_filters(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        *REELS,
        SEARCH,
        spend_row("meta", ad_group("lookalike"), spend=1),
        spend_row("meta", ad("look"), spend=7_00),
    )
    (found,) = (await workspace_client.get("/search", q="REEL", types="campaign"))["results"]
    assert found == {
        "type": "campaign", "dimension": "campaign_id", "value": "c1", "label": "reels", "id": "c1",
        "platform": "meta", "count": 2,
    }  # fmt: skip
    found = (await workspace_client.get("/search", q="look"))["results"]
    assert [(each["type"], each["dimension"]) for each in found] == [
        ("ad", "ad_id"),
        ("ad_group", "ad_group_id"),
    ]
