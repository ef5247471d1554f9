"""Segments in the web application: saved from the filters of a page, chosen in the bar of every page over events."""

import html
import re

import pytest

from tests.fixtures.standard_shop import visible_words

PAGES_OVER_EVENTS = (
    "", "/explore", "/funnels?step1=page_view&step2=purchase", "/paths?start=page_view&by=event", "/retention",
    "/retention?view=ltv", "/attribution", "/events", "/events?view=properties", "/people", "/goals", "/details/country",
    "/explain", "/receipt?metric=visitors",
)  # fmt: skip


async def save_segment(shop, person, name="Paid", visibility="workspace", f="channel:is:paid_search"):
    saved = await person.send(
        f"{shop.pages}/segments/new?f={f}",
        f"{shop.pages}/segments",
        name=name,
        visibility=visibility,
        f=f,
        action="save",
    )
    assert saved.status == 303, saved.text
    listed = (await shop.gallery.send("GET", "/segments"))["segments"]
    return next(one["id"] for one in listed if one["name"] == name), saved


async def test_filters_of_a_page_are_saved_as_a_segment_and_listed(shop):
    person = await shop.sign_in("admin")
    overview = await person.get(f"{shop.pages}?{shop.dates}&f=channel:is:paid_search")
    link = re.search(r'href="([^"]*/segments/new[^"]*)"', overview.body)
    form = await person.get(html.unescape(link[1]))
    assert "Channel is Paid search" in visible_words(form)
    _, saved = await save_segment(shop, person)
    listed = visible_words(await person.get(saved.location))
    assert "Created. " in listed
    assert "Paid Channel is Paid search Everyone in the workspace sees it · created by you" in listed


@pytest.mark.parametrize("path", PAGES_OVER_EVENTS)
async def test_every_page_over_events_narrows_to_the_chosen_segment(shop, path):
    person = await shop.sign_in("admin")
    segment_id, _ = await save_segment(shop, person)
    address = f"{shop.pages}{path}{'&' if '?' in path else '?'}{shop.dates}"
    everyone = await person.get(address)
    assert f"segment={segment_id}" in everyone.body
    narrowed = await person.get(f"{address}&segment={segment_id}")
    filtered = await person.get(f"{address}&f=channel:is:paid_search")
    assert narrowed.status == 200
    assert "Segment: </span>Paid</summary>" in narrowed.body
    numbers = re.compile(r'class="value"[^>]*>(?:<a[^>]*>)?([^<]+)|<strong>([^<]+)</strong>')
    shown = [numbers.findall(page.body) for page in (everyone, narrowed, filtered)]
    assert shown[1] != shown[0] or not shown[0], path
    if "cannot filter" not in visible_words(filtered) and "view=properties" not in path:
        assert shown[1] == shown[2]


async def test_page_that_accepts_no_segment_says_so(shop):
    person = await shop.sign_in("admin")
    segment_id, _ = await save_segment(shop, person)
    page = await person.get(f"{shop.pages}/revenue?{shop.dates}&segment={segment_id}")
    assert "cannot be narrowed to a segment" in visible_words(page)


async def test_deleted_segment_is_named_as_such_and_its_cards_say_why_they_are_empty(shop):
    person = await shop.sign_in("admin")
    segment_id, _ = await save_segment(shop, person)
    deleted = await person.send(
        f"{shop.pages}/segments", f"{shop.pages}/segments/{segment_id}/delete", action="save"
    )
    assert "No segments yet" in visible_words(await person.get(deleted.location))
    page = await person.get(f"{shop.pages}?{shop.dates}&segment={segment_id}")
    assert page.status == 200
    assert "Another segment" in visible_words(page)


async def test_viewer_chooses_segments_and_saves_none(shop):
    segment_id, _ = await save_segment(shop, await shop.sign_in("admin"))
    viewer = await shop.sign_in("viewer", "bob")
    page = await viewer.get(f"{shop.pages}?{shop.dates}&f=channel:is:paid_search")
    assert f"segment={segment_id}" in page.body
    assert "/segments/new" not in page.body
    assert (await viewer.get(f"{shop.pages}/segments/new?f=channel:is:paid_search")).status == 403


async def test_segment_without_a_filter_is_not_offered_for_saving(shop):
    person = await shop.sign_in("admin")
    assert "needs at least one filter" in visible_words(await person.get(f"{shop.pages}/segments/new"))


async def test_segment_of_a_property_is_said_in_words_and_keeps_the_metrics_that_accept_it(shop):
    person = await shop.sign_in("admin")
    filters = [
        {"dimension": "property:plan", "op": "eq", "value": "pro"},
        {"dimension": "property:seats", "op": "between", "value": [2, 5]},
    ]
    body = {"segment": {"name": "Pro", "filters": filters}, "dry_run": False}
    created = await shop.gallery.send("POST", "/segments", body)
    words = visible_words(await person.get(f"{shop.pages}/segments"))
    assert "plan is pro and seats is between 2 and 5" in words
    page = await person.get(f"{shop.pages}?{shop.dates}&segment={created['data']['id']}")
    tile = re.search(r">Page ?views</a>\s*<strong>", page.body, re.IGNORECASE)
    assert tile, visible_words(page)
