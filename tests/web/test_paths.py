"""The paths page against the API: each number leads to as many sessions."""

import html
import re
from urllib.parse import quote

import pytest

from hosts.composition.compose import Service
from service_core.analytics.ports import StoreUnavailable
from service_core.api.http_messages import ApiResponse
from tests.fixtures.standard_shop import visible_words

DATES = "start_date=2026-03-02&end_date=2026-03-12"
NUMBER_LINK = re.compile(r'href="([^"]*/paths/sessions[^"]*)" data-number>([0-9,]+)</a>')


def session_numbers(page):
    """Address and number of each link to sessions."""
    return [
        (html.unescape(link), int(text.replace(",", ""))) for link, text in NUMBER_LINK.findall(page.body)
    ]


@pytest.mark.parametrize(
    "start", ["start=page_view&by=event", "start=purchase&by=event&direction=previous&steps=2"]
)
async def test_numbers_of_paths_are_those_of_the_api_and_lead_to_as_many_sessions(shop, start):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/paths?{shop.dates}&{start}")
    answer = await shop.read(f"/paths?{DATES}&{start}")
    expected = [answer["sessions"]]
    for step in answer["steps"]:
        rest = [step["other_sessions"], step["ended_sessions"]]
        expected += [node["sessions"] for node in step["values"]] + [count for count in rest if count]
    links = session_numbers(page)
    assert [number for _, number in links] == expected
    assert len(expected) > 3
    for link, number in links:
        listed = await person.get(link)
        assert listed.status == 200
        assert listed.body.count("<tr data-record>") == number <= 50, link


async def test_value_of_the_first_step_leads_to_the_paths_through_it(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/paths?{shop.dates}&start=page_view&by=event")
    link = html.unescape(re.search(r'<th scope="row"><a href="([^"]*through=[^"]*)"', page.body)[1])
    narrowed = await person.get(link)
    first = (await shop.read(f"/paths?{DATES}&start=page_view&by=event"))["steps"][0]["values"][0]
    assert session_numbers(narrowed)[0][1] == first["sessions"]
    assert "Remove" in narrowed.body
    assert "that took this path" in visible_words(narrowed)


async def test_empty_page_suggests_pages_and_events_that_exist(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/paths?{shop.dates}&by=event")
    assert "Choose an event to see what people do right after it" in visible_words(page)
    suggested = re.search(r'href="([^"]+)">Try ', page.body)
    assert session_numbers(await person.get(html.unescape(suggested[1])))[0][1] > 0


async def test_start_that_no_session_had_is_said(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/paths?{shop.dates}&start={quote('/<none>')}")
    assert "No session had “/<none>” in this range" in visible_words(page)


@pytest.mark.parametrize("through", ["[", "7", '["a",7]', "[" * 5000, '["a","b","c","d","e","f"]'])
async def test_wrong_path_values_are_no_fault(shop, through):
    person = await shop.sign_in()
    for page in ("paths", "paths/sessions"):
        address = f"{shop.pages}/{page}?{shop.dates}&start=page_view&by=event&through={quote(through)}"
        assert (await person.get(address)).status == 200


async def test_outage_is_a_card_and_keeps_the_form(shop, monkeypatch):
    person = await shop.sign_in()

    async def fail(*_):
        raise StoreUnavailable

    monkeypatch.setattr(type(shop.deployment.service.ports.events), "read_paths", fail)
    page = await person.get(f"{shop.pages}/paths?{shop.dates}&start=page_view&by=event")
    assert page.status == 200
    assert "could not be read just now" in visible_words(page)
    assert 'value="page_view"' in page.body


async def test_suggestions_that_cannot_be_read_are_not_said_to_be_none(shop, monkeypatch):
    person, dispatch = await shop.sign_in(), Service.dispatch

    async def fail_values(self, request):
        if request.path == "/v1/dimension-values":
            return ApiResponse(503, {}, b'{"error": "Not now"}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", fail_values)
    words = visible_words(await person.get(f"{shop.pages}/paths?{shop.dates}"))
    assert "Nothing happened" not in words
    assert "Not now" in words or "could not be read" in words
