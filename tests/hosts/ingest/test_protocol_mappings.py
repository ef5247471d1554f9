"""What the events of other products' clients say, as answers show it."""

import pytest

from tests.hosts.ingest.protocol_host import TODAY, deployment, host
from tests.hosts.ingest.recorded_plausible import SAMPLES as PLAUSIBLE
from tests.hosts.ingest.recorded_plausible import script_engagement, script_pageview
from tests.hosts.ingest.recorded_segment import browser_page, node_track, python_batch

__all__ = ["deployment", "host"]
pytestmark = pytest.mark.asyncio(loop_scope="module")


def columns(event, *names):
    return {name: event[name] for name in names}


async def test_segment_server_batch_is_a_person_and_revenue(host):
    status, body, _ = await host.send(python_batch(host.write_key), origin=None)
    assert (status, body) == (200, b'{"success": true}')
    identify, order = await host.events()
    assert columns(identify, "event_name", "user_id", "anonymous_id", "sdk_name") == {
        "event_name": "$identify",
        "user_id": "u1",
        "anonymous_id": "a1",
        "sdk_name": "analytics-python",
    }
    assert identify["event_data"] == {"traits": {"email": "ada@example.com", "plan": "pro"}}
    assert identify["timestamp"] == "2026-07-08T14:58:00.000Z"  # two minutes before it was sent
    assert columns(order, "event_id", "source", "revenue", "currency", "order_id") == {
        "event_id": "m-2",
        "source": "api",
        "revenue": 27.5,
        "currency": "EUR",
        "order_id": "o-1",
    }


async def test_segment_page_call_is_a_page_view_with_its_campaign(host):
    assert (await host.send(browser_page(host.public_id)))[0] == 200
    (event,) = await host.events()
    assert columns(event, "event_name", "source", "anonymous_id", "page_path", "referrer_host") == {
        "event_name": "page_view",
        "source": "web",
        "anonymous_id": "a2",
        "page_path": "/",
        "referrer_host": "google.com",
    }
    assert columns(event, "utm_source", "utm_medium", "utm_campaign", "language", "browser") == {
        "utm_source": "news",
        "utm_medium": "email",
        "utm_campaign": "July",
        "language": "en-GB",
        "browser": "Chrome",
    }
    traffic = await host.client.get("/traffic", **TODAY)
    assert traffic["data"] == [{"name": "google.com", "count": 1, "percentage": 100.0}]


async def test_segment_fields_that_are_not_read_are_counted(host):
    await host.send(node_track(host.write_key))
    (event,) = await host.events()
    assert event["event_name"] == "Signed Up"
    assert (await host.ledger_totals(1))["ignored_by_reason"] == {"field_not_read": 1}


async def test_segment_write_key_that_is_unknown_is_401_and_invalid_calls_are_counted(host):
    status, body, _ = await host.send(python_batch("dk_" + "0" * 32))
    assert status == 401
    assert b'"success": false' in body
    bad = python_batch(host.write_key)
    assert (await host.send(type(bad)(bad.path, b"{}", "", bad.headers)))[0] == 400
    totals = await host.ledger_totals(1)
    assert totals["rejected_by_reason"] == {"invalid_json": 1}


async def test_plausible_events_of_a_day_are_one_visitor_without_a_cookie(host):
    for sample in PLAUSIBLE.values():
        assert (await host.send(sample.build(host.public_id)))[:2] == (202, b"ok")
    events = {event["event_name"]: event for event in await host.events()}
    assert len({event["visitor_id"] for event in events.values()}) == 1
    view = events["pageview"]
    assert view["visitor_id"].startswith("day_")
    assert columns(view, "utm_source", "page_path", "referrer_host", "source") == {
        "utm_source": "news",
        "page_path": "/a",
        "referrer_host": "google.com",
        "source": "web",
    }
    assert view["event_data"]["author"] == "Ada"
    assert events["engagement"]["event_data"]["scroll_depth"] == 80
    assert columns(events["Purchase"], "order_id", "currency") == {"order_id": "o-9", "currency": "EUR"}
    assert (await host.client.get("/traffic", **TODAY))["total"] == 1


async def test_plausible_engagement_does_not_undo_a_bounce(host):
    await host.send(script_pageview(host.public_id))
    await host.send(script_engagement(host.public_id))
    assert len(await host.events()) == 2
    answer = await host.client.post("/metrics", {"metrics": ["bounce_rate"], **TODAY})
    assert [metric["value"] for metric in answer["metrics"]] == [1]


async def test_plausible_domain_that_is_unknown_is_dropped_as_the_script_expects(host):
    status, body, head = await host.send(script_pageview("other.example"))
    assert (status, body, head["x-plausible-dropped"]) == (202, b"ok", "1")
    assert await host.events() == []
