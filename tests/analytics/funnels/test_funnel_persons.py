"""`GET /funnel/persons`: the people behind the numbers of a funnel."""

from urllib.parse import urlencode

import pytest

from tests.analytics.deployment import run_deployment

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
STEPS = {"steps": "page_view,add_to_cart,purchase"}


@pytest.fixture
async def shop(tmp_path):
    """Three people who view, of whom two put something into the cart and one buys."""
    async with run_deployment("memory", tmp_path) as served:
        client = await served.workspace()
        for visitor, names in (
            ("A", "page_view"),
            ("B", "page_view add_to_cart"),
            ("C", "page_view add_to_cart purchase"),
        ):
            for minute, name in enumerate(names.split()):
                user = {"strong_id": "carol", "user_id": "carol"} if visitor == "C" else {}
                client.story.add_event(
                    name, at=f"2026-07-02T1{minute}:00", visitor=visitor, country="DE", **user
                )
        await client.knows()
        yield client


async def persons(client, **parameters):
    answer = await client.get("/funnel/persons", **WEEK, **STEPS, **parameters)
    return [person["user_id"] or person["visitor_id"] for person in answer["persons"]], answer


async def test_listed_persons_are_as_many_as_the_funnel_counts(shop):
    funnel = await shop.get("/funnel", **WEEK, **STEPS)
    for step in funnel["steps"]:
        for outcome, counted in (("reached", "count"), ("dropped", "dropped")):
            if outcome == "dropped" and step["step"] == 1:
                continue
            names, answer = await persons(shop, step=step["step"], outcome=outcome)
            assert (len(names), answer["total_count"]) == (step[counted], step[counted])


async def test_persons_who_dropped_out_reached_the_step_before(shop):
    names, answer = await persons(shop, step=3, outcome="dropped")
    assert names == ["B"]
    assert answer["persons"] == [
        {
            "user_id": None, "visitor_id": "B", "session_id": None, "steps_reached": 2,
            "started_at": "2026-07-02T10:00:00.000Z", "last_step_at": "2026-07-02T11:00:00.000Z",
        }
    ]  # fmt: skip
    assert (await persons(shop, step=3))[0] == ["carol"]
    assert (await persons(shop, step=2, outcome="dropped"))[0] == ["A"]


async def test_sessions_are_listed_with_their_ids(shop):
    _, answer = await persons(shop, step=3, unit="session")
    assert [(row["visitor_id"], row["session_id"]) for row in answer["persons"]] == [("C", "s1")]


async def test_pages_together_hold_every_person_once(shop):
    pages = [await persons(shop, step=1, limit=1, offset=offset) for offset in range(4)]
    assert sorted(name for names, _ in pages for name in names) == ["A", "B", "carol"]
    assert [answer["has_more"] for _, answer in pages] == [True, True, False, False]


async def test_conditions_of_the_funnel_apply(shop):
    segment = {"name": "France", "filters": [{"dimension": "country", "value": "FR"}]}
    saved = await shop.post("/segments", {"segment": segment})
    assert (await persons(shop, step=1, segment_id=saved["data"]["id"]))[1]["total_count"] == 0
    assert (await persons(shop, step=1, country="DE"))[1]["total_count"] == 3


@pytest.mark.parametrize(
    "parameters", [{"step": 0}, {"step": 4}, {"step": 1, "outcome": "dropped"}, {"step": "x"}]
)
async def test_step_that_the_funnel_does_not_have_is_refused(shop, parameters):
    status, answer = await shop.ask("GET", "/funnel/persons", urlencode({**WEEK, **STEPS, **parameters}))
    assert (status, answer["code"], answer["field"]) == (400, "invalid_parameter", "step")
