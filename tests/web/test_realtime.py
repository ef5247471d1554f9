"""The page of the last 30 minutes: the numbers of the API, and what it says when there are none."""

import re
from datetime import timedelta
from html import unescape

import pytest

from hosts.composition.compose import Service
from hosts.web import realtime
from service_core.api.http_messages import ApiResponse
from service_core.testing.event_builder import EventBuilder
from tests.fixtures.shared_objects import AFTER_WEEK

REALTIME = "/app/w/k3Jx9QmZ2aPr/realtime"


def visible_words(answer):
    return " ".join(answer.text.split())


def ranking(answer, title):
    """Label and number of each row of a card."""
    card = re.search(
        f'<section class="card answer md" aria-label="{title}">(.*?)</section>', answer.body, re.DOTALL
    )[1]
    rows = re.findall(
        r'class="name"><a href="[^"]+">([^<]*)</a></span><span class="amount">(?:<a[^>]*>)?([^<]*)<', card
    )
    return [(unescape(name), int(number)) for name, number in rows]


@pytest.fixture
async def ann(shop_deployment):
    await shop_deployment.enrol("ann", "viewer", shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


@pytest.fixture
async def recent_events(shop_deployment):
    story = EventBuilder(shop_deployment.gallery.workspace.id)
    story._next_seq += 10_000_000  # those of the shop come before
    for minutes, visitor, page, country in (
        (2, "A", "/new", "DE"), (3, "A", "/new", "DE"), (4, "B", "/<b>", "FR"), (20, "C", "/new", "DE"), (40, "D", "/old", "DE"),
    ):  # fmt: skip
        at = AFTER_WEEK - timedelta(minutes=minutes)
        story.add_event(
            "page_view",
            at=at,
            visitor=visitor,
            session=visitor,
            source="browser",
            page_path=page,
            country=country,
        )
    story.add_event(
        "signup", at=AFTER_WEEK - timedelta(minutes=1), visitor="A", session="A", source="browser"
    )
    await shop_deployment.service.ports.events.append(story.events)


@pytest.mark.usefixtures("recent_events")
async def test_realtime_shows_counts_rankings_and_events_of_30_minutes(ann, shop_deployment):
    answer = await ann.get(REALTIME)
    status, counts = await shop_deployment.api("GET", "/v1/realtime", await shop_deployment.gallery.key())
    assert (answer.status, status, counts["active_visitors"], counts["pageviews"]) == (200, 200, 2, 4)
    assert "2 Visitors in the last 5 minutes" in " ".join(
        f"{number} {label}"
        for label, number in re.findall(r"<dt>([^<]*)</dt><dd>(?:<a[^>]*>)?([^<]*)<", answer.body)
    )
    assert ranking(answer, "Pages") == [("/new", 3), ("/<b>", 1)]
    assert ranking(answer, "Places") == [("Germany", 3), ("France", 1)]
    assert len(re.findall("data-event=", answer.body)) == 5
    assert "/old" not in answer.body
    assert "Signup" in visible_words(answer)


@pytest.mark.usefixtures("recent_events")
async def test_row_leads_to_the_overview_of_today_filtered_by_it(ann):
    answer = await ann.get(REALTIME)
    (link,) = re.findall(r'<a href="([^"]+)">France</a>', answer.body)
    overview = await ann.get(unescape(link))
    assert "Country is France" in visible_words(overview)
    assert re.search(r'class="button"><span class="unseen">Range: </span>Today</summary>', overview.body)


@pytest.mark.usefixtures("recent_events")
async def test_part_for_the_script_is_what_the_page_holds(ann):
    part = await ann.get(f"{REALTIME}?part=live")
    assert part.body.strip() in (await ann.get(REALTIME)).body
    assert "<html" not in part.body


async def test_quiet_workspace_says_that_nothing_happened(ann):
    text = visible_words(await ann.get(REALTIME))
    assert "No events in the last 30 minutes." in text
    assert text.count("No page views in the last 30 minutes.") == 3


async def test_realtime_spends_three_requests_and_reloads_by_a_link(ann, monkeypatch):
    sent = []
    dispatch = Service.dispatch
    monkeypatch.setattr(
        Service, "dispatch", lambda self, request: sent.append(request.path) or dispatch(self, request)
    )
    answer = await ann.get(REALTIME)
    assert sorted(sent) == ["/v1/events", "/v1/query", "/v1/realtime"]
    assert f'href="{REALTIME}">Reload</a>' in answer.body
    assert "http-equiv" not in answer.body


@pytest.mark.usefixtures("recent_events")
async def test_part_that_fails_says_so_and_the_others_show_their_numbers(ann, monkeypatch):
    dispatch = Service.dispatch

    async def fail_realtime(self, request):
        if request.path == "/v1/realtime":
            return ApiResponse(503, {}, b'{"error": "The event store is unavailable"}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", fail_realtime)
    answer = await ann.get(REALTIME)
    assert answer.status == 200
    assert "The data could not be read just now. Reload the page in a minute." in visible_words(answer)
    assert ranking(answer, "Pages")[0] == ("/new", 3)


@pytest.mark.usefixtures("recent_events")
async def test_rankings_of_some_combinations_say_so(ann, monkeypatch):
    note = "Only the 1,000 most frequent combinations are counted."
    assert note not in visible_words(await ann.get(REALTIME))
    monkeypatch.setattr(realtime, "_MAX_COMBINATIONS", 1)
    assert visible_words(await ann.get(REALTIME)).count(note) == 3
