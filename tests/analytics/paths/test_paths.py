"""`GET /paths` and `GET /paths/sessions`."""

import json
from urllib.parse import urlencode

import pytest

from tests.analytics.deployment import run_deployment

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
JOURNEYS = {
    "A": "/ /pricing /signup",
    "B": "/ /pricing /",
    "C": "/blog / /docs",
    "D": "/ / /",
    "E": "/blog /docs",
}
"""The pages of each visitor, in order."""


@pytest.fixture
async def site(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        client = await served.workspace()
        for visitor, pages in JOURNEYS.items():
            country = "DE" if visitor in "AB" else "FR"
            for minute, page in enumerate(pages.split()):
                at = f"2026-07-02T10:{minute:02}"
                client.story.add_event("page_view", at=at, visitor=visitor, page_path=page, country=country)
        client.story.add_event("click", at="2026-07-02T11:00", visitor="A")
        client.story.add_event("signup", at="2026-07-02T11:01", visitor="A", strong_id="ada", user_id="ada")
        await client.knows()
        yield client


async def steps(client, **parameters):
    answer = await client.get("/paths", **WEEK, **parameters)
    return answer, [
        (
            {value["value"]: value["sessions"] for value in step["values"]},
            step["other_sessions"],
            step["ended_sessions"],
        )
        for step in answer["steps"]
    ]


async def test_next_pages_are_counted_by_session_from_the_first_view_of_the_page(site):
    answer, found = await steps(site, start="/", steps=3)
    assert answer["sessions"] == 4
    assert found == [
        ({"/pricing": 2, "/docs": 1}, 0, 1),
        ({"/": 1, "/signup": 1}, 0, 2),
        ({}, 0, 4),
    ]
    assert answer["steps"][0]["values"][0]["share"] == 0.5


async def test_previous_pages_lead_back_to_the_entry(site):
    answer, found = await steps(site, start="/docs", steps=2, direction="previous")
    assert (answer["sessions"], found) == (2, [({"/": 1, "/blog": 1}, 0, 0), ({"/blog": 1}, 0, 1)])


async def test_values_besides_the_most_frequent_are_counted_as_others(site):
    answer, found = await steps(site, start="/", steps=1, top=1)
    assert found == [({"/pricing": 2}, 1, 1)]
    assert answer["steps"][0]["other_values"] == 1


async def test_through_narrows_to_sessions_with_these_steps(site):
    for through in ("/pricing", json.dumps(["/pricing"])):
        answer, found = await steps(site, start="/", steps=2, through=through)
        assert answer["sessions"] == 2
        assert found == [({"/pricing": 2}, 0, 0), ({"/": 1, "/signup": 1}, 0, 0)]


async def test_events_are_steps_too_and_synonyms_start_paths(site):
    answer, found = await steps(site, start="$pageview", by="event", steps=2)
    assert answer["sessions"] == 5
    assert found == [({"click": 1}, 0, 4), ({"signup": 1}, 0, 4)]


async def test_segment_applies_to_the_chosen_view(site):
    segment = {"name": "Germany", "filters": [{"dimension": "country", "value": "DE"}]}
    id_ = (await site.post("/segments", {"segment": segment}))["data"]["id"]
    answer, _ = await steps(site, start="/", segment_id=id_)
    assert answer["sessions"] == 2


async def test_listed_sessions_are_as_many_as_each_number(site):
    answer, _ = await steps(site, start="/", steps=3, top=1)

    async def total(**condition):
        listed = await site.get("/paths/sessions", **WEEK, start="/", steps=3, top=1, **condition)
        assert len(listed["sessions"]) == listed["total_count"]
        return listed["total_count"]

    assert await total() == answer["sessions"]
    for step in answer["steps"]:
        number = step["step"]
        for value in step["values"]:
            assert await total(step=number, value=value["value"]) == value["sessions"]
        assert await total(step=number, group="other") == step["other_sessions"]
        assert await total(step=number, group="ended") == step["ended_sessions"]


async def test_session_is_listed_with_its_person(site):
    listed = await site.get("/paths/sessions", **WEEK, start="/signup", limit=1)
    assert listed["sessions"] == [
        {"user_id": "ada", "visitor_id": "A", "session_id": "s1", "started_at": "2026-07-02T10:02:00.000Z"}
    ]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "start"),
        ({"start": "/", "steps": 1, "through": '["a", "b"]'}, "through"),
        ({"start": "/", "through": "[1]"}, "through"),
        ({"start": "/", "by": "mood"}, "by"),
    ],
)
async def test_paths_that_cannot_be_read_are_refused(site, parameters, field):
    status, answer = await site.ask("GET", "/paths", urlencode(WEEK | parameters))
    assert (status, answer["field"]) == (400, field)


async def test_number_that_the_paths_do_not_have_is_refused(site):
    without_step = ({"value": "/pricing"}, {"group": "other"}, {"step": 0, "group": "ended"})
    for condition in ({"step": 4}, {"step": 1, "value": "/", "group": "other"}, *without_step):
        query = urlencode(WEEK | {"start": "/", "steps": 3} | condition)
        status, answer = await site.ask("GET", "/paths/sessions", query)
        assert (status, answer["code"]) == (400, "invalid_parameter")
