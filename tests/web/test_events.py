"""The explorer of events: filters, pages, properties and the rows a module reads again."""

import json
import re

import pytest

from hosts.web import events
from service_core.analytics.ports import StoreUnavailable
from tests.fixtures.standard_shop import visible_words


def shown_events(page):
    """The stored fields of every event of a page, as its drawers show them."""
    return [json.loads(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", unescape(page.body), re.DOTALL)]


def unescape(text):
    for entity, sign in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(entity, sign)
    return text


async def test_events_page_lists_the_events_of_the_api(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/events?{shop.dates}")
    answer = await shop.read("/events?start_date=2026-03-02&end_date=2026-03-12")
    assert page.status == 200
    assert [event["event_id"] for event in shown_events(page)] == [
        event["event_id"] for event in answer["events"]
    ]
    assert f"{answer['total_count']} events" in visible_words(page)


@pytest.mark.parametrize(
    ("parameters", "filters"),
    [
        ("event_name=purchase", "event_name=purchase"),
        ("visitor_id=B1", "visitor_id=B1"),
        ("user_id=U-ada", "user_id=U-ada"),
        ("f=channel:is:email", "channel=email"),
        ("key1=plan&op1=eq&value1=pro", 'property_filters=[{"key":"plan","op":"eq","value":"pro"}]'),
        ("key1=plan&op1=is_set", 'property_filters={"plan":"pro"}'),
    ],
)
async def test_events_are_filtered_as_by_the_api(shop, parameters, filters):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/events?{shop.dates}&{parameters}")
    answer = await shop.read(f"/events?start_date=2026-03-02&end_date=2026-03-12&{filters}")
    assert answer["events"]
    assert [event["event_id"] for event in shown_events(page)] == [
        event["event_id"] for event in answer["events"]
    ]


async def test_filter_the_read_does_not_know_is_named_and_not_applied(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/events?{shop.dates}&f=browser:is:Chrome")
    assert "cannot filter by Browser" in visible_words(page)


async def test_event_pages_follow_each_other_without_gap(shop, monkeypatch):
    monkeypatch.setattr(events, "PAGE_SIZE", 4)
    person = await shop.sign_in()
    address, ids = f"?{shop.dates}", []
    while address:
        page = await person.get(f"{shop.pages}/events{address}")
        ids += [event["event_id"] for event in shown_events(page)]
        following = re.search(r'rel="next" href="[^"?]*([^"]+)"', page.body)
        address = following and unescape(following.group(1))
    answer = await shop.read("/events?start_date=2026-03-02&end_date=2026-03-12&limit=1000")
    assert ids == [event["event_id"] for event in answer["events"]]
    assert 'rel="prev"' in page.body


async def test_page_behind_the_last_event_leads_back(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/events?{shop.dates}&offset=999")
    assert "no events this far back" in visible_words(page)


async def test_properties_page_lists_keys_with_samples(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/events?{shop.dates}&view=properties&event_name=purchase")
    words = visible_words(page)
    assert "purchase" in words
    assert "plan string 1 1 pro" in words
    assert "add_to_cart" not in re.sub(r"<datalist.*?</datalist>", "", page.body, flags=re.DOTALL)


async def test_rows_for_the_live_module_are_those_of_the_page(shop):
    person = await shop.sign_in()
    address = f"{shop.pages}/events?{shop.dates}&event_name=page_view"
    page, rows = await person.get(address), await person.get(address.replace("/events?", "/events/rows?"))
    assert shown_events(rows) == shown_events(page)
    assert "<html" not in rows.body


async def test_new_event_is_the_first_row(shop):
    person = await shop.sign_in()
    now = shop.deployment.clock()
    await shop.append_events(
        lambda story: story.add_event("trial_started", at=now, visitor="N1", source="browser")
    )
    rows = await person.get(f"{shop.pages}/events/rows?range=last_7_days")
    assert shown_events(rows)[0]["event_name"] == "trial_started"
    assert "Trial started" in visible_words(rows)


async def test_store_outage_is_said_and_not_shown_as_zero(shop, monkeypatch):
    person = await shop.sign_in()

    async def fail(*_):
        raise StoreUnavailable

    monkeypatch.setattr(type(shop.deployment.service.ports.events), "list_events", fail)
    page = await person.get(f"{shop.pages}/events?{shop.dates}")
    assert page.status == 200
    assert "could not be read just now" in visible_words(page)
    assert "No events" not in visible_words(page)
    assert (await person.get(f"{shop.pages}/events/rows?{shop.dates}")).status == 503


async def test_workspace_without_events_leads_to_the_script(shop):
    person, pages = await shop.open_empty_workspace()
    page = await person.get(f"{pages}/events")
    assert "No events yet" in visible_words(page)
    assert f'{pages}/start">Add the script' in page.body


@pytest.mark.parametrize("path", ["events", "events/rows", "people", "people/U-ada"])
async def test_pages_of_records_are_for_members_only(shop, path):
    stranger = await shop.deployment.person().get(f"{shop.pages}/{path}")
    assert stranger.location.startswith("/app/sign-in")
    await shop.sign_in()
    other = shop.deployment.person()
    account = await shop.deployment.store.accounts.find_account_by_email("ann@example.com")
    await other.sign_in("ann@example.com")
    await shop.deployment.store.members.remove_member_unless_last_owner(
        shop.gallery.workspace.id, account.id, shop.deployment.clock()
    )
    assert (await other.get(f"{shop.pages}/{path}")).status == 404


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400"])
async def test_size_filter_that_is_no_finite_number_is_refused_in_words(shop, value):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/events?{shop.dates}&key1=amount&op1=gt&value1={value}")
    assert page.status == 200
    assert "valid JSON" not in visible_words(page)
    (body,) = [one.body for one in events.read_property_filters({"key1": "a", "op1": "gt", "value1": value})]
    assert body["value"] == value
