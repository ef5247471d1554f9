"""Routes of ingest protocols, keys, and ids that the host derives."""

import json
from dataclasses import replace

import pytest

from service_core.ingestion.models import UNREAD_FIELDS_HEADER, RejectionReason
from service_core.ingestion.protocols.endpoint import ClientContext, derive_daily_visitor_id
from service_core.ingestion.protocols.fields import TRANSPARENT_GIF, screen_size_properties
from service_core.ingestion.protocols.models import (
    MAX_EVENTS,
    ProtocolEvent,
    ProtocolInfo,
    ProtocolResponse,
    ProtocolRoute,
    decode_base64_or_none,
    event_time_by_server_clock_or_as_sent,
)
from service_core.ingestion.protocols.routes import ProtocolRoutes
from service_core.kernel.errors import StartupError
from service_core.testing.ingest_protocol import WRITE_KEY, ProtocolClient, RecordedRequest
from service_core.testing.ingestion_stubs import NOON, make_workspace


class ListProtocol:
    """Takes a list of ``/track`` bodies; the key is in the query."""

    def __init__(self, **changes):
        declared = ProtocolInfo(
            id="list", label="List", homepage="https://list.example", routes=(ProtocolRoute("/list"),)
        )
        self.info = replace(declared, **changes)

    def find_key(self, request):
        return request.query_fields.get("key")

    def read_events(self, request):
        return [
            ProtocolEvent(event, unread_fields=("color",) if "color" in event else (), key=event.get("key"))
            for event in request.document
        ]

    def respond(self, _request, outcome):
        counts = {"accepted": outcome.accepted, "duplicates": outcome.duplicates}
        counts["rejected"] = [[index, reason.value] for index, reason in outcome.rejected]
        return ProtocolResponse(outcome.status, json.dumps(counts).encode())


async def send(client, *events):
    request = RecordedRequest("/list", json.dumps(events).encode(), f"key={WRITE_KEY}")
    response = await client.send(request)
    return response.status, json.loads(response.body)


@pytest.mark.parametrize("path", ["/track", "/batch", "/", "/t.js", "/l/x", "/webhooks/a/b", "list"])
def test_path_of_the_ingest_host_stops_the_start(path):
    with pytest.raises(StartupError, match=f"'list' declares the path {path!r}"):
        ProtocolRoutes.index_by_unique_path([ListProtocol(routes=(ProtocolRoute(path),))])


def test_two_protocols_with_one_path_or_id_stop_the_start():
    with pytest.raises(StartupError, match="the route '/list' of the ingest host"):
        ProtocolRoutes.index_by_unique_path([ListProtocol(), ListProtocol(id="other")])
    with pytest.raises(StartupError, match="the ingest protocol 'list'"):
        ProtocolRoutes.index_by_unique_path([ListProtocol(), ListProtocol()])


def test_limit_of_a_body_above_that_of_the_host_stops_the_start():
    with pytest.raises(StartupError, match="more than 5000000 bytes"):
        ProtocolRoutes.index_by_unique_path([ListProtocol(max_body_bytes=5_000_001)])


async def test_one_bad_event_fails_no_other_and_is_counted():
    client = ProtocolClient(ListProtocol())
    status, counts = await send(
        client,
        {"event": "a", "user_id": "u", "event_id": "1"},
        {"user_id": "u"},
        {"event": "b"},
        {"event": "c", "user_id": "u", "key": "dk_other"},
        {"event": "d", "user_id": "u", "properties": {"text": "x" * 256_000}},
        {"event": "a", "user_id": "u", "event_id": "1"},
    )
    rejected = [[1, "no_event_name"], [2, "no_identity"], [3, "other_workspace"], [4, "too_large"]]
    assert (status, counts) == (200, {"accepted": 1, "duplicates": 1, "rejected": rejected})
    assert sorted(client.queue.rejected) == sorted((RejectionReason(reason), 1) for _, reason in rejected)


async def test_more_events_than_a_request_may_have_are_refused_and_counted():
    client = ProtocolClient(ListProtocol())
    status, _ = await send(client, *[{"event": "a", "user_id": "u"}] * (MAX_EVENTS + 1))
    assert status == 413
    assert client.queue.rejected == [(RejectionReason.TOO_LARGE, MAX_EVENTS + 1)]


async def test_unread_fields_are_kept_beside_the_event():
    client = ProtocolClient(ListProtocol())
    await send(client, {"event": "a", "user_id": "u", "color": "red"}, {"event": "b", "user_id": "u"})
    assert [event.headers.get(UNREAD_FIELDS_HEADER) for event in client.queue.offered] == ["color", None]


async def test_events_without_an_id_get_one_only_where_the_protocol_says_so():
    client = ProtocolClient(ListProtocol(derives_visitor_id=True))
    await send(client, {"event": "a"}, {"event": "b", "user_id": "u"})
    bodies = [json.loads(event.body) for event in client.queue.offered]
    assert bodies[0]["anonymous_id"].startswith("day_")
    assert "anonymous_id" not in bodies[1]


def test_derived_id_differs_by_workspace_day_address_and_agent():
    chrome = ClientContext("Chrome", "203.0.113.7", None, {})
    shop = make_workspace()
    other = make_workspace(secret=b"another secret")
    ids = {
        derive_daily_visitor_id(shop, chrome, NOON),
        derive_daily_visitor_id(other, chrome, NOON),
        derive_daily_visitor_id(shop, chrome, NOON.replace(day=2)),
        derive_daily_visitor_id(shop, chrome._replace(ip="203.0.113.8"), NOON),
        derive_daily_visitor_id(shop, chrome._replace(user_agent="Firefox"), NOON),
    }
    assert len(ids) == 5
    assert derive_daily_visitor_id(shop, chrome, NOON.replace(hour=23)) in ids


@pytest.mark.parametrize(
    ("happened", "sent_at", "corrected"),
    [
        ("2026-07-01T08:00:00Z", "2026-07-01T08:05:00Z", "2026-07-01T11:55:00+00:00"),
        ("2026-07-01T08:05:00Z", "2026-07-01T08:00:00Z", "2026-07-01T08:05:00Z"),
        ("2026-07-01T08:00:00Z", None, "2026-07-01T08:00:00Z"),
        ("soon", "2026-07-01T08:00:00Z", "soon"),
    ],
)
def test_time_of_a_client_whose_clock_is_wrong_is_corrected(happened, sent_at, corrected):
    assert event_time_by_server_clock_or_as_sent(happened, sent_at, NOON) == corrected


def test_base64_in_both_alphabets_with_and_without_padding_is_decoded():
    assert decode_base64_or_none("_-8") == decode_base64_or_none("/+8=") == b"\xff\xef"
    assert decode_base64_or_none("not base64!") is None


def test_screen_sizes_and_pixel():
    assert screen_size_properties("1920x1080") == {"screen_width": 1920, "screen_height": 1080}
    assert screen_size_properties("large") == screen_size_properties(5) == {}
    assert TRANSPARENT_GIF.startswith(b"GIF89a")
    assert TRANSPARENT_GIF.endswith(b";")
