"""`GET /attribution/journeys`: the conversions behind the rows of attribution."""

from decimal import Decimal
from urllib.parse import urlencode

import pytest

from service_core.testing.event_builder import campaign_columns
from tests.analytics.deployment import run_deployment

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
RULE_BASED = ("first_touch", "last_touch", "last_non_direct", "linear", "position_based", "time_decay")


@pytest.fixture
async def shop(tmp_path):
    """Three buyers with several touches, a refund, and a buyer without a touch in the window."""
    async with run_deployment("memory", tmp_path) as served:
        client = await served.workspace()
        story = client.story
        visits = {"A": ("google", "news", "google"), "B": ("news", None), "C": ("google", "partner")}
        for visitor, sources in visits.items():
            for day, source in enumerate(sources, 1):
                columns = campaign_columns(source, "cpc", "spring") if source else {}
                at = f"2026-07-0{day}T10:00"
                story.add_event("page_view", at=at, visitor=visitor, session=f"{visitor}{day}", **columns)
            story.add_event(
                "purchase",
                at="2026-07-04T12:00",
                visitor=visitor,
                session=f"{visitor}1",
                revenue=1001,
                order_id=visitor,
            )
        story.add_event(
            "refund", at="2026-07-05T12:00", visitor="A", session="A1", revenue=-300, order_id="A"
        )
        story.add_event(
            "purchase", at="2026-07-06T12:00", visitor="Z", source="api", revenue=500, order_id="Z"
        )
        await client.knows()
        yield client


def amounts(row):
    return tuple(Decimal(str(row[name])) for name in ("conversions", "revenue", "net_revenue"))


def summed(rows):
    return tuple(sum(column, Decimal(0)) for column in zip(*map(amounts, rows), strict=True)) or (0, 0, 0)


async def journeys(client, **parameters):
    return await client.get("/attribution/journeys", **WEEK, **parameters)


@pytest.mark.parametrize("model", RULE_BASED)
async def test_credit_of_the_journeys_adds_up_to_every_row(shop, model):
    report = await shop.get("/attribution", **WEEK, model=model)
    fields = ("utm_source", "utm_medium", "utm_campaign")
    cells = [
        *((row, {name: row[name] for name in fields}) for row in report["campaigns"]),
        *((row, {"channel": row["channel"]}) for row in report["channels"]),
        (report["unattributed"], {"unattributed": "true"}),
    ]
    assert len(cells) > 5
    for row, key in cells:
        answer = await journeys(shop, model=model, **key)
        assert summed(answer["journeys"]) == amounts(row) == amounts(answer["totals"]), key
        assert len(answer["journeys"]) == answer["total_count"]


async def test_touches_of_a_journey_share_its_conversion(shop):
    answer = await journeys(shop, model="linear", utm_source="news", utm_medium="cpc", utm_campaign="spring")
    refund, *bought = answer["journeys"]
    assert [journey["order_id"] for journey in answer["journeys"]] == ["A", "B", "A"] or bought
    first = next(journey for journey in bought if journey["order_id"] == "A")
    assert [(touch["source"], touch["conversions"]) for touch in first["touches"]] == [
        ("google", 0.333334), ("news", 0.333333), ("google", 0.333333),
    ]  # fmt: skip
    assert first["conversions"] == 0.333333
    assert sum(Decimal(str(touch["revenue"])) for touch in first["touches"]) == Decimal("10.01")
    assert (refund["event_name"], refund["conversions"], refund["net_revenue"]) == ("refund", 0, -1)


async def test_touches_that_the_model_ignores_are_shown_without_credit(shop):
    answer = await journeys(shop, model="first_touch", channel="paid_search")
    for journey in answer["journeys"]:
        shares = [touch["conversions"] for touch in journey["touches"]]
        assert len(shares) > 1
        assert not any(shares[1:])


async def test_pages_together_hold_every_journey_once(shop):
    whole = await journeys(shop, model="linear")
    pages = [await journeys(shop, model="linear", limit=2, offset=offset) for offset in (0, 2, 4)]
    ids = [journey["event_id"] for page in pages for journey in page["journeys"]]
    assert ids == [journey["event_id"] for journey in whole["journeys"]]
    assert {page["total_count"] for page in pages} == {whole["total_count"]}


async def test_segment_narrows_journeys_like_the_report(shop):
    segment = {"name": "Google", "filters": [{"dimension": "utm_source", "value": "google"}]}
    id_ = (await shop.post("/segments", {"segment": segment}))["data"]["id"]
    report = await shop.get("/attribution", **WEEK, model="linear", segment_id=id_)
    answer = await journeys(shop, model="linear", segment_id=id_)
    assert amounts(answer["totals"]) == summed(report["campaigns"])


async def test_data_driven_model_has_no_journeys(shop):
    status, answer = await shop.ask("GET", "/attribution/journeys", urlencode(WEEK | {"model": "markov"}))
    assert (status, answer["code"], answer["field"]) == (400, "invalid_parameter", "model")
