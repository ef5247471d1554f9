"""Names that were never seen, and names that are spelt alike."""

import pytest

from service_core.analytics.reads.similar_names import list_similar_names
from service_core.testing.event_builder import campaign_columns


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("newsletter", ["Newsleter"]),
        ("Newsleter", ["newsletter"]),
        ("purchas", ["purchase"]),
        ("facebook", []),
        ("google", []),
        ("entirely else", []),
    ],
)
def test_near_duplicates_need_a_fifth_of_the_count_and_unknown_names_a_likeness(name, expected):
    counts = {
        "newsletter": 40,
        "Newsleter": 8,
        "purchase": 5,
        "facebook": 100,
        "facebok": 19,
        "google": 9,
        "go": 9,
    }
    assert list_similar_names(name, counts) == expected


async def test_funnel_names_a_step_that_was_never_seen(served):
    shop = await served.workspace()
    for name in ("page_view", "purchase"):
        shop.story.add_event(name, at="2026-07-01", visitor="A", revenue=100 if name == "purchase" else None)
    await shop.knows()
    dates = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
    answer = await shop.get("/funnel", steps="pageview,purchas", **dates)
    assert answer["meta"]["warnings"] == [
        {
            "code": "never_seen",
            "event_name": "purchas",
            "message": "No event named purchas was seen in the last 90 days.",
        }
    ]
    assert answer["meta"]["did_you_mean"] == [
        {"dimension": "event_name", "value": "purchas", "suggestion": "purchase"}
    ]
    seen = await shop.get("/funnel", steps="pageview,purchase", **dates)
    assert seen["meta"] == {"warnings": [], "did_you_mean": []}
    retention = await shop.get("/retention", event_name="purchas", **dates)
    assert [warning["event_name"] for warning in retention["meta"]["warnings"]] == ["purchas"]
    assert (await shop.get("/retention", **dates))["meta"]["warnings"] == []


async def test_near_duplicate_of_a_filter_value_is_offered_beside_rows(served):
    shop = await served.workspace()
    for number, source in enumerate(["newsletter"] * 3 + ["Newsleter"]):
        shop.story.add_event(
            "page_view", at="2026-07-02", visitor=f"V{number}", **campaign_columns(source, "email")
        )
    await shop.knows()
    plan = {"metrics": ["visitors"], "date_range": {"from": "2026-07-01", "to": "2026-07-07"},
            "filters": [{"dimension": "utm_source", "value": "newsletter"}]}  # fmt: skip
    answer = await shop.post("/query", plan)
    assert answer["totals"] == {"visitors": 3}
    assert answer["meta"]["did_you_mean"] == [
        {"dimension": "utm_source", "value": "newsletter", "suggestion": "Newsleter"}
    ]
