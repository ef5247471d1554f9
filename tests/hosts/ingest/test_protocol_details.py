"""Rules of single ingest protocols that recorded requests do not show."""

import base64
import gzip
import json
import sys
from urllib.parse import urlencode

import pytest

from hosts.ingest.body import inflate_body
from plugins.protocol_ga4.protocol import Ga4Protocol
from plugins.protocol_matomo.protocol import MatomoProtocol
from plugins.protocol_mixpanel.protocol import MixpanelProtocol
from plugins.protocol_posthog.protocol import PostHogProtocol
from plugins.protocol_segment.protocol import SegmentProtocol
from plugins.protocol_snowplow.protocol import SnowplowProtocol
from plugins.protocol_umami.protocol import UmamiProtocol
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.protocols.models import MAX_EVENTS, ProtocolRequest, UnreadableRequest
from service_core.testing.ingest_protocol import WRITE_KEY, ProtocolClient, RecordedRequest
from service_core.testing.ingestion_stubs import NOON
from tests.hosts.ingest.protocol_host import deployment, host
from tests.hosts.ingest.recorded_snowplow import CONTEXTS

__all__ = ["deployment", "host"]

SECRET_URL = "https://shop.example/reset?token=s3cret"
MANY = [{}] * (MAX_EVENTS + 1)
TRACKER_PATH = "/com.snowplowanalytics.snowplow/tp2"


async def offered_bodies(protocol, path, document, *, query="", headers=None):
    """Returns the events that a request becomes; it has to be taken."""
    client = ProtocolClient(protocol)
    body = json.dumps(document).encode()
    response = await client.send(RecordedRequest(path, body, query, headers or {}))
    assert response.status < 400
    return [json.loads(event.body) for event in client.queue.offered]


def test_body_of_very_many_compressed_parts_is_not_inflated():
    part = gzip.compress(b" ")
    assert inflate_body(part * 3 + gzip.compress(b"{}"), "gzip", 1000) == b"   {}"
    bomb = part * 1000
    assert inflate_body(bomb, "gzip", 1_000_000) is bomb


@pytest.mark.parametrize("ip", [[], {}, None, 0, False, "0", "203.0.113.9"])
async def test_mixpanel_profile_update_takes_any_address(ip):
    update = {"$token": WRITE_KEY, "$distinct_id": "u", "$set": {"plan": "pro"}, "$ip": ip}
    (event,) = await offered_bodies(MixpanelProtocol(), "/mixpanel/engage", [update])
    assert event["user_id"] == "u"
    if ip in (0, "0"):
        assert event["ip"] == "0"


@pytest.mark.parametrize(("query", "ip"), [("ip=0", "0"), ("ip=1", None), ("", None)])
async def test_mixpanel_client_that_hides_its_address_has_none(query, ip):
    event = {"event": "a", "properties": {"token": WRITE_KEY, "distinct_id": "u"}}
    (body,) = await offered_bodies(MixpanelProtocol(), "/mixpanel/track", [event], query=query)
    assert body.get("ip") == ip
    event["properties"]["ip"] = "203.0.113.9"
    (body,) = await offered_bodies(MixpanelProtocol(), "/mixpanel/track", [event], query=query)
    assert body["ip"] == "203.0.113.9"


@pytest.mark.parametrize(
    ("protocol", "path"), [(MixpanelProtocol(), "/mixpanel/track"), (PostHogProtocol(), "/e/")]
)
async def test_address_and_urls_are_kept_once_where_secrets_are_removed(protocol, path):
    properties = {"token": WRITE_KEY, "$device_id": "d", "$current_url": SECRET_URL, "$ip": "203.0.113.9"}
    event = {"event": "a", "properties": properties | {"$referrer": SECRET_URL, "plan": "pro"}}
    (body,) = await offered_bodies(protocol, path, [event])
    kept = {"url": SECRET_URL, "referrer": SECRET_URL, "plan": "pro", "$device_id": "d"}
    assert body["properties"] == kept
    assert body["ip"] == "203.0.113.9"


async def test_posthog_app_libraries_send_below_a_prefix():
    document = {
        "api_key": WRITE_KEY,
        "sentAt": "2026-07-01T08:05:00Z",
        "batch": [{"event": "a", "distinct_id": "u", "timestamp": "2026-07-01T08:00:00Z"}],
    }
    (event,) = await offered_bodies(PostHogProtocol(), "/posthog/batch", document)
    assert event["timestamp"] == "2026-07-01T11:55:00+00:00"
    assert "/posthog/batch" in {route.path for route in PostHogProtocol().info.routes}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [("Order Completed", "order_completed"), ("Order Refunded", "refund"), ("Signed Up", "Signed Up")],
)
async def test_segment_orders_and_refunds_have_the_names_that_count_as_such(sent, stored):
    call = {"event": sent, "userId": "u", "writeKey": WRITE_KEY, "properties": {"total": 5}}
    (event,) = await offered_bodies(SegmentProtocol(), "/v1/track", call)
    assert event["event"] == stored


@pytest.mark.parametrize(
    ("fields", "name"),
    [({}, "page_view"), ({"ca": "1", "ma_id": "m"}, "custom_action"), ({"ca": "1", "e_a": "play"}, "play")],
)
async def test_matomo_action_of_a_plugin_is_no_page_view(fields, name):
    client = ProtocolClient(MatomoProtocol())
    query = urlencode({"idsite": WRITE_KEY, "rec": "1", "_id": "0123456789abcdef", **fields})
    await client.send(RecordedRequest("/matomo.php", query=query, method="GET"))
    assert json.loads(client.queue.offered[0].body)["event"] == name


@pytest.mark.parametrize(("device", "is_derived"), [("d-1", False), ("0000-00", True)])
async def test_snowplow_apps_name_device_and_session_in_a_context(device, is_derived):
    session = {
        "schema": "iglu:com.snowplowanalytics.snowplow/client_session/jsonschema/1-0-2",
        "data": {"userId": device, "sessionId": "s-1"},
    }
    contexts = base64.urlsafe_b64encode(json.dumps({"schema": CONTEXTS, "data": [session]}).encode())
    document = {"data": [{"aid": WRITE_KEY, "e": "pv", "eid": "1", "cx": contexts.decode()}]}
    headers = {"sp-anonymous": "*"}
    (event,) = await offered_bodies(SnowplowProtocol(), TRACKER_PATH, document, headers=headers)
    assert event["anonymous_id"].startswith("day_") is is_derived
    assert is_derived or event["anonymous_id"] == device
    assert (event["context"]["session_id"], event["ip"]) == ("s-1", "0")


async def test_visitors_that_a_server_reports_are_told_apart_by_address_and_user_agent():
    def page_view(**payload):
        return {"type": "event", "payload": {"website": WRITE_KEY, "url": "/", **payload}}

    visits = [
        page_view(ip="203.0.113.9", userAgent="Firefox"),
        page_view(ip="203.0.113.9", userAgent="Chrome"),
        page_view(ip="203.0.113.10", userAgent="Chrome"),
        page_view(ip="203.0.113.10", userAgent="Chrome"),
        page_view(),
    ]
    events = await offered_bodies(UmamiProtocol(), "/api/batch", visits)
    assert len({event["anonymous_id"] for event in events}) == 4


async def test_revenue_of_a_person_is_no_amount():
    call = {"type": "identify", "payload": {"website": WRITE_KEY, "id": "u", "data": {"revenue": 5}}}
    (event,) = await offered_bodies(UmamiProtocol(), "/api/send", call)
    assert event["properties"] == {"traits": {"revenue": 5}}


@pytest.mark.asyncio(loop_scope="module")
async def test_segment_consent_of_the_context_removes_click_ids(host):
    consent = {"categoryPreferences": {"Advertising": False, "Analytics": True}}
    call = {"event": "a", "userId": "u", "context": {"consent": consent}, "properties": {"gclid": "g"}}
    body = json.dumps({**call, "writeKey": host.write_key}).encode()
    assert (await host.send(RecordedRequest("/v1/track", body)))[0] == 200
    (event,) = await host.events()
    assert (event["gclid"], event["event_data"]["consent"]) == (None, "denied")


@pytest.mark.parametrize(
    "body",
    [b'{"batch":[' + b"{}," * 200_001 + b"{}]}", b"[" + b"1," * 500_001 + b"1]", b"[" * 300_000],
    ids=["objects", "numbers", "depth"],
)
async def test_body_of_very_many_values_is_not_parsed(body):
    def fail(_text):
        raise AssertionError("parsed")

    request = ProtocolRequest("POST", "/batch/", "", {}, body, NOON, fail)
    with pytest.raises(UnreadableRequest) as raised:
        PostHogProtocol().find_key(request)
    assert raised.value.reason is RejectionReason.TOO_LARGE


async def test_names_of_unread_fields_are_storable_text():
    client = ProtocolClient(UmamiProtocol())
    document = {"type": "event", "payload": {"website": WRITE_KEY, "a\u0000\ud800": 1}}
    await client.send(RecordedRequest("/api/send", json.dumps(document).encode()))
    assert client.queue.offered[0].headers == {"unread_fields": "payload.a\ufffd\ufffd"}


@pytest.mark.parametrize(
    ("protocol", "path", "query", "document"),
    [
        (Ga4Protocol(), "/mp/collect", f"api_secret={WRITE_KEY}", {"events": MANY}),
        (MatomoProtocol(), "/matomo.php", "", {"token_auth": WRITE_KEY, "requests": MANY}),
        (MixpanelProtocol(), "/mixpanel/track", "", [{"properties": {"token": WRITE_KEY}}, *MANY[1:]]),
        (PostHogProtocol(), "/e/", "", {"api_key": WRITE_KEY, "batch": MANY}),
        (SegmentProtocol(), "/v1/batch", "", {"writeKey": WRITE_KEY, "batch": MANY}),
        (SnowplowProtocol(), TRACKER_PATH, "", {"data": [{"aid": WRITE_KEY}, *MANY[1:]]}),
        (UmamiProtocol(), "/api/batch", "", [{"payload": {"website": WRITE_KEY}}, *MANY[1:]]),
    ],
)
async def test_too_many_events_are_refused_and_counted_before_they_are_read(
    protocol, path, query, document, monkeypatch
):
    module = sys.modules[type(protocol).__module__]
    for name in [name for name in vars(module) if name.startswith("map_") or name == "_fields_of_one"]:
        monkeypatch.setattr(module, name, None)
    client = ProtocolClient(protocol)
    response = await client.send(RecordedRequest(path, json.dumps(document).encode(), query))
    assert response.status == 413
    assert client.queue.rejected == [(RejectionReason.TOO_LARGE, len(MANY))]


async def test_key_is_looked_for_in_as_many_events_as_a_request_may_have():
    document = [*MANY[1:], {"properties": {"token": WRITE_KEY}}]
    client = ProtocolClient(MixpanelProtocol())
    body = json.dumps(document).encode()
    assert (await client.send(RecordedRequest("/mixpanel/track", body))).status == 401
