"""Columns of the events that recorded requests of other products' clients become."""

import pytest

from tests.hosts.ingest import (
    recorded_ga4,
    recorded_matomo,
    recorded_mixpanel,
    recorded_posthog,
    recorded_snowplow,
    recorded_umami,
)
from tests.hosts.ingest.protocol_host import TODAY, deployment, host

__all__ = ["deployment", "host"]
pytestmark = pytest.mark.asyncio(loop_scope="module")

GOOGLE = {"referrer_host": "google.com"}
NEWS = {"utm_source": "news", **GOOGLE}
SHOP = {"page_path": "/a", "page_title": "Shop", "screen_width": 1920}
ADA = {"traits": {"email": "ada@example.com"}}

COLUMNS = {
    "posthog browser": (
        recorded_posthog.browser_events,
        [
            {"event_name": "$pageview", "event_id": "e-1", "anonymous_id": "d1", "session_id": "s1", **NEWS},
            {"event_name": "$identify", "user_id": "u1", "anonymous_id": "d1", "gclid": "g1"},
        ],
    ),
    "posthog python": (
        recorded_posthog.python_batch,
        [
            {
                "event_name": "purchase",
                "revenue": 12.5,
                "order_id": "o-3",
                "distinct_id": "u2",
                "source": "api",
            }
        ],
    ),
    "umami page view": (
        recorded_umami.page_view,
        [{"event_name": "page_view", "source": "browser", "language": "en-GB", **NEWS, **SHOP}],
    ),
    "umami relative page view": (
        recorded_umami.relative_page_view,
        [{"page_url": "https://shop.example/b?utm_medium=email", "page_path": "/b", "utm_medium": "email"}],
    ),
    "umami purchase": (
        recorded_umami.purchase,
        [{"event_name": "purchase", "revenue": 12.5, "currency": "EUR", "order_id": "o-4"}],
    ),
    "umami identify": (recorded_umami.identify, [{"event_name": "$identify", "user_id": "u1"}]),
    "ga4 server": (
        recorded_ga4.server_purchase,
        [
            {"event_name": "purchase", "revenue": 30.03, "order_id": "T-1", "session_id": "42"},
            {"event_name": "tutorial_begin", "user_id": "u1", "anonymous_id": "123.456"},
        ],
    ),
    "ga4 tag": (
        recorded_ga4.tag_page_view,
        [{"event_name": "page_view", "session_id": "1783519200", "language": "en-gb", **NEWS, **SHOP}],
    ),
    "ga4 tag batch": (
        recorded_ga4.tag_batch,
        [
            {"event_name": "add_to_cart", "page_path": "/b", "currency": "EUR"},
            {"event_name": "user_engagement", "page_path": "/b"},
        ],
    ),
    "mixpanel browser": (
        recorded_mixpanel.browser_track,
        [{"event_name": "page_view", "event_id": "ins-1", "anonymous_id": "d1", "os": "Linux", **NEWS}],
    ),
    "mixpanel python": (
        recorded_mixpanel.python_track,
        [{"event_name": "purchase", "revenue": 9.5, "distinct_id": "u2", "sdk_name": "python"}],
    ),
    "mixpanel engage": (recorded_mixpanel.engage, [{"event_name": "$identify", "user_id": "u2"}]),
    "matomo page view": (
        recorded_matomo.script_page_view,
        [
            {"event_name": "page_view", "anonymous_id": "0123456789abcdef", "utm_campaign": "july"}
            | GOOGLE
            | SHOP
        ],
    ),
    "matomo event": (recorded_matomo.image_event, [{"event_name": "play", "revenue": None}]),
    "matomo order": (
        recorded_matomo.order,
        [{"event_name": "purchase", "revenue": 12.5, "order_id": "o-6"}],
    ),
    "matomo bulk": (recorded_matomo.bulk, [{"event_name": "heartbeat"}, {"event_name": "page_view"}]),
    "snowplow": (
        recorded_snowplow.tracker_batch,
        [
            {"event_name": "link_click", "anonymous_id": "d1", "session_id": "s1"},
            {"event_name": "page_ping"},
            {"event_name": "page_view", "timestamp": "2026-07-08T14:59:59.000Z", **NEWS, **SHOP},
            {"event_name": "play", "revenue": None},
            {"event_name": "purchase", "revenue": 12.5, "user_id": "u1", "order_id": "o-7"},
        ],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
async def test_recorded_request_becomes_these_columns(host, name):
    build, expected = COLUMNS[name]
    status, _, _ = await host.send(build(host.write_key))
    assert status < 400
    rows = sorted(await host.events(), key=lambda row: row["event_name"])
    shown = [
        {column: row[column] for column in columns}
        for row, columns in zip(rows, sorted_by_name(expected), strict=True)
    ]
    assert shown == sorted_by_name(expected)


def sorted_by_name(rows):
    return sorted(rows, key=lambda row: row.get("event_name", ""))


async def test_page_views_of_every_product_count_in_traffic(host):
    for build in (
        recorded_posthog.browser_events,
        recorded_umami.page_view,
        recorded_ga4.tag_page_view,
        recorded_mixpanel.browser_track,
        recorded_matomo.script_page_view,
        recorded_snowplow.image_page_view,
    ):
        assert (await host.send(build(host.public_id)))[0] < 400
    assert len(await host.events()) == 7
    traffic = await host.client.get("/traffic", **TODAY)
    assert [row["name"] for row in traffic["data"]] == ["google.com"]
    assert traffic["total"] == 4  # three clients name the same device


async def test_traits_of_every_product_are_those_of_the_person(host):
    for build in (recorded_posthog.browser_events, recorded_umami.identify, recorded_mixpanel.engage):
        await host.send(build(host.write_key))
    traits = [e["event_data"]["traits"] for e in await host.events() if e["event_name"] == "$identify"]
    assert [each["email"] for each in traits] == ["ada@example.com"] * 3


@pytest.mark.parametrize(
    ("build", "status"),
    [
        (recorded_posthog.single_capture, 401),
        (recorded_umami.page_view, 400),
        (recorded_ga4.server_purchase, 204),
        (recorded_mixpanel.python_track, 401),
        (recorded_matomo.script_page_view, 401),
        (recorded_snowplow.tracker_batch, 401),
    ],
)
async def test_unknown_key_has_the_status_that_the_client_expects(host, build, status):
    assert (await host.send(build("zzzzzzzzzzzz")))[0] == status
    assert await host.events() == []


async def test_answers_are_those_that_the_clients_read(host):
    key = host.write_key
    assert (await host.send(recorded_posthog.single_capture(key)))[1] == b'{"status": 1}'
    assert (await host.send(recorded_mixpanel.python_track(key)))[1] == b'{"status": 1, "error": null}'
    assert b'"num_records_imported": 1' in (await host.send(recorded_mixpanel.import_events(key)))[1]
    assert (await host.send(recorded_matomo.image_event(key)))[1].startswith(b"GIF89a")
    assert (await host.send(recorded_matomo.bulk(key)))[1] == (
        b'{"status": "success", "tracked": 2, "invalid": 0}'
    )
    assert (await host.send(recorded_snowplow.tracker_batch(key)))[:2] == (200, b"ok")


async def test_fields_that_no_protocol_reads_are_counted(host):
    await host.send(recorded_posthog.python_batch(host.write_key))
    await host.send(recorded_umami.page_view(host.write_key))
    await host.events()
    assert (await host.ledger_totals(2))["ignored_by_reason"] == {"field_not_read": 1}
