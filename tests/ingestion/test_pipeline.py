"""From the queue into the store: order, poison, failures, sessions across batches."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest

from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import PROVIDER_HEADER, UNPARSED_HEADER, IngestEndpoint
from service_core.ingestion.pipeline import (
    BATCH_SIZE,
    FIRST_BATCH_SIZE,
    HIGH_RATE_THRESHOLD,
    MAX_BATCH_BYTES,
    IngestPipeline,
    event_count_of_next_batch_by_mean_size,
)
from service_core.ingestion.ports import SessionState
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.testing.ingestion_stubs import (
    NOON,
    WORKSPACE_ID,
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
)
from tests.fixtures.stub_event_stores import StubEventWriter
from tests.fixtures.stub_queues import StubIngestQueue

ENRICHER = Enricher(StubDevices(), StubGeo(), TrafficClassifier(StubPublicSuffixes()))


async def make_workspace_of(workspace_id):
    return make_workspace() if workspace_id == WORKSPACE_ID else None


def queued_event(seq, name="pageview", visitor="A1", session="s1", **properties):
    body = {
        "event": name,
        "anonymous_id": visitor,
        "properties": properties,
        "context": {"session_id": session},
    }
    return make_queued_event(json.dumps(body).encode(), seq=seq)


def make_pipeline(queue, store, **options):
    return IngestPipeline(queue, store, make_workspace_of, ENRICHER, json.loads, **options)


async def test_batch_is_stored_in_order_and_empty_queue_returns_zero():
    queue, store = StubIngestQueue(*(queued_event(n) for n in range(5))), StubEventWriter()
    drain = make_pipeline(queue, store, batch_size=3)
    assert [await drain.process_batch() for _ in range(3)] == [3, 2, 0]
    assert list(store.events) == ["e0", "e1", "e2", "e3", "e4"]
    assert queue.items == []


async def test_backlog_is_stored_in_few_large_batches_after_a_first_one():
    queue = StubIngestQueue(*(queued_event(n) for n in range(FIRST_BATCH_SIZE + BATCH_SIZE + 1)))
    drain = make_pipeline(queue, StubEventWriter())
    assert [await drain.process_batch() for _ in range(4)] == [FIRST_BATCH_SIZE, BATCH_SIZE, 1, 0]


@pytest.mark.parametrize(
    ("sizes", "limit"),
    [
        ([600, 600], BATCH_SIZE),
        ([0], BATCH_SIZE),
        ([256_000, 256_000], 250),
        ([256_000, 0], 500),
        ([2 * MAX_BATCH_BYTES], 1),
    ],
)
def test_batch_of_large_bodies_is_smaller(sizes, limit):
    assert (
        event_count_of_next_batch_by_mean_size([make_queued_event(b"x" * size) for size in sizes], BATCH_SIZE)
        == limit
    )


@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        (make_queued_event(b"{", seq=2), "JSONDecodeError"),
        (make_queued_event(b"\xff", seq=2), "UnicodeDecodeError"),
        (make_queued_event(b"[]", seq=2), "not a JSON object"),
        (make_queued_event(b'{"user_id":1}', seq=2), "has a name"),
        (make_queued_event(b'{"event":"a"}', seq=2), "has an identity"),
    ],
)
async def test_unparseable_event_is_quarantined_and_the_rest_stored(poison, reason):
    queue, store = StubIngestQueue(queued_event(1), poison, queued_event(3)), StubEventWriter()
    assert await make_pipeline(queue, store).process_batch() == 3
    assert list(store.events) == ["e1", "e3"]
    assert [item.queued for item in queue.quarantined] == [poison]
    assert reason in queue.quarantined[0].reason


async def test_event_of_a_deleted_workspace_is_quarantined():
    stray = queued_event(1)
    stray = replace(stray, arrival=stray.arrival._replace(workspace_id=stray.arrival.key_id))
    queue, store = StubIngestQueue(stray), StubEventWriter()
    assert await make_pipeline(queue, store).process_batch() == 1
    assert "workspace is gone" in queue.quarantined[0].reason


async def test_enrichment_error_quarantines_one_event():
    class Broken(StubDevices):
        def parse(self, user_agent):
            if user_agent == "bad":
                raise RuntimeError("no such device")
            return super().parse(user_agent)

    bad = make_queued_event(b'{"event":"a","user_id":1,"context":{"userAgent":"bad"}}', seq=1)
    queue, store = StubIngestQueue(bad, queued_event(2)), StubEventWriter()
    enricher = Enricher(Broken(), None, TrafficClassifier(StubPublicSuffixes()))
    assert await IngestPipeline(queue, store, make_workspace_of, enricher, json.loads).process_batch() == 2
    assert (list(store.events), queue.quarantined[0].reason) == (["e2"], "RuntimeError: no such device")


async def test_failed_append_acknowledges_nothing_and_is_retried():
    queue, store = StubIngestQueue(queued_event(1, utm_source="google"), queued_event(2)), StubEventWriter()
    drain = make_pipeline(queue, store)
    store.down = True
    with pytest.raises(OSError, match="down"):
        await drain.process_batch()
    assert len(queue.items) == 2
    store.down = False
    assert await drain.process_batch() == 2
    assert [event.attribution_carried for event in store.events.values()] == [False, False]
    assert queue.items == []


async def test_failed_acknowledgement_repeats_the_batch_without_duplicates():
    class Stuck(StubIngestQueue):
        async def acknowledge(self, stored, quarantined, ignored, dropped):
            raise OSError("queue is down")

    queue, store = Stuck(queued_event(1)), StubEventWriter()
    for _ in range(2):
        with pytest.raises(OSError, match="down"):
            await make_pipeline(queue, store).process_batch()
    assert list(store.events) == ["e1"]


async def test_session_goes_on_within_and_between_batches():
    items = [
        queued_event(1, url="https://example.com/a", utm_source="google", utm_medium="cpc"),
        queued_event(2, "cart"),
        queued_event(3, "buy"),
    ]
    queue, store = StubIngestQueue(*items), StubEventWriter()
    drain = make_pipeline(queue, store, batch_size=2)
    await drain.process_batch()
    await drain.process_batch()
    assert [event.channel for event in store.events.values()] == ["paid_search"] * 3
    assert {event.landing_page for event in store.events.values()} == {"/a"}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_first_event_of_a_session_does_not_depend_on_arrival_order(order, batch):
    reported = [
        {"url": "https://example.com/in", "referrer": "https://partner.example/"},
        {"url": "https://example.com/deal?utm_source=google&utm_medium=cpc", "utm_source": "google", "utm_medium": "cpc"},
        {"url": "https://example.com/till"},
    ]  # fmt: skip
    queue, store = StubIngestQueue(), StubEventWriter()
    for seq, which in enumerate(order):
        minute = {"event": "pageview", "anonymous_id": "A1", "timestamp": f"2026-07-01T10:0{which}:00Z"}
        body = minute | {"properties": reported[which], "context": {"session_id": "s1"}}
        queue.items.append(make_queued_event(json.dumps(body).encode(), seq=seq))
    drain = make_pipeline(queue, store, batch_size=batch)
    while await drain.process_batch():
        pass
    first = min(store.events.values(), key=lambda event: event.timestamp)
    assert (first.landing_page, first.attribution_source, first.channel) == (
        "/in",
        "partner.example",
        "referral",
    )
    queue.items = [queued_event(9)]
    await drain.process_batch()
    assert store.events["e9"].landing_page == "/in"


async def test_bot_events_do_not_affect_the_session_of_a_person():
    page = {"url": "https://example.com/bot", "utm_source": "spam", "bot": True}
    queue, store = (
        StubIngestQueue(queued_event(1, **page), queued_event(2, url="https://example.com/in")),
        StubEventWriter(),
    )
    await make_pipeline(queue, store).process_batch()
    visit = store.events["e2"]
    assert (visit.landing_page, visit.attribution_source, visit.channel) == ("/in", "(direct)", "direct")


async def test_session_states_are_read_once_per_session():
    key = (WORKSPACE_ID, "A1", "s1")
    known = SessionState(NOON, "https://example.com/first", "google", "cpc", "paid_search")
    queue, store = (
        StubIngestQueue(queued_event(1), queued_event(2), queued_event(3, visitor="A2")),
        StubEventWriter({key: known}),
    )
    drain = make_pipeline(queue, store)
    await drain.process_batch()
    queue.items = [queued_event(4)]
    await drain.process_batch()
    assert store.session_requests == [[key, (WORKSPACE_ID, "A2", "s1")]]
    assert [event.channel for event in store.events.values()] == [
        "paid_search",
        "paid_search",
        "direct",
        "paid_search",
    ]
    assert store.events["e4"].landing_page == "https://example.com/first"


async def test_more_events_a_minute_than_a_person_could_send_are_noted():
    queue, store = (
        StubIngestQueue(*(queued_event(n) for n in range(HIGH_RATE_THRESHOLD + 2))),
        StubEventWriter(),
    )
    await make_pipeline(queue, store).process_batch()
    noted = [event.bot_reasons for event in store.events.values()]
    assert noted == [()] * HIGH_RATE_THRESHOLD + [("rate",)] * 2
    assert not any(event.is_bot for event in store.events.values())


async def test_unmapped_message_is_quarantined_raw():
    body = b'{"event":"purchase","user_id":"u_1"}'
    unread = {"headers": {PROVIDER_HEADER: "stripe", UNPARSED_HEADER: "stripe: id is missing"}}
    queue, store = (
        StubIngestQueue(
            make_queued_event(body, channel=IngestEndpoint.WEBHOOK, **unread),
            make_queued_event(body, seq=2, **unread),
        ),
        StubEventWriter(),
    )
    assert await make_pipeline(queue, store).process_batch() == 2
    assert [(aside.queued.seq, aside.reason) for aside in queue.quarantined] == [
        (1, "ValueError: stripe: id is missing")
    ]
    assert [event.source for event in store.events.values()] == ["api"]


async def test_sessions_are_read_again_after_an_erasure():
    version = [1]
    queue, store = StubIngestQueue(queued_event(1)), StubEventWriter()
    drain = make_pipeline(queue, store, data_version=lambda: version[0])
    for number in (2, 3):
        await drain.process_batch()
        queue.items = [queued_event(number)]
    assert len(store.session_requests) == 1
    version[0] = 2
    await drain.process_batch()
    assert len(store.session_requests) == 2


_CAMPAIGN = {"utm_source": "google", "utm_medium": "cpc", "utm_campaign": "spring"}
_AD_URL = "https://example.com/in?utm_source=google&utm_medium=cpc&utm_campaign=spring"


@pytest.mark.parametrize("batch_size", [1, 9])
async def test_campaign_values_that_a_client_sends_again_in_a_later_session_are_carried(batch_size):
    queue = StubIngestQueue(
        queued_event(1, url=_AD_URL, **_CAMPAIGN),
        queued_event(2, session="s2", url="https://example.com/", **_CAMPAIGN),
        queued_event(3, session="s3", referrer="https://partner.net/", **_CAMPAIGN),
        queued_event(4, session="s4", url=_AD_URL, **_CAMPAIGN),
        queued_event(5, session="s5", visitor="A2", **_CAMPAIGN),
    )
    store = StubEventWriter()
    drain = make_pipeline(queue, store, batch_size=batch_size)
    while await drain.process_batch():
        pass
    rows = [store.events[f"e{n}"] for n in range(1, 6)]
    assert [(row.attribution_carried, row.channel) for row in rows] == [
        (False, "paid_search"),
        (True, "direct"),
        (True, "referral"),
        (False, "paid_search"),
        (False, "paid_search"),
    ]


async def test_stored_campaign_of_the_visitor_after_the_event_carries_nothing():
    campaign = ("google", "cpc", "spring", None, None, None, None, None, None)
    states = {
        (WORKSPACE_ID, "A1", session): SessionState(None, last_campaign=campaign, last_campaign_at=at)
        for session, at in (("s1", NOON - timedelta(days=1)), ("s2", NOON + timedelta(days=1)))
    }
    queue = StubIngestQueue(
        queued_event(1, **_CAMPAIGN), queued_event(2, visitor="A1", session="s2", **_CAMPAIGN)
    )
    store = StubEventWriter({(WORKSPACE_ID, "A1", "s1"): states[WORKSPACE_ID, "A1", "s1"]})
    await make_pipeline(queue, store).process_batch()
    assert [store.events[f"e{n}"].attribution_carried for n in (1, 2)] == [True, True]
    queue, store = StubIngestQueue(queued_event(3, session="s2", **_CAMPAIGN)), StubEventWriter(states)
    await make_pipeline(queue, store).process_batch()
    assert not store.events["e3"].attribution_carried


async def test_click_ids_without_consent_do_not_hide_that_a_campaign_is_carried():
    denied = {**_CAMPAIGN, "gclid": "Cj0", "consent": "denied"}
    queue = StubIngestQueue(queued_event(1, url=_AD_URL, **denied), queued_event(2, **denied))
    store = StubEventWriter()
    await make_pipeline(queue, store).process_batch()
    assert [store.events[f"e{n}"].attribution_carried for n in (1, 2)] == [False, True]


async def test_events_inherit_the_source_of_touches_and_the_landing_page_of_no_system_event():
    login = {"url": "https://example.com/login", "referrer": "https://partner.net/"}
    queue = StubIngestQueue(
        queued_event(1, name="$identify", **login),
        queued_event(2, url="https://example.com/home"),
        queued_event(3, url="https://example.com/next", referrer="https://partner.net/"),
        queued_event(4, name="click"),
    )
    store = StubEventWriter()
    await make_pipeline(queue, store).process_batch()
    rows = [store.events[f"e{n}"] for n in range(1, 5)]
    assert [row.channel for row in rows] == ["referral", "direct", "referral", "referral"]
    assert [row.landing_page for row in rows] == ["/login", "/home", "/home", "/home"]


async def test_events_of_revenue_providers_make_no_touch_and_leave_the_session_alone():
    body = {"event": "order_paid", "visitor_id": "A1", "properties": {**_CAMPAIGN, "url": _AD_URL}}
    arrival = {
        "channel": IngestEndpoint.WEBHOOK,
        "headers": {PROVIDER_HEADER: "till"},
        "event_id": "till_1",
    }
    paid = make_queued_event(json.dumps(body | {"context": {"session_id": "s1"}}).encode(), seq=1, **arrival)
    queue, store = StubIngestQueue(paid, queued_event(2, url="https://example.com/in")), StubEventWriter()
    await make_pipeline(queue, store).process_batch()
    assert not store.events["till_1"].touchable
    visit = store.events["e2"]
    assert (visit.channel, visit.landing_page, visit.attribution_carried) == ("direct", "/in", False)
